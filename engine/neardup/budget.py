"""How much memory a run may take, and what follows from it: how large the pieces are that are worked on at a time.

No result depends on any of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

MB = 10**6
SHARE = 0.75  # of the memory that is left, where nobody says how much
PROCESS = 200 * MB  # a process that has loaded kernels and Arrow, and works on a slice of 8 MB
LEAST_PART, MOST_PART = 1 << 20, 16 << 20
LEAST_INDEX, MOST_INDEX = 16 << 20, 512 << 20
WORTH_A_PART = 1 << 12  # records


@dataclass(frozen=True, slots=True)
class Budget:
    """`memory` bytes over all processes, of which `workers` work beside the one that owns them."""

    memory: int
    workers: int

    @property
    def least(self) -> int:
        """Bytes without which nothing can be done: the processes themselves."""
        return PROCESS * (self.workers + 1) + 8 * LEAST_PART * max(1, self.workers)

    @property
    def part_bytes(self) -> int:
        """Of records that are sorted at a time. A worker needs some six times as much for them."""
        left = self.memory - PROCESS * (self.workers + 1)
        return max(LEAST_PART, min(MOST_PART, left // (8 * max(1, self.workers))))

    @property
    def index_bytes(self) -> int:
        """What one worker may index of the exact join at a time; what asks takes about as much again."""
        left = self.memory - PROCESS * (self.workers + 1)
        return max(LEAST_INDEX, min(MOST_INDEX, left // (2 * max(1, self.workers))))

    def parts(self, size: int) -> int:
        """Into how many parts records of `size` bytes are cut: as fits the memory, and one a worker if that pays."""
        return max(1, size // self.part_bytes, min(self.workers, size // LEAST_PART))

    def records_a_part(self, count: int, most: int) -> int:
        """At most `most`, and so that every worker has two of the `count` where they are many."""
        return min(most, max(WORTH_A_PART, -(-count // (2 * max(1, self.workers)))))


def memory_left() -> int:
    """Bytes that the machine and the cgroup of this process leave, as far as they say so; else 2 GB."""
    found = []
    try:
        about = dict(re.findall(r"^(\w+): +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE))
        found.append(int(about["MemAvailable"]) * 1024)
    except (OSError, KeyError):
        found.append(2_000 * MB)
    for limit, used in _cgroups():
        try:
            most = int(limit.read_text())
            found.append(max(0, most - int(used.read_text()) + _reclaimable(limit)))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return min(found)


def _cgroups() -> list[tuple[Path, Path]]:
    """The files of limit and use, of the cgroup of this process and of those above it (versions 2 and 1)."""
    root = Path("/sys/fs/cgroup")
    files = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        base = root if controllers == "" else root / "memory"
        names = ("memory.max", "memory.current") if controllers == "" else (
            "memory.limit_in_bytes", "memory.usage_in_bytes")  # fmt: skip
        here = base / path.lstrip("/")
        for folder in (here, *here.parents):
            if folder.is_relative_to(base):
                files.append((folder / names[0], folder / names[1]))
    return files


def _reclaimable(limit: Path) -> int:
    """Pages of files that the kernel takes back when memory is wanted: they count as used, and are not missed."""
    try:
        about = dict(line.split() for line in limit.with_name("memory.stat").read_text().splitlines())
        return int(about.get("inactive_file", 0)) + int(about.get("active_file", 0))
    except (OSError, ValueError):
        return 0
