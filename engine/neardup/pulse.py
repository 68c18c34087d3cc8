"""How long work tells that it goes on, and learns that it should not.

A stage calls `pulse(n)` between two kernel calls of at most about 20 ms each, with the number of units
finished since the last call. The pulse counts them where the parent can see them, and raises
`errors.Cancelled` once somebody asked to stop. No kernel reads a flag: LLVM hoists the read out of loops.
"""

from __future__ import annotations

from collections.abc import Callable

Pulse = Callable[[int], None]


def unwatched(done: int) -> None:
    """The pulse of work that nobody waits for."""
