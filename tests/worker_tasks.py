"""Tasks that the tests of the backends send into real workers."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neardup.errors import SourceError
from neardup.pulse import Pulse
from neardup.store import LocalStore


def square(chunk: int, store: LocalStore, pulse: Pulse) -> int:
    pulse(1)
    return chunk * chunk


def process_number(chunk: int, store: LocalStore, pulse: Pulse) -> int:
    time.sleep(0.05)
    return os.getpid()


def endless(chunk: int, store: LocalStore, pulse: Pulse) -> None:
    while True:
        pulse(1)
        time.sleep(0.005)


def deaf(chunk: int, store: LocalStore, pulse: Pulse) -> None:
    """A kernel call that does not come back."""
    time.sleep(60)


def half_written(chunk: int, store: LocalStore, pulse: Pulse) -> None:
    """What a worker killed in the middle of a write leaves."""
    (store.root / "left.npy.tmp").write_bytes(b"half")
    time.sleep(60)


def dies_once(chunk: str, store: LocalStore, pulse: Pulse) -> str:
    mark = Path(chunk)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def always_dies(chunk: str, store: LocalStore, pulse: Pulse) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crashes(chunk: object, store: LocalStore, pulse: Pulse) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


class Rows:
    """A chunk that says what it is about."""

    def described(self) -> str:
        return "rows 2,000 to 2,999"


@dataclass(frozen=True)
class Merge:
    """A task with the name of its artifacts, as those of the pipeline have it."""

    name: str

    def __call__(self, chunk: object, store: LocalStore, pulse: Pulse) -> None:
        pulse(1)


def refuses(chunk: int, store: LocalStore, pulse: Pulse) -> None:
    raise SourceError("tickets.jsonl:3 is broken")


def secret_crash(chunk: int, store: LocalStore, pulse: Pulse) -> None:
    raise ValueError("the text of a private document")


def written(chunk: int, store: LocalStore, pulse: Pulse) -> object:
    return store.write("written", chunk, np.arange(chunk))
