"""What the tests share: one private cache, and where the corpora lie."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
SHARED = PROJECT.parent / "shared"

# Kernels are compiled once for all runs of the suite; run directories and settings are this suite's own.
# Set here and not in a fixture: neardup's processes inherit it, and so do modules that are imported at collection.
_KERNELS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
_PRIVATE = tempfile.TemporaryDirectory(prefix="neardup-tests-")
os.environ["XDG_CACHE_HOME"] = _PRIVATE.name + "/cache"
os.environ["XDG_CONFIG_HOME"] = _PRIVATE.name + "/config"
os.environ["XDG_DATA_HOME"] = _PRIVATE.name + "/data"
os.environ["XDG_STATE_HOME"] = _PRIVATE.name + "/state"


def pytest_configure(config: pytest.Config) -> None:
    """This process is prepared like the app's and the workers', so that all of them share one cache of kernels."""
    from neardup.compiled import load, prepare

    ours = Path(_PRIVATE.name) / "cache" / "neardup"
    ours.mkdir(parents=True, exist_ok=True)
    shared = _KERNELS / "neardup" / "kernels"
    shared.mkdir(parents=True, exist_ok=True)
    (ours / "kernels").symlink_to(shared, target_is_directory=True)
    prepare(ours / "kernels")
    if hasattr(config, "workerinput"):  # one of several processes that share the tests: the first has compiled
        load(ours / "kernels" / "lock")
        return
    # Two processes share the compiling, as two workers do: they meet in the middle.
    other = "from sys import argv; from pathlib import Path; from neardup.compiled import load, prepare; "
    other += "prepare(Path(argv[1])); load(Path(argv[1]) / 'lock', backwards=True)"
    with subprocess.Popen([sys.executable, "-c", other, str(ours / "kernels")]):
        load(ours / "kernels" / "lock")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The real corpora with their exact pair lists, which are no part of the project."""
    if not (SHARED / "corpora").is_dir():
        pytest.skip("the corpora (../shared/corpora) are not on this machine")
    return SHARED / "corpora"
