"""What the name of an output says: its form, its compression, and whether it is a file at all."""

from __future__ import annotations

import stat
from pathlib import Path, PurePath
from typing import Literal

STDOUT = "-"

Form = Literal["csv", "jsonl", "parquet"]
Compression = Literal["gz", "zst"]

_FORMS: dict[str, Form] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


def compression_of(path: str) -> Compression | None:
    ending = PurePath(path).suffix.lower()
    return {".gz": "gz", ".zst": "zst"}.get(ending)  # type: ignore[return-value]


def form_of(path: str) -> Form:
    """`pairs.jsonl.zst` is JSON lines; a name without an ending is CSV."""
    return _FORMS.get(_ending(path), "csv")


def is_table(path: str) -> bool:
    """Whether the name promises a table that is written: .csv, .jsonl, .ndjson, .parquet, or nothing."""
    return _ending(path) in ("", ".csv", *_FORMS)


def _ending(path: str) -> str:
    plain = PurePath(path).stem if compression_of(path) else path
    return PurePath(plain).suffix.lower()


def is_stream(path: str) -> bool:
    """True where the bytes go out at once: standard output, a pipe, a device."""
    if path == STDOUT:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
