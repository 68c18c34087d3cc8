"""Which inputs the paths name, and how each is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath

import msgspec

from neardup.errors import SourceError
from neardup.sources.corpus import Format, Reading

_FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".html": "files",
    ".htm": "files",
    ".md": "files",
}
_RECORDS = ("csv", "jsonl", "parquet")
_DOCUMENTS = (".txt", ".md", ".html", ".htm", "")  # the last: a name without an ending
_ENDINGS: dict[str, tuple[str, ...]] = {
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet",),
    "lines": _DOCUMENTS,
    "blank-lines": _DOCUMENTS,
    "files": _DOCUMENTS,
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_NAMED = 3  # files named in one warning


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An input before it is scanned. `base` is the file, or the folder that `files` lie in."""

    path: str
    format: Format
    base: str
    files: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        """One document that was named itself, not found in a folder."""
        return self.format == "files" and self.path != self.base


def compression_of(name: str) -> str | None:
    """`gzip`, `zstd` or None, by the name's ending."""
    return _COMPRESSIONS.get(PurePosixPath(name).suffix.lower())


def ending_of(name: str) -> str:
    """The ending in lower case, after .gz or .zst: `.csv` of `a.CSV.gz`; empty where there is none."""
    plain = PurePosixPath(name)
    if compression_of(name):
        plain = plain.with_suffix("")
    return plain.suffix.lower()


def delimiter_of(name: str) -> str | None:
    return "\t" if ending_of(name) == ".tsv" else None


def find(paths: Sequence[str | Path], reading: Reading) -> tuple[list[Found], list[str]]:
    """The inputs in the order given, and warnings about files that were left out; SourceError for what is not there."""
    found: list[Found] = []
    warnings: list[str] = []
    for given in paths:
        path = os.fspath(given)
        try:
            mode = Path(path).stat().st_mode
        except (OSError, ValueError) as error:
            raise SourceError(unreadable(path, error)) from None
        if stat.S_ISDIR(mode):
            inputs, left_out = _in_folder(path, reading)
            found += inputs
            warnings += left_out
        elif not stat.S_ISREG(mode):
            raise SourceError(f"{path}: is neither a file nor a folder")
        else:
            form = _FORMATS.get(ending_of(path), "lines") if reading.format == "auto" else reading.format
            if form == "files":
                found.append(Found(path=path, format=form, base=os.path.dirname(path) or ".", files=(Path(path).name,)))
            else:
                found.append(Found(path=path, format=form, base=path))
    return list(_joined(found)), warnings


def unreadable(path: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: there is no such file or folder"
    if isinstance(error, PermissionError):
        return f"{path}: may not be read: ask for the right to read it"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path}: cannot be read: {reason}"


def _joined(found: list[Found]) -> Iterator[Found]:
    """Single documents that follow each other are one input, in the order given."""
    for single, group in groupby(found, lambda each: each.single):
        inputs = list(group)
        if not single or len(inputs) == 1:
            yield from inputs
            continue
        paths = [each.path for each in inputs]
        if any(map(os.path.isabs, paths)):
            paths = list(map(os.path.abspath, paths))
        base = os.path.commonpath(list(map(os.path.dirname, paths))) or "."
        yield Found(path=base, format="files", base=base, files=tuple(os.path.relpath(path, base) for path in paths))


def _in_folder(path: str, reading: Reading) -> tuple[list[Found], list[str]]:
    names, odd = _files_below(path)
    formats = {_FORMATS.get(ending_of(name)) for name in names}
    form = reading.format
    if form == "auto":
        only = formats.pop() if len(formats) == 1 else None
        form = only if only in _RECORDS else "files"
    if form in _RECORDS:
        taken = [name for name in names if _FORMATS.get(ending_of(name)) == form]
    else:
        taken = [name for name in names if ending_of(name) in _DOCUMENTS]
    left_out = sorted({*names} - {*taken}) + odd
    if not taken:
        endings = ", ".join(ending for ending in _ENDINGS[form] if ending)
        there = f", only {_files(left_out)} of another kind" if left_out else ""
        raise SourceError(f"{path}: the folder holds no documents ({endings}){there}")
    warnings = [f"{path}: {_files(left_out)} left out, of another kind"] if left_out else []
    if form == "files":
        return [Found(path=path, format="files", base=path, files=tuple(taken))], warnings
    inputs = [os.path.join(path, name) for name in taken]
    return [Found(path=each, format=form, base=each) for each in inputs], warnings


def _files(names: list[str]) -> str:
    named = ", ".join(ascii(name)[1:-1] if not name.isprintable() else name for name in names[:_NAMED])
    return f"{len(names):,} {'file' if len(names) == 1 else 'files'} ({named}{', …' if len(names) > _NAMED else ''})"


def _files_below(folder: str) -> tuple[list[str], list[str]]:
    """Paths below the folder, sorted by bytes, and those whose names are no text; what is hidden is in neither."""

    def fail(error: OSError) -> None:
        raise SourceError(unreadable(error.filename or folder, error)) from None

    names: list[str] = []
    for where, folders, files in os.walk(folder, onerror=fail):  # does not enter symlinked folders
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = os.path.relpath(where, folder)
        names += (
            name if below == "." else f"{below}/{name}"
            for name in files
            if not name.startswith(".") and os.path.isfile(os.path.join(where, name))
        )
    names.sort(key=os.fsencode)
    odd = [name for name in names if any("\udc80" <= character <= "\udcff" for character in name)]
    return [name for name in names if name not in {*odd}] if odd else names, odd
