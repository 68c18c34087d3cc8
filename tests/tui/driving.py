"""Waiting for what the app does on its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.pilot import Pilot

from neardup_tui.screen import NeardupApp


async def until(pilot: Pilot[None], true: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until something is so; AssertionError when it never is."""
    for _ in range(round(seconds / 0.02)):
        if true():
            await pilot.pause()
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came about")


async def loaded(pilot: Pilot[None]) -> NeardupApp:
    """The app, once what it was given is read, or is not to be read."""
    app = pilot.app
    assert isinstance(app, NeardupApp)
    session = app.session
    await until(pilot, lambda: not session.busy and bool(session.corpus or session.unclear or session.notes))
    return app


async def ran(pilot: Pilot[None]) -> NeardupApp:
    """The app after `r`, with results."""
    app = await loaded(pilot)
    await pilot.press("r")
    await app.session.finished()
    assert app.session.result is not None, [note.text for note in app.session.notes]
    await pilot.pause()
    return app
