"""Texts → normalised texts, equal for every text to what Python's own string functions make of it.

Normalising a text is normalising its pieces. A piece is a code point with those after it that it may combine with:
"é" as two code points, a Hangul syllable as three. What a piece becomes is asked once of Python, and looked up from
then on by a kernel; so the Unicode version is the running Python's, and no second library has to agree with it.
Two kinds of text go to Python whole: those with a capital sigma, whose lower-case depends on the word around it, and
those with more than three code points in one piece.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup.kernels import text as kernels
from neardup.pulse import Pulse, unwatched
from neardup.ragged import Texts
from neardup.settings import Normalising

# No code point of these is seen, and each parts shingles that look alike.
INVISIBLE = "\u0000\u00ad\u200b\u200c\u200d\u2060\ufeff"

CALL_BYTES = 1 << 21  # read by one kernel call: 2 ms of ASCII, 10 ms of Cyrillic, on one core of an AMD EPYC of 2021
PYTHON_BYTES = 1 << 18  # rewritten by one call of Python's functions: about 20 ms
MOST_PIECES = 1 << (kernels.TABLE_BITS - 1)  # half of the hash table
SPELLING_BYTES = 1 << 23  # enough for all of Unicode and MOST_PIECES; memory is taken as it is filled

_DROP_INVISIBLE = dict.fromkeys(map(ord, INVISIBLE))
_CUT = re.compile(rb"[\t-\r ]")


def normalised(texts: Texts, how: Normalising, pulse: Pulse = unwatched) -> Texts:
    """Each text with the steps of `how` applied, in the order of its fields.

    Equal to: `INVISIBLE` removed · `unicodedata.normalize` · NFD without category Mn · `str.lower` · code points of
    category P or S replaced by a space · `" ".join(text.split())`. The texts are valid UTF-8; `pulse` counts texts.
    """
    rewriter = _rewriter(how)
    size = int(texts.offsets[-1] - texts.offsets[0])
    out = np.empty(size + size // 8 + kernels.ROOM, np.uint8)
    offsets = np.zeros(len(texts) + 1, np.int64)
    cursor = np.array([0, texts.offsets[0], 0, 0])
    while (text := int(cursor[kernels.TEXT])) < len(texts):
        why = rewriter.run(texts, cursor, out, offsets)
        if why == kernels.UNKNOWN and not rewriter.learn(int(cursor[kernels.KEY])):
            why = kernels.CONTEXT
        if why == kernels.CONTEXT:
            out = _by_python(texts, how, pulse, cursor, out, offsets)
        elif why == kernels.FULL:
            out = _grown(out, int(cursor[kernels.WRITTEN]), len(out))
        pulse(int(cursor[kernels.TEXT]) - text)
    return Texts(out[: offsets[-1]], offsets)


def code_points(texts: Texts) -> NDArray[np.int64]:
    """int64[n]: the length of each text in code points."""
    counts = np.empty(len(texts), np.int64)
    kernels.count_code_points(texts.data, texts.offsets, 0, len(texts), counts)
    return counts


def _by_python(
    texts: Texts, how: Normalising, pulse: Pulse, cursor: NDArray[np.int64], out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> NDArray[np.uint8]:  # fmt: skip
    """Rewrite the text at the cursor, whole; return `out`, or a longer copy where it had no room."""
    text = int(cursor[kernels.TEXT])
    done = _whole(texts.data[texts.offsets[text] : texts.offsets[text + 1]].tobytes(), how, pulse)
    start = int(offsets[text])
    stop = start + len(done)
    if stop > len(out):
        out = _grown(out, start, stop)
    out[start:stop] = np.frombuffer(done, np.uint8)
    offsets[text + 1] = stop
    cursor[:3] = text + 1, texts.offsets[text + 1], stop
    return out


def _grown(out: NDArray[np.uint8], written: int, more: int) -> NDArray[np.uint8]:
    longer = np.empty(len(out) + more, np.uint8)
    longer[:written] = out[:written]
    return longer


def _whole(data: bytes, how: Normalising, pulse: Pulse) -> bytes:
    """One text by Python's functions. A long one is cut before white space: no step looks across that."""
    parts = []
    start = 0
    while start < len(data):
        cut = _CUT.search(data, start + PYTHON_BYTES)
        stop = cut.start() if cut else len(data)
        part = _rewritten(data[start:stop].decode("utf-8", "surrogatepass"), how)
        parts.append(" ".join(part.split()) if how.join_whitespace else part)
        start = stop
        pulse(0)
    joint = " ".join(filter(None, parts)) if how.join_whitespace else "".join(parts)
    return joint.encode("utf-8", "surrogatepass")


def _rewritten(text: str, how: Normalising) -> str:
    """All steps but white space."""
    if how.drop_invisible:
        text = text.translate(_DROP_INVISIBLE)
    if how.unicode_form != "none":
        text = unicodedata.normalize("NFC" if how.unicode_form == "nfc" else "NFKC", text)
    if how.fold_accents:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    if how.lower_case:
        text = text.lower()
    if how.drop_punctuation:
        text = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in text)
    return text


@lru_cache(maxsize=8)
def _rewriter(how: Normalising) -> _Rewriter:
    return _Rewriter(how)


class _Rewriter:
    """What pieces become under one `how`, as far as it has been asked.

    Threads may share one: the arrays never move, and an entry is stored after the spelling that it points to.
    """

    def __init__(self, how: Normalising) -> None:
        self.how = how
        self._before_lower = msgspec.structs.replace(how, lower_case=False, drop_punctuation=False)
        self._singles = np.zeros(0x110000, np.int64)
        self._keys = np.zeros(1 << kernels.TABLE_BITS, np.uint64)
        self._values = np.zeros(1 << kernels.TABLE_BITS, np.int64)
        self._spellings = np.zeros(SPELLING_BYTES, np.uint8)
        self._plain = np.full(128, 0xFF, np.uint8)
        self._used = 1  # an offset of 0 would make an entry NOT_LEARNT
        self._pieces = 0
        self._lock = threading.Lock()
        for code in range(128):
            spelling = self._spelling(chr(code))
            self._plain[code] = spelling[0] if spelling else 0xFF

    def run(
        self, texts: Texts, cursor: NDArray[np.int64], out: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> int:
        return kernels.rewrite(
            texts.data, texts.offsets, self._plain, self._singles, self._keys, self._values, self._spellings,
            self.how.join_whitespace, CALL_BYTES, cursor, out, offsets,
        )  # fmt: skip

    def learn(self, key: int) -> bool:
        """Take in a piece: code points of 21 bits after a leading 1. False where there is no room for it."""
        key &= 2**64 - 1
        codes = [key >> at & 0x1FFFFF for at in range(0, key.bit_length() - 1, kernels.CODE_BITS)][::-1]
        piece = "".join(map(chr, codes))
        with self._lock:
            if len(piece) == 1:
                self._singles[codes[0]] = self._entry(piece)
                return True
            slot = (key * 0x9E3779B97F4A7C15 & 2**64 - 1) >> (64 - kernels.TABLE_BITS)
            while self._keys[slot] not in (0, key):
                slot = (slot + 1) % len(self._keys)
            if self._keys[slot] == 0:
                if self._pieces == MOST_PIECES:
                    return False
                self._pieces += 1
                self._values[slot] = self._entry(piece)
                self._keys[slot] = key
            return True

    def _entry(self, piece: str) -> int:
        if self.how.drop_invisible and piece in INVISIBLE:
            return kernels.DROPPED
        if self.how.lower_case and "Σ" in _rewritten(piece, self._before_lower):
            return kernels.DEPENDS
        spelling = self._spelling(piece)
        if len(spelling) > kernels.MOST_BYTES or self._used + len(spelling) > SPELLING_BYTES:
            return kernels.DEPENDS
        begin, self._used = self._used, self._used + len(spelling)
        self._spellings[begin : self._used] = np.frombuffer(spelling, np.uint8)
        return begin << 8 | len(spelling) << 1 | self._continues(piece)

    def _spelling(self, piece: str) -> bytes:
        spelling = _rewritten(piece, self.how)
        if self.how.join_whitespace:
            spelling = "".join(" " if c.isspace() else c for c in spelling)
        return spelling.encode("utf-8", "surrogatepass")

    def _continues(self, piece: str) -> bool:
        """Whether it may combine with, or move before, what stands before it."""
        if self.how.unicode_form == "none" and not self.how.fold_accents:
            return False
        first = unicodedata.normalize("NFKD" if self.how.unicode_form == "nfkc" else "NFD", piece)[0]
        return unicodedata.combining(first) > 0 or ord(first) in _second_of_a_composition()


@lru_cache(maxsize=1)
def _second_of_a_composition() -> frozenset[int]:
    """Code points that compose with one before them: 85 in Unicode 14, and the vowels and finals of Hangul.

    unicodedata does not list them, so all decompositions are read, 20 ms, but for the ideographs, Hangul, surrogates
    and private use, which have none of two code points.
    """
    seconds = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # (The Unicode Standard, 3.12)
    for block in (range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x17000), range(0x1B000, 0x20000)):
        for code in block:
            parts = unicodedata.decomposition(chr(code)).split()
            if len(parts) == 2 and not parts[0].startswith("<"):
                seconds.add(int(parts[1], 16))
    return frozenset(seconds)
