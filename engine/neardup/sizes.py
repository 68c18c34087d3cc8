"""Sizes in bytes as people write them, by thousands."""

from __future__ import annotations

import re

from neardup.errors import SettingsError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def size(count: int) -> str:
    """Bytes as people read them: 980 B, 689.4 kB, 22.9 MB."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.95 or unit == "TB":
            break
    return f"{value:,.1f} {unit}"


def parse_size(text: str, option: str, *, zero: bool = False) -> int:
    """Read 4GB, 500M or a number of bytes, 0 only where it means something; else SettingsError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip(), re.IGNORECASE | re.ASCII)
    if not found or (float(found[1]) <= 0 and not zero):
        raise SettingsError(f"{option} {text!r} is no size: give one such as 500MB or 4GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])
