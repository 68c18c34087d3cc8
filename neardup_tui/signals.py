"""How a signal ends a headless run: the first one becomes Stopped, whose code is 128 + its number.

Outside of a loop, and in work that blocks the loop, the handler raises Stopped where the program is: also out of a
write to a pipe that nobody reads. While the loop runs, it cancels the task instead, which then cleans up.
A signal that we were started to ignore (nohup) stays ignored; after the first, all are.

ctrl+z stops only what belongs to the terminal's job, and workers do not: `suspends` has them pause first.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], object]


class Stopped(BaseException):
    """A signal asked for the end; `code` is what the shell hears."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


_heard: list[int] = []


def _raise(number: int, frame: FrameType | None) -> None:
    if not _heard:
        _heard.append(number)
        raise Stopped(number)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Raise Stopped at the first signal, wherever the main thread is; puts back the handlers there were."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    minded = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in minded:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in minded:
            signal.signal(number, before[number])


async def signals_cancel(work: Coroutine[Any, Any, T]) -> T:
    """Do the work; the first signal cancels it, and becomes Stopped once it has cleaned up."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def stop(number: int) -> None:
        if not _heard:
            _heard.append(number)
            task.cancel()

    before = {number: signal.getsignal(number) for number in SIGNALS}
    minded = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in minded:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if _heard:
            raise Stopped(_heard[0]) from None
        raise
    finally:
        for number in minded:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


@contextmanager
def suspends(pause: Callable[[bool], object]) -> Iterator[None]:
    """At ctrl+z (SIGTSTP): pause what would go on without us, stop as any program does, and go on with it afterwards.

    Inside a running loop. All clocks go on meanwhile: what waits for a time to be over finds that it is.
    """
    before = signal.getsignal(signal.SIGTSTP)
    if before is signal.SIG_IGN:  # a shell without job control: nobody could wake us
        yield
        return
    loop = asyncio.get_running_loop()

    def stop() -> None:
        pause(True)
        loop.remove_signal_handler(signal.SIGTSTP)  # what is left is the system's own handler, which stops us here
        signal.raise_signal(signal.SIGTSTP)  # to this thread: another one would leave it some time to go on
        pause(False)
        loop.add_signal_handler(signal.SIGTSTP, stop)

    loop.add_signal_handler(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)


def ignore_signals() -> None:
    """The end is near; nothing may cut it short."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
