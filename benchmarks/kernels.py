"""What each kernel costs, in nanoseconds of one core a unit, beside the limit of the machine measured in the same run.

    python benchmarks/kernels.py        a table in Markdown; about half a minute

The limit of MinHash is a program written by hand (`limit.c`). That of all else is to move the bytes that have to be
moved: what a kernel reads and writes at least, at the speed of a copy inside the cache. It takes turns with the
kernel, and medians are compared. Documents are 450 characters of ASCII, 446 char 5-grams each, in groups of ten: one,
and nine like it with another tenth replaced in each.
"""

from __future__ import annotations

import ctypes
import io
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import compiled
from neardup.runs import kernel_cache

DOCUMENTS = 10_000
CHARACTERS = 450
GROUP = 10
TIMES = 7
COPIED, COPIES = 1 << 22, 16  # bytes, and how often in one turn
BANDS, ROWS = 16, 6

Work = Callable[[], Any]


@dataclass(frozen=True)
class Kernel:
    """`work` does so many of each unit; `moved` is how many bytes it reads and writes at least. `limit` replaces that.

    `fresh` makes what the work uses up; it is not timed.
    """

    name: str
    units: dict[str, int]
    work: Callable[..., Any]
    moved: int = 0
    limit: Work | None = None
    fresh: Callable[[], Any] | None = None


def seconds(work: Callable[..., Any], fresh: Callable[[], Any] | None = None) -> float:
    given = () if fresh is None else (fresh(),)
    began = time.process_time()
    work(*given)
    return time.process_time() - began


def compiled_limit(folder: Path) -> ctypes.CDLL | str:
    """`limit.c` for this machine, or why there is none."""
    compiler = shutil.which("cc")
    if compiler is None:
        return "no limit for MinHash: there is no C compiler called cc"
    library = folder / "limit.so"
    source = Path(__file__).with_name("limit.c")
    built = subprocess.run(
        [compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library], capture_output=True, text=True
    )
    if built.returncode:
        return "no limit for MinHash: this machine has neither AVX-512 nor AVX2, or cc cannot compile limit.c"
    return ctypes.CDLL(str(library))


def by_hand(limit: ctypes.CDLL, ids: Any, a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint32]:
    out = np.full((len(ids), len(a)), 2**31 - 1, np.uint32)
    count, width = ctypes.c_int64(len(ids)), ctypes.c_int64(len(a))
    limit.signatures(at(ids.values), at(ids.offsets), count, at(a), at(b), width, at(out))
    return out


def at(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def texts_of_450() -> Any:
    """Cut from the example's words; each but the first of a group has one run of characters replaced."""
    from neardup.ragged import Texts
    from neardup.sources import write_example
    from neardup.sources.jsonl import Jsonl

    made = io.BytesIO()
    write_example(made, DOCUMENTS // GROUP + DOCUMENTS // 5, share=0, characters=CHARACTERS)
    data = np.frombuffer(made.getvalue(), np.uint8)
    form = Jsonl("text", "utf-8", ("id", "text"))
    borders = form.borders(data, True)
    words = form.texts(data, borders.starts, borders.lengths).data
    texts = words[: DOCUMENTS // GROUP * CHARACTERS].reshape(-1, 1, CHARACTERS).repeat(GROUP, axis=1)
    other = words[-len(texts) * CHARACTERS :].reshape(-1, CHARACTERS)
    changed = CHARACTERS // GROUP
    for copy in range(1, GROUP):
        part = slice(copy * changed, (copy + 1) * changed)
        texts[:, copy, part] = other[:, part]
    return Texts(texts.reshape(-1), np.arange(DOCUMENTS + 1) * CHARACTERS)


def as_json(texts: Any) -> NDArray[np.uint8]:
    lines = (b'{"id": %d, "text": "%s"}\n' % (i, text.encode()) for i, text in enumerate(texts))
    return np.frombuffer(b"".join(lines), np.uint8)


def kernels(limit: ctypes.CDLL | None) -> Iterable[Kernel]:
    from neardup import exchange
    from neardup.ragged import Ragged
    from neardup.settings import Normalising, Shingling, Sketching
    from neardup.sources.jsonl import Jsonl
    from neardup.stages import bands, documents, normalise, shingles, signatures, verify

    texts = texts_of_450()
    size = len(texts.data)
    lines = as_json(texts)
    form = Jsonl("text", "utf-8", ("id", "text"))
    borders = form.borders(lines, True)
    read = partial(form.texts, lines, borders.starts, borders.lengths)
    assert list(read()) == list(texts)
    yield Kernel("record borders, JSON lines", {"byte": len(lines)}, partial(form.borders, lines, True), len(lines))
    yield Kernel("texts of JSON lines", {"byte": len(lines), "document": DOCUMENTS}, read, len(lines) + size)
    plain = partial(normalise.normalised, texts, Normalising())
    yield Kernel("normalise, ASCII", {"byte": size, "document": DOCUMENTS}, plain, 2 * size)
    yield Kernel("fingerprint", {"byte": size}, partial(documents.fingerprints, texts), size)

    chars, words = Shingling(), Shingling(kind="word", k=3)
    ids = shingles.shingle_ids(texts, chars)
    count = len(ids.values)
    cut = partial(shingles.shingle_ids, texts)
    units = {"shingle": count, "document": DOCUMENTS}
    yield Kernel("char ids, k = 5", units, partial(cut, chars), size + 8 * count)
    found = len(cut(words).values)
    yield Kernel("word ids, k = 3", {"shingle": found, "document": DOCUMENTS}, partial(cut, words), size + 8 * found)

    mersenne, fast = Sketching(), Sketching(family="fast")
    signed = signatures.signatures_of(ids, mersenne)
    hashes = count * mersenne.num_perm
    hand = None
    if limit is not None:
        hand = partial(by_hand, limit, ids, *signatures.constants(mersenne))
        assert np.array_equal(hand(), signed)
    sketch = partial(signatures.signatures_of, ids)
    moved = 8 * count + signed.nbytes
    units = {"slot and shingle": hashes, "document": DOCUMENTS}
    yield Kernel("signatures, mersenne", units, partial(sketch, mersenne), moved, hand)
    yield Kernel("signatures, fast", units, partial(sketch, fast), moved)
    short = Ragged(ids.values, np.append(np.arange(0, count, 30), count))
    hand = partial(by_hand, limit, short, *signatures.constants(mersenne)) if limit is not None else None
    sketch = partial(signatures.signatures_of, short)
    units = {"slot and shingle": hashes, "document": len(short)}
    moved = 8 * count + 4 * mersenne.num_perm * len(short)
    yield Kernel("  of 30 shingles, mersenne", units, partial(sketch, mersenne), moved, hand)
    yield Kernel("  of 30 shingles, fast", units, partial(sketch, fast), moved)

    yield Kernel(
        "sort_unique", {"id": count}, shingles.sorted_sets, 16 * count,
        fresh=lambda: Ragged(ids.values.copy(), ids.offsets),
    )  # fmt: skip
    sets = shingles.sorted_sets(Ragged(ids.values.copy(), ids.offsets))
    left, right = np.arange(0, DOCUMENTS, 2), np.arange(1, DOCUMENTS, 2)
    both = len(sets.values)
    yield Kernel("overlap", {"id of either": both}, partial(verify.overlaps, sets, left, right), 8 * both)
    yield Kernel("agree", {"slot": signed.size // 2}, partial(verify.agreements, signed, left, right), signed.nbytes)

    numbers = np.arange(DOCUMENTS, dtype=np.uint32)
    keyed = partial(bands.entries_of, signed, numbers, range(BANDS), ROWS)
    entries = keyed()
    yield Kernel("band keys", {"key": len(entries)}, keyed, 4 * ROWS * len(entries) + entries.nbytes)
    yield Kernel(
        "entries sorted", {"entry": len(entries)}, exchange.sorted_records, 2 * entries.nbytes, fresh=entries.copy
    )
    buckets = bands.buckets_of(exchange.sorted_records(entries.copy()), lambda some: signed[some], ROWS)
    limit_ = 10_000
    unlisted = bands.unlisted_of(buckets, limit_)
    emitted = partial(bands.candidates_of, buckets, limit_, unlisted, lambda some: signed[some], BANDS, ROWS)
    looked_at = int((buckets.sizes * (buckets.sizes - 1) // 2).sum())
    pairs = sum(map(len, emitted()))
    yield Kernel(
        f"candidates, {looked_at / pairs:.1f} buckets each", {"pair": pairs}, lambda: list(emitted()),
        8 * pairs + 8 * looked_at,
    )  # fmt: skip


def copying() -> Work:
    source, target = np.ones(COPIED, np.uint8), np.ones(COPIED, np.uint8)

    def copy() -> None:
        for _ in range(COPIES):
            np.copyto(target, source)

    return copy


def measured(one: Kernel, copy: Work) -> tuple[float, float]:
    """Seconds of the kernel and of its limit: medians of turns taken."""
    seconds(one.work, one.fresh)
    turns = [(seconds(one.work, one.fresh), seconds(one.limit or copy)) for _ in range(TIMES)]
    work, limit = (statistics.median(column) for column in zip(*turns, strict=True))
    return work, limit if one.limit else limit * one.moved / (2 * COPIED * COPIES)


def machine() -> str:
    model = platform.processor() or platform.machine()
    flags: set[str] = set()
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                model = value.strip()
            elif name.strip() == "flags":
                flags = set(value.split())
    known = [flag for flag in ("avx2", "avx512f", "avx512dq", "avx512_ifma") if flag in flags]
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "llvmlite"))
    return f"{model} ({', '.join(known) or 'no AVX2'}), Python {platform.python_version()}, {libraries}"


def main() -> None:
    cache = kernel_cache()
    compiled.prepare(cache)
    compiled.load(cache / "lock")
    copy = copying()
    with tempfile.TemporaryDirectory() as folder:
        limit = compiled_limit(Path(folder))
        by = limit
        if not isinstance(limit, str):
            limit.name.restype = ctypes.c_char_p
            by = f"limit of MinHash: limit.c, {limit.name().decode()}"
        print(f"{machine()}\n{DOCUMENTS:,} documents of {CHARACTERS} characters, medians of {TIMES}; {by}\n")
        rows = [("kernel", "unit", "ns", "limit, ns", "of", "times the limit")]
        for one in kernels(None if isinstance(limit, str) else limit):
            work, least = (value * 1e9 for value in measured(one, copy))
            of = "by hand" if one.limit else "copying"
            for unit, count in one.units.items():
                numbers = f"{work / count:,.3f}", f"{least / count:,.3f}", of, f"{work / least:.2f}"
                rows.append((one.name, unit, *numbers))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * (width - right) + ":" * right for width, right in zip(widths, SIDES, strict=True)))
    for row in rows:
        cells = (cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, SIDES, strict=True))
        print(f"| {' | '.join(cells)} |")


SIDES = (False, False, True, True, False, True)  # columns of numbers stand to the right


if __name__ == "__main__":
    main()
