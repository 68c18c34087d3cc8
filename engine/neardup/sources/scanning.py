"""One sequential pass over each input: borders, slices, encoding, columns, checksum; what is broken is found here."""

from __future__ import annotations

import codecs
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

import mmh3
import msgspec
import numpy as np

from neardup.errors import ColumnError, SourceError
from neardup.pulse import Pulse, unwatched
from neardup.sources import encodings, files, parquet
from neardup.sources.columns import text_column
from neardup.sources.compression import BLOCK, plain, written_whole
from neardup.sources.corpus import Corpus, Input, Reading, Scanned, Slice
from neardup.sources.csv import Csv, Header, header_of, ragged_warning, sniffed
from neardup.sources.finding import Found, compression_of, delimiter_of, find, unreadable
from neardup.sources.formats import Borders, Bytes, Ints, RecordFormat
from neardup.sources.jsonl import BrokenRecord, Jsonl, Seen
from neardup.sources.reading import format_of

SLICE_BYTES = 8 * 2**20
_NAMED = 10  # rows named in one warning
_HEAD = 2**20  # bytes looked at before the pass
_FIRST_RECORDS = 1_000  # JSON lines that tell which fields there are
_LF = 0x0A
_AUTO = Reading()


def plan_bytes(paths: Sequence[str | Path], reading: Reading = _AUTO) -> int:
    """How many bytes on disk `scan` will go through: the total of what its pulse counts."""
    found, _ = find(paths, reading)
    return sum(size_of(each) for each in found)


def size_of(found: Found) -> int:
    try:
        if found.files:
            return sum((Path(found.base) / name).stat().st_size for name in found.files)
        return Path(found.base).stat().st_size
    except OSError as error:
        raise SourceError(unreadable(str(error.filename), error)) from None


def scan(
    paths: Sequence[str | Path],
    reading: Reading,
    spool: Path,
    *,
    slice_bytes: int = SLICE_BYTES,
    pulse: Pulse = unwatched,
) -> Corpus:
    """Find the inputs and cut them into slices of about `slice_bytes`, at record borders, that workers read alone.

    `spool` is a private folder for the plain copies of compressed inputs and of those in UTF-16 and -32.
    `pulse` counts bytes on disk, `plan_bytes` in all. Rows are numbered over all inputs in the order given.
    SourceError: an input is missing, unreadable, broken, cut or holds no row. ColumnError: see `text_column`.
    """
    found, warnings = find(paths, reading)
    if not found:
        raise SourceError("no input is given: name a file or a folder")
    inputs: list[Input] = []
    slices: list[Slice] = []
    rows = 0
    for position, each in enumerate(found):
        scanned = _scanned(position, each, reading, spool, slice_bytes, pulse)
        if not scanned.input.rows:
            raise SourceError(f"{each.path}: holds no row")
        inputs.append(scanned.input)
        slices += [msgspec.structs.replace(one, first_row=rows + one.first_row) for one in scanned.slices]
        warnings += scanned.warnings
        rows += scanned.input.rows
    return Corpus(inputs=tuple(inputs), slices=tuple(slices), rows=rows, warnings=tuple(warnings))


def _scanned(
    position: int, found: Found, reading: Reading, spool: Path, slice_bytes: int, pulse: Pulse
) -> Scanned:
    if found.format == "files":
        return files.scanned(position, found, reading, slice_bytes, pulse)
    try:
        status = Path(found.base).stat()
        with Path(found.base).open("rb"):
            pass  # says now what may not be read
    except OSError as error:
        raise SourceError(unreadable(found.path, error)) from None
    about = Input(
        path=found.path,
        real=os.path.realpath(found.base),
        format=found.format,
        body=os.path.realpath(found.base),
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
    )
    if compression_of(found.path):
        about = msgspec.structs.replace(about, body=str(_decompressed(position, about, spool, pulse)))
        pulse = _counted(pulse)
    if found.format == "parquet":
        return parquet.scanned(position, about, reading, slice_bytes, pulse)
    with Path(about.body).open("rb") as body:
        marked, _ = encodings.mark_of(body.read(4))
    if marked and not encodings.keeps_ascii(marked):
        return _scan_utf8_copy(position, about, marked, reading, spool, slice_bytes, pulse)
    return _scan_body(position, about, marked, reading, spool, slice_bytes, pulse)


def _counted(pulse: Pulse) -> Pulse:
    """The bytes on disk are counted already; the work can still be stopped."""
    return lambda done: pulse(0)


def _spooled(position: int, about: Input, spool: Path, kind: str) -> Path:
    """Named by what it is a copy of, so that a file in the spool is fresh or not found."""
    key = f"{about.real}\0{about.size}\0{about.mtime_ns}".encode("utf-8", "surrogateescape")
    return spool / f"{position:05}-{mmh3.hash_bytes(key).hex()}.{kind}"


def _decompressed(position: int, about: Input, spool: Path, pulse: Pulse) -> Path:
    target = _spooled(position, about, spool, "plain")
    if target.exists():
        pulse(about.size)
        return target
    seen = 0
    with plain(about.path) as source, written_whole(target) as copy:
        while block := source.read(BLOCK):
            copy.write(block)
            consumed = min(source.consumed, about.size)
            pulse(consumed - seen)
            seen = consumed
    pulse(about.size - seen)
    return target


def _scan_utf8_copy(
    position: int, about: Input, encoding: str, reading: Reading, spool: Path, slice_bytes: int, pulse: Pulse
) -> Scanned:
    """Scan a UTF-8 copy of an input whose encoding does not keep ASCII; an export is encoded back."""
    target = _spooled(position, about, spool, "utf8")
    decoder = codecs.getincrementaldecoder(encoding)("neardup-keep-halves")
    with Path(about.body).open("rb") as source, written_whole(target) as copy:
        while block := source.read(BLOCK):
            copy.write(decoder.decode(block).encode("utf-8", "surrogatepass"))
            pulse(len(block))
        copy.write(decoder.decode(b"", True).encode("utf-8", "surrogatepass"))
    copied = msgspec.structs.replace(about, body=str(target))
    return _scan_body(position, copied, encoding, reading, spool, slice_bytes, _counted(pulse))


def mapped(path: str) -> Bytes:
    """All bytes of a file, held by nobody. Only the scan maps: where a file is cut meanwhile, a map is a SIGBUS."""
    try:
        with Path(path).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return np.empty(0, np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError as error:
        raise SourceError(unreadable(path, error)) from None


class _Ragged:
    """Which records have not as many cells as the header; the first of them by number, from 1."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.total = 0

    def add(self, fields: Ints, columns: int, first_row: int) -> None:
        odd = np.flatnonzero(fields != columns)
        self.total += len(odd)
        self.rows += (first_row + odd[: _NAMED - len(self.rows)] + 1).tolist()


class _Head(msgspec.Struct):
    """What must be known before the pass."""

    delimiter: str | None = None
    end: int = 0  # of the byte order mark and the CSV header
    columns: tuple[str, ...] = ()
    text: str | None = None  # the column that holds the text, as far as it is known yet


def _scan_body(
    position: int,
    about: Input,
    encoding: str | None,
    reading: Reading,
    spool: Path,
    slice_bytes: int,
    pulse: Pulse,
) -> Scanned:
    """`encoding` None: UTF-8 as long as nothing speaks against it; then the pass is made again by a guess."""
    data = mapped(about.body)
    of_body = encodings.body_encoding(encoding or "utf-8")
    mark = encodings.mark_of(data[:4].tobytes())[1] if of_body == "utf-8" else 0

    def guessed(start: int) -> Scanned:
        best = encodings.guess(_sample(data, start))
        scan_again = _scan_body if encodings.keeps_ascii(best) else _scan_utf8_copy
        again = msgspec.structs.replace(about, guessed=True)
        return scan_again(position, again, best, reading, spool, slice_bytes, _counted(pulse))

    if encoding is None and (start := _not_utf8(data[:_HEAD], whole=len(data) <= _HEAD)) is not None:
        pulse(about.size)
        return guessed(start)
    head = _head_of(data, mark, about, of_body, reading)
    form = format_of(
        msgspec.structs.replace(
            about, delimiter=head.delimiter, columns=head.columns, text_column=head.text, encoding=of_body
        )
    )
    checksum = mmh3.mmh3_x64_128()
    checksum.update(data[: head.end].data)
    slices: list[Slice] = []
    seen = Seen()
    ragged = _Ragged()
    last = data[:0]
    rows, replaced, at = 0, 0, head.end
    pulse(head.end)
    while at < len(data):
        borders = _next_borders(form, data[at:], slice_bytes)
        window = data[at : at + borders.consumed]
        checksum.update(window.data)
        valid = encodings.is_utf8(window.data)
        if not valid or of_body != "utf-8":
            if encoding is None:
                pulse(len(data) - at)
                return guessed(at + encodings.first_not_utf8(window.data))
            replaced += encodings.to_utf8(window.tobytes(), of_body)[1]
        if borders.fields is not None:
            ragged.add(borders.fields, len(head.columns), rows)
        if isinstance(form, Jsonl):
            replaced += _inspected(form, about, data, at, borders, seen, valid=valid)
        count = len(borders.starts)
        if count:
            last = data[at + int(borders.starts[-1]) :][: int(borders.lengths[-1])]
            slices.append(Slice(input=position, start=at, stop=at + borders.consumed, first_row=rows, rows=count))
        rows += count
        at += borders.consumed
        pulse(borders.consumed)
    warnings = _encoding_warnings(about, encoding or "utf-8", replaced)
    if ragged.total:
        warnings.append(ragged_warning(about.path, ragged.rows, ragged.total))
    if isinstance(form, Csv) and rows and not _closes(form, last):
        warnings.append(
            f"{about.path}: a quote that opens in record {rows:,}, the last, is never closed: "
            "all that follows it was taken as one cell"
        )
    done = msgspec.structs.replace(
        about,
        encoding=encoding or "utf-8",
        delimiter=head.delimiter,
        columns=tuple(seen.names) if about.format == "jsonl" else head.columns,
        header=(0, head.end),
        rows=rows,
        checksum=checksum.digest().hex(),
    )
    return Scanned(_with_text_column(done, reading), tuple(slices), tuple(warnings))


def _closes(form: Csv, last: Bytes) -> bool:
    """Whether the last record ends because it is over, and not because the file is: one more line end tells."""
    return len(form.borders(np.append(last, np.uint8(_LF)), False).starts) > 0


def _not_utf8(data: Bytes, *, whole: bool) -> int | None:
    """Where the bytes stop being UTF-8, or None; a character that the end cuts counts only in a `whole` file."""
    if encodings.is_utf8(data.data):
        return None
    start = encodings.first_not_utf8(data.data)
    return start if whole or start < len(data) - 3 else None


def _sample(data: Bytes, start: int) -> bytes:
    """Bytes around `start`, from a line's beginning where there is one, for a guess."""
    first = max(0, start - encodings.SAMPLE // 4)
    sample = data[first : first + encodings.SAMPLE].tobytes()
    return sample[sample.find(b"\n", 0, start - first) + 1 :] if first else sample


def _next_borders(form: RecordFormat, rest: Bytes, slice_bytes: int) -> Borders:
    """At least one record, or all that is left; a record longer than a slice makes the window larger."""
    window = slice_bytes
    while True:
        borders = form.borders(rest[:window], window >= len(rest))
        if borders.consumed or window >= len(rest):
            return borders
        window *= 2


def _head_of(data: Bytes, mark: int, about: Input, encoding: str, reading: Reading) -> _Head:
    if about.format == "csv":
        delimiter = delimiter_of(about.path) or sniffed(data[mark:], final=True)
        header = _header(data[mark:], delimiter, encoding)
        if not header.columns:
            return _Head(delimiter=delimiter, end=len(data))
        columns, end = header.columns, mark + header.end
        text = columns[text_column(columns, reading.text_column, about.path)]
        return _Head(delimiter=delimiter, end=end, columns=columns, text=text)
    if about.format == "jsonl":
        return _Head(end=mark, text=_early_field(data[mark:], about, encoding, reading))
    if reading.text_column is not None:
        raise ColumnError(f"{about.path}: is read by {about.format}, which has no column {reading.text_column!r}", ())
    return _Head(end=mark)


def _header(data: Bytes, delimiter: str, encoding: str) -> Header:
    window = _HEAD
    while True:
        header = header_of(data[:window], window >= len(data), delimiter, encoding)
        if header.columns or window >= len(data):
            return header
        window *= 2


def _early_field(data: Bytes, about: Input, encoding: str, reading: Reading) -> str | None:
    """The field of the text, told from the first records; None where only the whole file can tell."""
    form = Jsonl(None, encoding)
    borders = _next_borders(form, data, _HEAD)
    first = slice(0, _FIRST_RECORDS)
    borders = Borders(borders.starts[first], borders.lengths[first], borders.consumed)
    seen = Seen()
    _inspected(form, about, data, 0, borders, seen, valid=encodings.is_utf8(data[: borders.consumed].data))
    names = tuple(seen.names)
    if not names:
        return None
    try:
        return names[text_column(names, reading.text_column, about.path)]
    except ColumnError:
        if reading.text_column is None:
            raise
        return None


def _inspected(
    form: Jsonl, about: Input, data: Bytes, at: int, borders: Borders, seen: Seen, *, valid: bool
) -> int:
    """Read every record of the window at `at` once, as `Jsonl.inspect` does; SourceError names the line."""
    try:
        window = data[at : at + borders.consumed]
        return form.inspect(window, borders.starts, borders.lengths, seen, valid=valid)
    except BrokenRecord as error:
        before = at + int(borders.starts[error.record])
        line = 1 + sum(int(np.count_nonzero(data[first:before][:_HEAD] == _LF)) for first in range(0, before, _HEAD))
        raise SourceError(f"{about.path}:{line}: {error}") from None


def _with_text_column(about: Input, reading: Reading) -> Input:
    if about.format not in ("csv", "jsonl") or not about.columns:
        return about
    column = text_column(about.columns, reading.text_column, about.path)
    return msgspec.structs.replace(
        about, text_column=about.columns[column], column=column if about.format == "csv" else None
    )


def _encoding_warnings(about: Input, encoding: str, replaced: int) -> list[str]:
    warnings = []
    if about.guessed:
        warnings.append(f"{about.path}: is not UTF-8 and does not say what it is: read as {encoding}, a guess")
    if replaced:
        warnings.append(f"{about.path}: {encodings.read_as_replaced(replaced, encoding)}")
    return warnings
