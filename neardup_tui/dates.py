"""Times of the past as people say them."""

from __future__ import annotations

from datetime import datetime, timedelta

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")


def ago(at: float, now: float | None = None) -> str:
    """today 17:40, yesterday 17:40, 3 January 02:00, 8 July 2025 in another year; seconds since 1970, local time."""
    then = datetime.fromtimestamp(at)
    today = datetime.fromtimestamp(now) if now is not None else datetime.now()
    clock = f"{then:%H:%M}"
    if then.date() == today.date():
        return f"today {clock}"
    if then.date() == today.date() - timedelta(days=1):
        return f"yesterday {clock}"
    return f"{then.day} {MONTHS[then.month - 1]} {clock if then.year == today.year else then.year}"
