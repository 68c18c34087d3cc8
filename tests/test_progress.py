"""The line of a headless run that tells how far it is."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup import StageStarted
from neardup_tui.progress import Progress, left


class _Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


@given(
    done=st.integers(0, 10**12),
    total=st.integers(0, 10**12),
    seconds=st.floats(0, 10**6),
    columns=st.integers(10, 200),
)
def test_the_line_never_wraps(done: int, total: int, seconds: float, columns: int) -> None:
    progress = Progress(stream=_Terminal())
    progress(StageStarted("signatures", 2, 5, total, "rows"))
    assert len(progress.line(done, total, seconds, columns)) <= columns


def test_the_line_says_the_stage_the_share_the_count_and_the_time_left() -> None:
    progress = Progress(stream=_Terminal())
    progress(StageStarted("verify", 4, 5, 1_000_000, "pairs"))
    line = progress.line(612_400, 1_000_000, 22.1, 79)
    bar = line.count("━") + line.count("╌")
    assert line == " 4/5 verify " + ("━" * int(0.6124 * bar)).ljust(bar, "╌") + (
        "  61 %  612,400 of 1,000,000 pairs  0:14 left"
    )
    assert len(line) == 79 and bar >= 20


@pytest.mark.parametrize(
    ("share", "seconds", "shown"),
    [(0.5, 0.5, ""), (0.5, 10, "  0:10 left"), (0.01, 60, "  1:39:00 left"), (1.0, 9, ""), (0.0, 9, "")],
)
def test_the_time_left_goes_on_as_it_went(share: float, seconds: float, shown: str) -> None:
    assert left(share, seconds) == shown


@pytest.mark.parametrize(("term", "quiet"), [("dumb", False), ("xterm", True)])
def test_nothing_is_drawn_where_it_cannot_be_or_must_not(
    term: str, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    stream = _Terminal()
    progress = Progress(quiet, stream)
    progress(StageStarted("verify", 4, 5, 100, "pairs"))
    progress.clear()
    assert stream.getvalue() == ""
    progress.warn("a warning")
    progress.warn("a warning")
    assert stream.getvalue() == "neardup: warning: a warning\n"
