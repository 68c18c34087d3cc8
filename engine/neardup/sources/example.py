"""The generated example: short news-like sentences, a share of the documents edited copies of earlier ones.

A document is a function of the seed and its number alone, whatever is generated beside it: random bits come from a hash
of counters (SplitMix64's finaliser), so that they are the same on every machine and with every release of numpy. A copy
names an earlier document that is no copy; its text is made again from that number and then edited.

Names are drawn by R = s·(1/u² − 1), u uniform: P(R > r) falls like 1/√r, and n draws have in the order of n^⅔ different
names, as real text has (Heaps' law). So unrelated documents stay unlike however many there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.errors import SettingsError

Words = NDArray[np.int64]
Bits = NDArray[np.uint64]

def _words(text: str) -> list[str]:
    return text.split()


_VERBS = _words("""
    approves blocks builds buys cancels checks closes cuts delays doubles drops explains extends finds finishes
    funds halts heads hires improves inspects joins launches lends loses measures moves needs offers opens orders
    paints plans praises presents protects questions raises rebuilds recalls rejects rents repairs replaces reports
    restores reviews saves seeks sells shares shows signs starts stops studies supports tests trains unveils wins
""")
_NOUNS = _words("""
    airport archive bakery bank bicycle boat bridge budget bus cable camera canal castle ceiling cinema clinic clock
    contract court dam deal depot engine factory farm ferry festival field fleet forest fountain garden gate glacier
    granary grant harbour heater hotel island kitchen lake law library lift lighthouse loan machine map market marsh
    mill mine mirror museum office orchard paper park pension permit pier pipeline plan platform pool port price
    prize pump quarry railway report reservoir river road roof school ship shop signal square stadium station statue
    street study survey tax theatre tower track trail train tram tunnel turbine valley vaccine village vineyard wall
    warehouse well wharf windmill workshop yard
""")
_ADJECTIVES = _words("""
    ageing ancient annual blue broad busy cheap clean cold common crowded daily damaged deep distant dry early empty
    famous fast final flooded foreign fresh frozen green heavy hidden historic huge idle joint large late light
    local long lost main modern narrow national new northern noisy old open planned private public quiet rare red
    regional rural safe second shallow sharp short silent slow small southern steep strong sudden sunken tall
    temporary third urban vast warm western wide wooden young
""")
_GROUPS = _words("""
    assembly board chamber choir circle club committee congress council court crew department family firm guild
    institute jury league ministry museum newspaper office orchestra panel parish parliament party school senate
    society station syndicate team theatre university union
""")
_TIMES = _words("""
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August
    September October November December
""")
_NUMBERS = [str(number) for number in range(2, 1000)]

# A adjective, G group, N noun, T time, V verb, # number, W name, P place; all else is the word itself.
_CLAUSES = (
    "W V the A N",
    "the G of P V its A N",
    "the A N of W V P",
    "W of P V the N",
    "the P G V the N",
    "the A G from P V the N",
    "W says the N V P",
    "the G V N # in P",
    "P V its N and the A N",
    "the W N V the A N",
)
_ADDITIONS = (
    "in P",
    "near P and P",
    "for # million euros",
    "after # weeks",
    "on T",
    "with W",
    "despite the A N",
    "while W V the N",
    "as the P N V",
    "over the N of W",
    "until T",
    "against the G of P",
    "during the A N",
    "beside N #",
)
_OPENINGS = _words("b br c d dr f g gl h j k kl l m n p pl r s st t tr v z")
_VOWELS = _words("a e i o u ia ei ou")
_SYLLABLES = [opening + vowel for vowel in _VOWELS for opening in _OPENINGS]
_NAME_ENDS = _words("l n r s m nd rt x")
_PLACE_ENDS = _words("burg dorf field ford holm mouth stad ton")

_KINDS = {"A": _ADJECTIVES, "G": _GROUPS, "N": _NOUNS, "T": _TIMES, "V": _VERBS, "#": _NUMBERS}
_LITERALS = sorted({word for phrase in (*_CLAUSES, *_ADDITIONS) for word in phrase.split()} - {*_KINDS, "W", "P"})
_WORDS = [*_LITERALS, *(word for words in _KINDS.values() for word in words)]
_NAME, _PLACE = -1, -2  # slots that are filled with a word of the endless vocabulary
_SENTENCE = 3  # phrases in one: a clause and two additions
_SCALE = 300.0  # s: half of all names are among the first 3·s
_EXACT = 6  # one copy in so many is not edited
_MOST_EDITED = 10  # at most one word in so many is edited
_LEAST, _MOST = 60, 100_000  # characters
_BLOCK = 2**21  # characters made at a time: half and twice as many take a quarter longer

_TEXT = pa.large_string()
_NOTHING = pa.scalar("", _TEXT)

# What a hash is for, so that no two draws share their bits.
_COPIED, _SOURCE, _LENGTH, _ROUNDING, _PHRASE, _FILL, _EDITS, _EDIT_START, _EDIT_KIND, _EDIT_WORD, _END = range(11)


def write_example(
    target: BinaryIO, count: int, *, share: float = 0.2, seed: int = 1, characters: int = 240
) -> None:
    """Write `count` documents as JSON lines {"id": 0, "text": "…"}: the same bytes for the same arguments, anywhere.

    About `share` of them are copies of earlier ones, one in six of these to the letter, the others with up to a tenth
    of their words replaced, inserted, deleted or swapped. The mean length is `characters`. SettingsError.
    """
    if count < 1:
        raise SettingsError(f"{count:,} documents are none: ask for 1 or more")
    if not 0 <= share <= 1:
        raise SettingsError(f"the share of copies is {share}: --share takes 0 to 1")
    if not 0 <= seed < 2**32:
        raise SettingsError(f"the seed is {seed}: --seed takes 0 to {2**32 - 1:,}")
    if not _LEAST <= characters <= _MOST:
        raise SettingsError(f"the mean length is {characters:,}: --characters takes {_LEAST} to {_MOST:,}")
    step = max(1, _BLOCK // characters)
    for first in range(0, count, step):
        numbers = np.arange(first, min(first + step, count), dtype=np.uint64)
        target.write(_json_lines(numbers, _documents(numbers, share, seed, characters)))


@dataclass(frozen=True, slots=True)
class _Documents:
    """Words of many documents, one behind the other: place in `table`, document and sentence of each."""

    words: Words
    document: Words
    sentence: Words
    table: pa.Array


def _mixed(bits: Bits) -> Bits:
    """SplitMix64's finaliser (Steele, Lea, Flood 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _drawn(keys: Bits, purpose: int, index: NDArray[np.int64] | int = 0) -> Bits:
    """32 random bits for each key, purpose and index."""
    place = np.atleast_1d(np.asarray(index, np.uint64)) * np.uint64(_END) + np.uint64(purpose + 1)
    return _mixed(keys + place * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)


def _below(bits: Bits, bound: Words | int) -> Words:
    """Random bits as a whole number below `bound`, which is under 2³¹."""
    return ((bits * np.asarray(bound, np.int64).astype(np.uint64)) >> np.uint64(32)).astype(np.int64)


def _keys(numbers: Bits, seed: int) -> Bits:
    return _mixed(_mixed(np.full(1, seed, np.uint64) + np.uint64(1)) + numbers * np.uint64(0xD1B54A32D192ED03))


def _documents(numbers: Bits, share: float, seed: int, characters: int) -> _Documents:
    keys = _keys(numbers, seed)
    origin = _origins(numbers, share, seed)
    words, phrases, sizes, table = _originals(_keys(origin, seed), characters)
    document = np.repeat(np.arange(len(numbers)), sizes)
    return _edited(_Documents(words, document, phrases // _SENTENCE, table), keys, origin != numbers, sizes)


def _is_copy(numbers: Bits, share: float, seed: int) -> NDArray[np.bool_]:
    return (numbers > 0) & (_drawn(_keys(numbers, seed), _COPIED) < np.uint64(int(share * 2**32)))


def _origins(numbers: Bits, share: float, seed: int) -> Bits:
    """The document that each is made from: itself, or, for a copy, an earlier one that is no copy."""
    origins = numbers.copy()
    open_ = np.flatnonzero(_is_copy(origins, share, seed))
    while len(open_):
        asked = origins[open_]
        origins[open_] = _below(_drawn(_keys(asked, seed), _SOURCE), asked.astype(np.int64)).astype(np.uint64)
        open_ = open_[_is_copy(origins[open_], share, seed)]
    return origins


@cache
def _word_table() -> pa.Array:
    """All fixed words, then the same with a capital."""
    return pa.array([*_WORDS, *(word[0].upper() + word[1:] for word in _WORDS)], _TEXT)


@cache
def _patterns() -> tuple[Words, Words, Words]:
    """A row a phrase, clauses first: each slot's first word, how many it is chosen from (0: a name); phrase lengths."""
    choices: dict[str, tuple[int, int]] = {"W": (_NAME, 0), "P": (_PLACE, 0)}
    choices |= {word: (place, 1) for place, word in enumerate(_LITERALS)}
    at = len(_LITERALS)
    for kind, words in _KINDS.items():
        choices[kind] = (at, len(words))
        at += len(words)
    phrases = [phrase.split() for phrase in (*_CLAUSES, *_ADDITIONS)]
    slots = np.zeros((2, len(phrases), max(map(len, phrases))), np.int64)
    for row, phrase in enumerate(phrases):
        slots[:, row, : len(phrase)] = np.array([choices[slot] for slot in phrase]).T
    return slots[0], slots[1], np.array([len(phrase) for phrase in phrases])


def _spread(sizes: Words) -> Words:
    """0 … size − 1 for each of the sizes, one behind the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)


def _filled(keys: Bits, counts: Words) -> tuple[Words, Words, Words, pa.Array]:
    """`counts` phrases for each key: the words, the phrase each is in, words a document, and the words' table."""
    firsts, choices, lengths = _patterns()
    owner = np.repeat(np.arange(len(keys)), counts)
    phrase = _spread(counts)
    bits = _drawn(keys[owner], _PHRASE, phrase)
    is_clause = phrase % _SENTENCE == 0
    row = np.where(is_clause, _below(bits, len(_CLAUSES)), len(_CLAUSES) + _below(bits, len(_ADDITIONS)))
    sizes = lengths[row]
    slot = _spread(sizes)
    word_row = np.repeat(row, sizes)
    word_owner = np.repeat(owner, sizes)
    per_document = np.bincount(owner, weights=sizes, minlength=len(keys)).astype(np.int64)
    bits = _drawn(keys[word_owner], _FILL, _spread(per_document))
    first = firsts[word_row, slot]
    words = first + _below(bits, choices[word_row, slot])
    named = np.flatnonzero(first < 0)
    table = _word_table()
    words[named] = len(table) + np.arange(len(named))
    table = pa.concat_arrays([table, _names(bits[named], first[named] == _PLACE)])
    return words, np.repeat(phrase, sizes), per_document, table


def _names(bits: Bits, is_place: NDArray[np.bool_]) -> pa.Array:
    """Made-up names by rank: the rank in syllables, with an ending that says whether it is a place."""
    uniform = (bits.astype(np.float64) + 0.5) / 2.0**32
    # Only operations that IEEE 754 rounds to the last bit, so that the rank is the same everywhere.
    rank = np.floor(_SCALE * (1.0 / (uniform * uniform) - 1.0)).astype(np.int64)
    ends = pa.array([*_NAME_ENDS, *_PLACE_ENDS], _TEXT)
    many = len(_SYLLABLES)
    capitals = pa.array([syllable[0].upper() + syllable[1:] for syllable in _SYLLABLES], _TEXT)
    syllables = pa.array(["", *_SYLLABLES], _TEXT)
    # Ranks that follow each other do not look alike: the first syllable is the one that changes.
    parts = [capitals.take(pa.array(rank % many))]
    end = np.where(is_place, len(_NAME_ENDS) + rank % len(_PLACE_ENDS), rank % len(_NAME_ENDS))
    rank //= many
    while rank.any():
        parts.append(syllables.take(pa.array(np.where(rank > 0, 1 + (rank - 1) % many, 0))))
        rank = np.maximum(rank - 1, 0) // many
    return pc.binary_join_element_wise(*parts, ends.take(pa.array(end)), _NOTHING)


@cache
def _mean_sizes() -> tuple[float, float]:
    """Mean characters of a clause and of an addition, the space after each word included; over 4,096 of each."""
    keys = _mixed(np.arange(1, 4097, dtype=np.uint64))
    words, phrase, _, table = _filled(keys, np.full(len(keys), 2, np.int64))
    lengths = pc.binary_length(table).to_numpy()[words] + 1
    clauses = phrase == 0
    return float(lengths[clauses].sum() / len(keys)), float(lengths[~clauses].sum() / len(keys))


def _originals(keys: Bits, characters: int) -> tuple[Words, Words, Words, pa.Array]:
    return _filled(keys, _phrase_counts(keys, characters))


def _phrase_counts(keys: Bits, characters: int) -> Words:
    """Phrases for lengths spread evenly over ½ … 1½ of the mean; between two counts the draw keeps the mean."""
    clause, addition = _mean_sizes()
    least = min(0.5 * characters, max(0.0, characters - clause))
    wanted = characters - least + 2 * least * (_drawn(keys, _LENGTH).astype(np.float64) + 0.5) / 2.0**32
    most = int(2 * characters / min(clause, addition)) + _SENTENCE
    # What `count` phrases come to: a full stop a sentence, one space less than words.
    counts = np.arange(most + 1)
    sentences = -(-counts // _SENTENCE)
    sizes = sentences * clause + (counts - sentences) * addition + sentences - 1.0
    below = np.maximum(np.searchsorted(sizes, wanted, "right") - 1, 1)
    between = (wanted - sizes[below]) / (sizes[below + 1] - sizes[below])
    up = (_drawn(keys, _ROUNDING).astype(np.float64) + 0.5) / 2.0**32 < between
    counted: Words = below + up
    return counted


def _edited(made: _Documents, keys: Bits, is_copy: NDArray[np.bool_], sizes: Words) -> _Documents:
    """The copies with their words replaced, inserted, deleted or swapped with the next, at places spread evenly."""
    counts = 1 + _below(_drawn(keys, _EDITS, 1), -(-sizes // _MOST_EDITED))
    counts[~is_copy | (_below(_drawn(keys, _EDITS), _EXACT) == 0)] = 0
    if not counts.sum():
        return made
    owner = np.repeat(np.arange(len(keys)), counts)
    edit = _spread(counts)
    start = _below(_drawn(keys, _EDIT_START), sizes)[owner]
    inside = (start + edit * (sizes // np.maximum(counts, 1))[owner]) % sizes[owner]
    begins = np.cumsum(sizes) - sizes
    place = begins[owner] + inside
    kind = _below(_drawn(keys[owner], _EDIT_KIND, edit), 4)
    fresh = len(_LITERALS) + _below(_drawn(keys[owner], _EDIT_WORD, edit), len(_WORDS) - len(_LITERALS))
    words = made.words.copy()
    inserted = np.full(len(words), -1)
    deleted = np.zeros(len(words), np.bool_)
    words[place[kind == 0]] = fresh[kind == 0]
    inserted[place[kind == 1]] = fresh[kind == 1]
    deleted[place[kind == 2]] = True
    left = place[(kind == 3) & (inside + 1 < sizes[owner])]
    words[left], words[left + 1] = words[left + 1], words[left]
    pairs = np.column_stack([np.where(deleted, -1, words), inserted]).ravel()
    stays = pairs >= 0
    return _Documents(
        pairs[stays], np.repeat(made.document, 2)[stays], np.repeat(made.sentence, 2)[stays], made.table
    )


def _json_lines(numbers: Bits, made: _Documents) -> memoryview:
    """One take of Arrow's puts all of a block together: what stands before a word, the word, what stands behind it."""
    opens = _differs(made.document)
    begins = opens | _differs(made.sentence)
    ends, closes = np.append(begins[1:], True), np.append(opens[1:], True)
    ids = pc.cast(pa.array(numbers), _TEXT)
    opening, between = pa.scalar('{"id": ', _TEXT), pa.scalar(', "text": "', _TEXT)
    heads = pc.binary_join_element_wise(opening, ids, between, _NOTHING)
    table = pa.concat_arrays([made.table, pa.array(["", " ", ". ", '."}\n'], _TEXT), heads])
    nothing = len(made.table)
    head = nothing + 4
    before = np.full(len(made.words), nothing)
    before[opens] = head + made.document[opens]
    fixed = begins & (made.words < len(_WORDS))
    words = made.words + np.where(fixed, len(_WORDS), 0)
    after = nothing + 1 + ends + closes
    text = table.take(pa.array(np.column_stack([before, words, after]).ravel()))
    _, offsets, data = text.buffers()
    stop = int(np.frombuffer(offsets, np.int64)[len(text)])
    return memoryview(data)[:stop]


def _differs(values: Words) -> NDArray[np.bool_]:
    """Where a value is another than the one before it."""
    return np.append(True, values[1:] != values[:-1])
