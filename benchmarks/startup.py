"""How long until neardup answers: `--version`, the first paint of the app, stopping a run, and the first run of all.

    python benchmarks/startup.py        medians of five, in a real pseudo-terminal of 80x24
"""

from __future__ import annotations

import os
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ptyprocess import PtyProcess

TIMES = 5
NEARDUP = [sys.executable, "-m", "neardup_tui"]


def version() -> float:
    began = time.perf_counter()
    subprocess.run([*NEARDUP, "--version"], check=True, capture_output=True)
    return time.perf_counter() - began


def first_paint(example: Path) -> tuple[float, float]:
    """Seconds until the tabs stand on the screen, and until the rows are loaded."""
    began = time.perf_counter()
    app = PtyProcess.spawn([*NEARDUP, str(example)], dimensions=(24, 80))
    painted = loaded = 0.0
    seen = b""
    while not loaded:
        if select.select([app.fd], [], [], 60)[0]:
            seen += os.read(app.fd, 65536)
        text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", seen)
        if not painted and b"6 Export" in text:
            painted = time.perf_counter() - began
        if b"loaded " in text:
            loaded = time.perf_counter() - began
    app.write(b"q")
    app.wait()
    return painted, loaded


def stopping(example: Path) -> float:
    """Seconds from ctrl+c to the end of a headless run with all that it started; it is at its signatures then."""
    run = subprocess.Popen(
        [*NEARDUP, "run", str(example), "--quiet", "--num-perm", "4096"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(3)
    began = time.perf_counter()
    run.send_signal(signal.SIGINT)
    assert run.wait() == 130
    return time.perf_counter() - began


def compiling(example: Path, folder: Path) -> float:
    """Seconds of a run that finds no compiled kernels: they are compiled once a machine."""
    began = time.perf_counter()
    subprocess.run(
        [*NEARDUP, "run", str(example), "--quiet"], check=True, env={**os.environ, "XDG_CACHE_HOME": str(folder)}
    )
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.jsonl", Path(folder) / "large.jsonl"
        for path, count in ((small, 1_000), (large, 200_000)):
            path.write_bytes(subprocess.run([*NEARDUP, "example", str(count)], check=True, capture_output=True).stdout)
        subprocess.run([*NEARDUP, "run", str(small), "--quiet"], check=True)  # kernels are compiled by now
        first = compiling(small, Path(folder) / "cache")
        versions = [version() for _ in range(TIMES)]
        paints = [first_paint(small) for _ in range(TIMES)]
        stops = [stopping(large) for _ in range(TIMES)]
    print(f"neardup --version            {statistics.median(versions):.2f} s")
    print(f"first paint of the app       {statistics.median(paint for paint, _ in paints):.2f} s")
    print(f"1,000 rows loaded in the app {statistics.median(loaded for _, loaded in paints):.2f} s")
    print(f"ctrl+c to the end of a run   {statistics.median(stops):.2f} s")
    print(f"the first run of all         {first:.1f} s, compiling its kernels")


if __name__ == "__main__":
    main()
