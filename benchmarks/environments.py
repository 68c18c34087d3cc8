"""The peers by their names for pip, each in a virtual environment of its own below build/bench/peers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from measure import Failed, cost_of
from ours import BUILD

# The releases that were measured for the goals.
PACKAGES: dict[str, list[str]] = {
    "datasketch": ["datasketch==2.0.0", "xxhash==4.1.0"],
    "rensa": ["rensa==0.5.0", "numpy"],
    "gaoya": ["gaoya==0.2.2", "numpy"],
    "FastSketchLSH": ["FastSketchLSH==1.0.1", "numpy"],
    "text-dedup": ["text-dedup==0.4.1"],
    "datatrove": ["datatrove[processing,io]==0.10.1", "spacy==3.8.18"],
}
OLDEST_PYTHON = {"text-dedup": (3, 12)}


def installed(package: str) -> Path:
    """The Python of a package's own virtual environment, made when it is missing or was made for other releases."""
    folder = BUILD / "peers" / package
    wanted = "\n".join(PACKAGES[package])
    record = folder / "requirements"
    python = folder / "bin" / "python"
    if not record.exists() or record.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"installing {' '.join(PACKAGES[package])}", file=sys.stderr)
        maker = python_since(OLDEST_PYTHON.get(package, (3, 11)))
        if maker is None:
            raise Failed(f"needs Python {'.'.join(map(str, OLDEST_PYTHON[package]))}, and none was found")
        cost_of([maker, "-m", "venv", folder])
        cost_of([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES[package]])
        record.write_text(wanted)
    return python


def python_since(version: tuple[int, ...]) -> str | None:
    """A Python of at least this version: the running one, or one by its name."""
    if sys.version_info >= version:
        return sys.executable
    named = [f"python3.{minor}" for minor in range(version[1], 20)]
    pyenv = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin/python3"))
    for candidate in [*named, *map(str, pyenv)]:
        code = f"import sys, venv; sys.exit(sys.version_info < {version})"
        try:
            if subprocess.run([candidate, "-c", code], capture_output=True).returncode == 0:
                return candidate
        except OSError:
            continue
    return None


def version_of(package: str) -> str:
    code = f"from importlib.metadata import version; print(version('{package}'))"
    python = BUILD / "peers" / package / "bin" / "python"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
