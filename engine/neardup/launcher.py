"""The bare launcher of workers: standard library only, started before anything heavy, run as a file of its own.

Why a process for this: a screen that has captured stderr cannot start processes itself (its stderr has no file
number), workers must not outlive their owner whatever kills it, and somebody has to reap them. The launcher does
the three: it starts what it is told to on its standard input, and at the end of that input it kills all that it
started, removes the folder of the sockets, and goes.

One JSON object a line. In: {"start": [argument, ...], "environment": {...}}, {"kill": pid} or {"pause": true|false}.
Out: {"started": pid} or {"failed": reason} in answer to each start, {"gone": pid, "code": n} when one ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path


class Launcher:
    """The owner's end: `folder` is a private directory for sockets, `process` the launcher itself."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process = process
        self.folder = folder

    @classmethod
    def start(cls) -> Launcher:
        """Start one; takes about 20 ms, and nothing of it stays in this process. OSError where none can start."""
        folder = Path(tempfile.mkdtemp(prefix="neardup-"))
        try:
            process = subprocess.Popen(
                # -I -S: neither the user's site-packages nor the working directory have a say in it.
                [sys.executable, "-I", "-S", __file__, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # ctrl+c in the terminal is for the owner, who then stops the workers
            )
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(process, folder)

    def send(self, order: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()

    def pause(self, paused: bool) -> None:
        """Stop all that it started where it is, or let it go on."""
        with contextlib.suppress(OSError):
            self.send({"pause": paused})

    def close(self) -> None:
        """End the launcher and all that it started; safe to call twice."""
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def serve(folder: str) -> None:
    children: dict[int, subprocess.Popen[bytes]] = {}
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)  # it goes when its owner goes, and not before
    pending = b""
    try:
        while True:
            ready, _, _ = select.select([0, wake], [], [])
            if wake in ready:
                os.read(wake, 4096)
                for pid, child in list(children.items()):
                    if child.poll() is not None:
                        del children[pid]
                        _say({"gone": pid, "code": child.returncode})
            if 0 in ready:
                data = os.read(0, 65536)
                if not data:
                    return
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    _obey(json.loads(line), children)
    finally:
        for child in children.values():
            with contextlib.suppress(OSError):
                child.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _obey(order: dict[str, object], children: dict[int, subprocess.Popen[bytes]]) -> None:
    if "pause" in order:
        for child in children.values():
            child.send_signal(signal.SIGSTOP if order["pause"] else signal.SIGCONT)
        return
    if "kill" in order:
        child = children.get(order["kill"])  # type: ignore[call-overload]
        if child is not None:
            child.kill()
        return
    try:
        started = subprocess.Popen(
            order["start"],  # type: ignore[call-overload]
            env={**os.environ, **order.get("environment", {})},  # type: ignore[dict-item]
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a worker's words travel by its socket; its stderr could hold text
            restore_signals=True,
        )
    except OSError as error:
        _say({"failed": error.strerror or str(error)})
        return
    children[started.pid] = started
    _say({"started": started.pid})


def _say(words: dict[str, object]) -> None:
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(words).encode() + b"\n")


if __name__ == "__main__":
    serve(sys.argv[1])
