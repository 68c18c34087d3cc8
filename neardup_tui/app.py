"""Open the app. Everything that must be decided before Textual is imported is decided here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from neardup import Launcher, Reading, Settings


def open_app(
    paths: Sequence[str] = (),
    reading: Reading | None = None,
    settings: Settings | None = None,
    workers: int | None = None,
) -> int:
    """Run the app until the user leaves; the exit code of the command line.

    2 without a terminal, 1 after an error nobody foresaw (one line on stderr that holds no document text),
    129 hung up, 130 left by ctrl+c twice, 143 terminated.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print("neardup: the app needs a terminal; `neardup run PATH --out CLEAN` does the same job without one",
              file=sys.stderr)
        return 2
    # A bare process, started before anything heavy: inside the running app no process can be started (its stderr is
    # captured and has no file number), so this one starts the workers, after the first paint.
    launcher: Launcher | None = None
    with suppress(OSError):
        launcher = Launcher.start()
    try:
        over_ssh = prepare_environment()
        from neardup_tui.screen import NeardupApp

        app = NeardupApp(tuple(paths), reading or Reading(), settings or Settings(), workers, launcher)
        # A dropped connection would leave the terminal reporting every move of the mouse.
        app.run(mouse=not over_ssh)
    finally:
        if launcher is not None:
            launcher.close()
    if app.crash:
        print(f"neardup: {app.crash}", file=sys.stderr)
    return app.return_code or 0


def prepare_environment() -> bool:
    """Set what Textual reads once, at its import; True over SSH."""
    over_ssh = bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    # Exported by some shells, and by GNU readline: Textual believes them, and would never see the terminal change.
    for stale in ("COLUMNS", "LINES"):
        os.environ.pop(stale, None)
    if over_ssh:
        # An arrow key whose bytes a slow link cuts apart must not arrive as esc and two letters.
        os.environ.setdefault("ESCDELAY", "250")
        os.environ.setdefault("TEXTUAL_FPS", "15")
    if os.environ.get("NO_COLOR"):
        # NO_COLOR alone leaves greys.
        os.environ.setdefault("TEXTUAL_THEME", "ansi-dark")
    return over_ssh
