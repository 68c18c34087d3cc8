"""`neardup run` as the benchmarks call it, and the files that they give it. All that they make lies in build/bench."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from measure import Cost, cost_of

PROJECT = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "bench"
SHARED = PROJECT.parent / "shared"  # corpora that are no part of the project, where they are there
NEARDUP = [sys.executable, "-m", "neardup_tui"]
# Kernels are compiled into a cache of the benchmarks' own: the first run pays for it, and no run of anybody else's.
ENVIRONMENT = {"XDG_CACHE_HOME": str(BUILD / "cache")}


@dataclass(frozen=True)
class Run:
    """One headless run: its cost and the object that `--json` printed."""

    cost: Cost
    told: dict[str, Any]


def run(path: Path, *options: str, out: bool = True, timeout: float = 3600) -> Run:
    """Run with nothing finished before; the clean file is written (and replaced) where `out` says so."""
    folder = BUILD / "run"
    shutil.rmtree(folder, ignore_errors=True)
    command = [*NEARDUP, "run", str(path), "--json", "--quiet", "--run-dir", str(folder), *options]
    if out:
        command += ["--out", str(BUILD / f"clean{path.suffix}"), "--force"]
    if supports("--truth"):
        command += ["--truth", "off"]
    try:
        cost = cost_of(command, environment=ENVIRONMENT, folder=folder, timeout=timeout)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Run(cost, json.loads(cost.output))


@cache
def supports(option: str) -> bool:
    """Whether `neardup run` has this option."""
    shown = subprocess.run([*NEARDUP, "run", "--help"], check=True, capture_output=True, text=True).stdout
    return option in shown.split()


def example(documents: int, characters: int, share: float = 0.2) -> Path:
    """The generated example as JSON lines; made once."""
    return made(
        f"example-{documents}-{characters}-{share}.jsonl",
        "example", str(documents), "--characters", str(characters), "--share", str(share),
    )  # fmt: skip


def made(name: str, *command: str) -> Path:
    """What a neardup command prints, kept as a file of this name."""
    path = BUILD / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            subprocess.run([*NEARDUP, *command], check=True, stdout=file)
        part.replace(path)
    return path


def first_rows(path: Path, rows: int) -> Path:
    """The first lines of a file, in a file of their own beside it."""
    head = path.with_name(f"{path.stem}-first-{rows}{path.suffix}")
    with path.open("rb") as file:
        head.write_bytes(b"".join(line for line, _ in zip(file, range(rows), strict=False)))
    return head
