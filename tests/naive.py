"""The engine's sketching half in plain Python: slow, and short enough to believe at sight."""

from __future__ import annotations

import mmh3

P = 2**31 - 1


def shingles(text: str, kind: str, k: int) -> list[str]:
    """In text order, with repeats."""
    units, joint = (list(text), "") if kind == "char" else (text.split(), " ")
    if len(units) < k:
        return [text] if text else []
    return [joint.join(units[at : at + k]) for at in range(len(units) - k + 1)]


def shingle_id(shingle: str) -> int:
    return mmh3.mmh3_x64_128_utupledigest(shingle.encode("utf-8", "surrogatepass"))[0]


def shingle_ids(text: str, kind: str, k: int) -> list[int]:
    return [shingle_id(shingle) for shingle in shingles(text, kind, k)]


def jaccard(left: set[int], right: set[int]) -> float:
    return len(left & right) / len(left | right) if left | right else 0.0


def constants(num_perm: int, seed: int) -> list[tuple[int, int]]:
    """(a, b) of each hash function."""
    halves = [mmh3.mmh3_x64_128_utupledigest(i.to_bytes(8, "little"), seed) for i in range(num_perm)]
    return [(1 + u % (P - 1), v % P) for u, v in halves]


def signature(ids: set[int], num_perm: int, seed: int) -> list[int]:
    return [min(((a * (x % P) + b) % P for x in ids), default=P) for a, b in constants(num_perm, seed)]


def fingerprint(text: str) -> tuple[int, int]:
    return mmh3.mmh3_x64_128_utupledigest(text.encode("utf-8", "surrogatepass"))


def documents(texts: list[str]) -> dict[str, list[int]]:
    """The rows of each distinct text, in the order of their first rows."""
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(text, []).append(row)
    return rows
