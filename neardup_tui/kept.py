"""`neardup runs`: what the cache keeps, as a table or as JSON, and what was freed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TextIO

from rich.cells import cell_len

from neardup import cache
from neardup.cache import KeptRun
from neardup.events import STAGES, number_of
from neardup.sizes import size
from neardup_tui.dates import ago
from neardup_tui.places import place
from neardup_tui.progress import tell
from neardup_tui.widgets.cells import safe

NAMED = 3  # inputs of one run; the rest are counted
HEAD = ("directory", "last used", "size", "last run", "inputs")
SIZE = HEAD.index("size")


def print_table(stream: TextIO) -> None:
    runs = cache.kept_runs()
    print(f"{place(cache.runs_directory())}: {_total(runs)}, of at most {size(cache.limit(runs))}", file=stream)
    rows = [(run.path.name, ago(run.last_used), size(run.bytes), _state(run), _inputs(run)) for run in runs]
    for line in _aligned([HEAD, *rows]) if rows else ():
        print(f"  {line}", file=stream)
    current, others = cache.kept_kernels()
    old = f", and {size(others)} of other versions" if others else ""
    print(f"{place(cache.kernel_cache())}: compiled kernels, {size(current)}{old}", file=stream)


def print_json(stream: TextIO) -> None:
    runs = cache.kept_runs()
    current, others = cache.kept_kernels()
    told = {
        "directory": str(cache.runs_directory()),
        "bytes": sum(run.bytes for run in runs),
        "limit": cache.limit(runs),
        "runs": [
            {
                "path": str(run.path),
                "inputs": run.inputs,
                "bytes": run.bytes,
                "last_used": datetime.fromtimestamp(run.last_used).astimezone().isoformat(timespec="seconds"),
                "stage": run.stage,
                "finished": run.finished,
                "in_use": run.in_use,
            }
            for run in runs
        ],
        "kernels": {"directory": str(cache.kernel_cache()), "bytes": current, "bytes_of_other_versions": others},
    }
    print(json.dumps(told, indent=2), file=stream)


def clean(to: int | None, older_than: float | None) -> None:
    gone = cache.clean(to=to, older_than=older_than)
    kernels = cache.clean_kernels()
    for run in gone:
        tell(f"  removed  {size(run.bytes):>8}  {_inputs(run)}, last used {ago(run.last_used)}")
    if kernels:
        tell(f"  removed  {size(kernels):>8}  kernels compiled by other versions")
    freed = sum(run.bytes for run in gone) + kernels
    if not freed and to is None and older_than is None and cache.kept_runs():
        tell("nothing is above the limit; --all, --older-than or --to remove what is below it")
    tell(f"  freed    {size(freed):>8}  {_total(cache.kept_runs())} left in {place(cache.runs_directory())}")


def _total(runs: Sequence[KeptRun]) -> str:
    in_use = sum(run.in_use for run in runs)
    used = f" ({in_use} in use)" if in_use else ""
    return f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}{used}, {size(sum(run.bytes for run in runs))}"


def _state(run: KeptRun) -> str:
    number = number_of(run.stage)
    stage = f"{number}/{len(STAGES)} {run.stage}" if number else "nothing yet"
    if run.in_use:
        return f"in use: {'idle' if run.finished else stage}"
    if run.finished:
        return "finished" if run.stage == STAGES[-1] else "opened only"
    return f"stopped at {stage}"


def _inputs(run: KeptRun) -> str:
    if not run.inputs:
        return "-"
    more = len(run.inputs) - NAMED
    return ", ".join(map(safe, run.inputs[:NAMED])) + (f" and {more} more" if more > 0 else "")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]

    def cell(text: str, column: int) -> str:
        room = " " * (widths[column] - cell_len(text))
        return room + text if column == SIZE else text + room

    return ["  ".join(cell(text, column) for column, text in enumerate(row)).rstrip() for row in rows]
