"""A real run that is struck by a signal in the middle of a stage: from inside a worker, between two kernel calls.

    python struck.py STAGE SIGNAL worker|owner MARK run PATH… OPTIONS of neardup

The signal is sent once: the file MARK-STAGE says so. STAGE may be several, with commas between them.
The inputs are cut into slices of 100 kB, so that a small corpus has many.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

STRUCK = 6  # this chunk of the map, or the last: by then some are finished and written down


class Struck:
    """A task that sends a signal at its first pulse, at one chunk of all."""

    def __init__(self, task: Any, at: int, number: int, pid: int | None, mark: str) -> None:
        self.task, self.at, self.number, self.pid, self.mark = task, at, number, pid, mark

    def __call__(self, chunk: tuple[int, Any], store: Any, pulse: Any) -> Any:
        index, inner = chunk

        def beat(done: int) -> None:
            if index == self.at and _first(self.mark):
                os.kill(self.pid or os.getpid(), self.number)
            pulse(done)

        return self.task(inner, store, beat)


def _first(mark: str) -> bool:
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def main(stages: Sequence[str], number: int, whom: str, mark: str) -> None:
    from neardup import single

    single.prepare_kernels()  # before anything imports numba, as the program itself does
    from neardup import engine
    from neardup.backends.processes import Processes
    from neardup.work import Work
    from neardup_tui import cli

    at = ["read"]
    start_stage, plain_map = Work.start_stage, Processes.map

    def started(work: Work, stage: str, total: int, unit: str) -> None:
        at[0] = stage
        start_stage(work, stage, total, unit)

    def struck_map(pool: Processes, task: Any, chunks: Sequence[Any]) -> AsyncIterator[tuple[int, Any]]:
        if at[0] in stages and chunks:
            pid = os.getpid() if whom == "owner" else None
            task = Struck(task, min(STRUCK, len(chunks) - 1), number, pid, f"{mark}-{at[0]}")
            chunks = list(enumerate(chunks))
        return plain_map(pool, task, chunks)

    Work.start_stage = started  # type: ignore[method-assign]
    Processes.map = struck_map  # type: ignore[method-assign, assignment]
    engine.Engine.__init__.__kwdefaults__["slice_bytes"] = 100_000
    cli.main()


if __name__ == "__main__":
    import struck  # by its name, as workers will import it

    stages, name, whom, mark = sys.argv[1:5]
    sys.argv = ["neardup", *sys.argv[5:]]
    struck.main(stages.split(","), signal.Signals[name], whom, mark)
