"""The engine's sketching half in plain Python: slow, and short enough to believe at sight."""

from __future__ import annotations

import mmh3

P = 2**31 - 1
WORDS = 2**64  # 64-bit words wrap at it
GOLDEN = 0x9E3779B97F4A7C15


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


def fmix64(z: int) -> int:
    """The finaliser of MurmurHash3."""
    z = (z ^ z >> 33) * 0xFF51AFD7ED558CCD % WORDS
    z = (z ^ z >> 33) * 0xC4CEB9FE1A85EC53 % WORDS
    return z ^ z >> 33


def fast_signature(ids: set[int], n: int, seed: int) -> list[int]:
    """Fast Similarity Sketching: a slot takes the least value of the first round that reaches it."""
    found: dict[int, int] = {}
    mix = fmix64((seed + GOLDEN) % WORDS)
    for turn in range(2 * n if ids else 0):
        reached: dict[int, int] = {}
        for one in ids:
            z = fmix64(((one ^ mix) + (turn + 1) * GOLDEN) % WORDS)
            slot = (z >> 32) * n >> 32 if turn < n else turn - n
            value = min(z % 2**32, 2**32 - 2)
            reached[slot] = min(value, reached.get(slot, value))
        for slot, value in reached.items():
            found.setdefault(slot, value)
        if len(found) == n:
            break
    return [found.get(slot, 2**32 - 1) for slot in range(n)]


def fingerprint(text: str) -> tuple[int, int]:
    return mmh3.mmh3_x64_128_utupledigest(text.encode("utf-8", "surrogatepass"))


def documents(texts: list[str]) -> dict[str, list[int]]:
    """The rows of each distinct text, in the order of their first rows."""
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(text, []).append(row)
    return rows
