"""The arrows of docs/architecture.md: who imports whom, and what an import loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENGINE = ROOT / "engine" / "neardup"
APP = ROOT / "neardup_tui"

GROUND = {"settings", "errors", "events", "pulse", "ragged", "results", "sizes", "sources.corpus"}
RUNNING = {"store", "runs", "memory", "watch", "compiled", "budget"}

# What each layer may import of neardup, itself and the ground always included.
MAY_IMPORT: dict[str, set[str]] = {
    **{module: set() for module in GROUND},
    "ragged": {"kernels"},  # its `take` copies by one, loaded when first asked
    "kernels": set(),
    "sources": {"kernels"},
    "stages": {"kernels", "sources"},
    "curve": set(),
    "summary": {"curve", "exports"},
    "exports": {"summary", "sources"},
    "store": set(),
    "runs": {"store"},
    "cache": {"runs", "compiled"},
    "memory": set(),
    "watch": set(),
    "compiled": {"kernels"},
    "exchange": {"kernels", "store"},
    "budget": set(),
    "needs": {"budget"},
    "tasks": {"stages", "sources", "store", "runs", "exchange"},
    "artifacts": {"tasks", "store"},
    "joining": {"artifacts", "runs", "stages", "store", "tasks", "work"},
    "worker": {*RUNNING, "tasks", "kernels"},
    "launcher": set(),
    "backends": {*RUNNING, "launcher", "worker", "exchange"},
    "single": {*RUNNING, "stages"},
    "work": {*RUNNING, "backends"},
    "pipeline": {
        *RUNNING, "work", "tasks", "stages", "sources", "curve", "backends", "exchange", "needs", "artifacts",
        "joining",
    },
    "engine": {*RUNNING, "cache", "pipeline", "work", "tasks", "sources", "curve", "backends", "launcher"},
}
# What the app and the command line may name: the face, and the pages that hold plain values and doors.
FACE = {"", *GROUND, "sources", "exports", "summary", "curve", "single", "cache"}

SCREEN = {"textual", "rich", "click", "plotext", "tomlkit", "neardup_tui"}


def modules(package: Path) -> list[Path]:
    return sorted(path for path in package.rglob("*.py"))


def named(path: Path) -> str:
    """`stages.bands` for engine/neardup/stages/bands.py; the face is the empty name."""
    parts = path.relative_to(ENGINE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


ENGINE_MODULES = {named(path) for path in modules(ENGINE)}


def imports(path: Path) -> set[str]:
    """Every module that the file names in an import, also inside a function; relative ones are not written here."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                is_module = node.module is not None and whole.removeprefix("neardup.") in ENGINE_MODULES
                found.add(whole if is_module else str(node.module))
    return found


def of_neardup(path: Path) -> set[str]:
    return {name.partition(".")[2] for name in imports(path) if name.partition(".")[0] == "neardup"}


def layer(module: str) -> str:
    return module if module in GROUND else module.partition(".")[0]


@pytest.mark.parametrize("path", modules(ENGINE), ids=lambda path: named(path) or "neardup")
def test_a_module_of_the_engine_imports_only_layers_below_its_own(path: Path) -> None:
    own = layer(named(path))
    if own == "":
        return  # the face names everything, and loads it when asked
    assert own in MAY_IMPORT, f"{own} has no place in the drawing yet: docs/architecture.md and this table"
    allowed = MAY_IMPORT[own] | GROUND | {own}
    assert {layer(module) for module in of_neardup(path)} <= allowed


@pytest.mark.parametrize("path", modules(ENGINE), ids=lambda path: named(path) or "neardup")
def test_the_engine_never_imports_a_screen(path: Path) -> None:
    assert not {name.partition(".")[0] for name in imports(path)} & SCREEN


@pytest.mark.parametrize("path", modules(ENGINE / "kernels"), ids=named)
def test_a_kernel_knows_numpy_and_numba_alone(path: Path) -> None:
    allowed = {"numpy", "numba", "llvmlite", "neardup", *sys.stdlib_module_names}  # llvmlite: numba's own half
    assert {name.partition(".")[0] for name in imports(path)} <= allowed
    assert {layer(module) for module in of_neardup(path)} <= {"kernels"}


@pytest.mark.parametrize("path", modules(APP), ids=lambda path: str(path.relative_to(APP)))
def test_the_app_imports_the_face_of_the_engine_only(path: Path) -> None:
    assert of_neardup(path) <= FACE


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in memory after the statement, in a process of its own."""
    code = f"{statement}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("name", ["textual", "rich", "click", "numba", "llvmlite", "pyarrow", "neardup_tui"])
def test_importing_the_library_does_not_load(name: str) -> None:
    assert name not in loaded_by("import neardup")


@pytest.mark.parametrize("name", ["textual", "rich", "numba", "numpy", "pyarrow"])
def test_the_command_line_answers_without_loading(name: str) -> None:
    assert name not in loaded_by("import neardup_tui.cli")


@pytest.mark.parametrize("name", ["textual", "rich", "click", "numba", "neardup_tui"])
def test_importing_the_engine_itself_does_not_load(name: str) -> None:
    assert name not in loaded_by("from neardup import Engine, Settings, Finished, find_duplicates")
