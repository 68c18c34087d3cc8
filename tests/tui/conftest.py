"""The app with a small engine of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

import pytest

import neardup
from neardup.sources.corpus import Reading
from neardup_tui.screen import NeardupApp
from neardup_tui.session import Engine
from tui.fakes import FakeEngine, small_corpus

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")  # as the app has it


@pytest.fixture
async def engine() -> FakeEngine:
    return FakeEngine({"tickets.csv": small_corpus()})


@pytest.fixture
def make_app(engine: FakeEngine) -> Callable[..., NeardupApp]:
    def make(*paths: str, reading: Reading | None = None) -> NeardupApp:
        return NeardupApp(paths, reading, engine=lambda: engine)

    return make


@pytest.fixture
def real_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NeardupApp]:
    """The app over the real engine, without worker processes, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def make(*paths: str, reading: Reading | None = None) -> NeardupApp:
        def engine() -> AbstractAsyncContextManager[Engine]:
            return cast("AbstractAsyncContextManager[Engine]", neardup.Engine(workers=0, run_dir=tmp_path / ".run"))

        return NeardupApp(paths, reading, engine=engine)

    return make
