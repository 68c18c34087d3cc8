"""A worker process: single-threaded, it does one task on one chunk after the other, as its owner sends them.

    python -m neardup.worker SOCKET WATCH SLOT

It says ("hello", slot, pid), then ("ready", seconds of compiling, notice) once its kernels are loaded,
then answers each (task, chunk, store) with ("done", result, private bytes), ("stopped",) or ("failed", error).
It ends when the socket does.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import struct
import sys
import traceback
from pathlib import Path
from typing import Any

LENGTH = struct.Struct("<Q")


def main(address: str, watch_path: str, slot: int) -> None:
    # ctrl+c and a lost terminal are for the owner; the worker ends with its socket.
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect(address)
    _send(line, ("hello", slot, os.getpid()))

    from neardup import compiled
    from neardup.errors import Cancelled
    from neardup.memory import private_bytes
    from neardup.runs import kernel_cache
    from neardup.watch import Watch

    compiled.prepare(kernel_cache())
    loaded = compiled.load(kernel_cache() / "lock")
    import neardup.tasks  # noqa: F401  # unpickling would import it anyway; now is when nobody waits

    watch = Watch(Path(watch_path))
    _send(line, ("ready", loaded.seconds if loaded.compiled else 0.0, loaded.notice))
    while True:
        asked = _receive(line)
        if asked is None:
            return
        task, chunk, store = asked
        try:
            answer: tuple[Any, ...] = ("done", task(chunk, store, watch.pulse(slot)), private_bytes())
        except Cancelled:
            answer = ("stopped",)
        except Exception as error:  # whatever it is, the owner decides
            answer = ("failed", _portable(error))
        _send(line, answer)


def _portable(error: Exception) -> Exception:
    """The error if it can travel; else one of ours that says where it came from, never what the data was."""
    from neardup.errors import NeardupError

    if isinstance(error, NeardupError):
        return error
    where = traceback.extract_tb(error.__traceback__)[-1]
    return NeardupError(f"{type(error).__name__} in {Path(where.filename).name}, line {where.lineno}")


def _send(line: socket.socket, words: object) -> None:
    data = pickle.dumps(words, pickle.HIGHEST_PROTOCOL)
    line.sendall(LENGTH.pack(len(data)) + data)


def _receive(line: socket.socket) -> Any:
    head = _exactly(line, LENGTH.size)
    if head is None:
        return None
    body = _exactly(line, LENGTH.unpack(head)[0])
    return None if body is None else pickle.loads(body)


def _exactly(line: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        more = line.recv(size - len(data))
        if not more:
            return None
        data += more
    return bytes(data)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
