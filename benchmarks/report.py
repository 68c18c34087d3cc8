"""Run the benchmarks one after the other and write benchmarks/RESULTS.md.

    python benchmarks/report.py [--full [SCRIPT …]] [--out PATH]

For a quiet machine. One that fails has its section say so, and the others still run; the exit code tells.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = ["neardup", "numpy", "numba", "llvmlite", "pyarrow", "msgspec", "mmh3"]
# What is run, whether it knows --full, and a heading where it prints none of its own.
SECTIONS = [
    ("peers.py", True, ""),
    ("scale.py", True, ""),
    ("ugly.py", False, ""),
    ("kernels.py", False, "## Kernels"),
    ("startup.py", False, "## Starting and stopping"),
]


def machine() -> str:
    """The processor, memory, kernel and versions. The load tells whether the machine was quiet."""
    model = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    flags = next((line.split() for line in _lines("/proc/cpuinfo") if line.startswith("flags")), [])
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return "\n".join([
        f"- processor: {model or platform.machine()}, {len(os.sched_getaffinity(0))} cores, {vectors}",
        f"- memory: {memory / 2**20:.1f} GiB",
        f"- system: {platform.system()} {platform.release()}, Python {platform.python_version()}",
        f"- versions: {versions}",
        f"- {time.strftime('%Y-%m-%d')}, load before the first run: {os.getloadavg()[0]:.2f}",
    ])  # fmt: skip


def section(script: Path, arguments: list[str], heading: str) -> tuple[str, bool]:
    """What a benchmark prints, below a heading, and whether it went well. Its progress goes to our stderr."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True)
    said = done.stdout.strip()
    if heading:
        said = f"{heading}\n\n" + (said if "\n|" in said else f"```\n{said}\n```")
    if done.returncode:
        said += f"\n\n**`{script.name}` ended with exit code {done.returncode}.**"
    return f"{said}\n\n({script.name}: {time.perf_counter() - began:,.0f} s)\n", done.returncode == 0


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--full", nargs="*", metavar="SCRIPT", help="the slow parts too, of these scripts or of all")
    asked.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = asked.parse_args()
    full = [name for name, knows_full, _ in SECTIONS if knows_full and options.full is not None]
    full = options.full or full
    parts = [
        "# Measured\n",
        f"Written by `python benchmarks/report.py{' '.join(['', '--full', *full]) if full else ''}`. Times depend on "
        "the machine and on its mood; ratios, which were measured in turns, less so.\n",
        machine() + "\n",
    ]
    well = True
    for name, _, heading in SECTIONS:
        if (HERE / name).exists():
            print(f"== {name}", file=sys.stderr)
            said, went_well = section(HERE / name, ["--full"] if name in full else [], heading)
            parts.append(said)
            well &= went_well
            options.out.write_text("\n".join(parts), encoding="utf-8")
    return not well


if __name__ == "__main__":
    sys.exit(main())
