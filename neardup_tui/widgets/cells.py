"""Numbers and texts as they stand on the screen, counted in terminal cells.

A document's text is somebody else's: no control character, escape sequence or direction mark of it may reach the
terminal, and no brackets of it may be read as markup. `safe` and `shown` are the only way texts get on the screen.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Literal

from rich.cells import cell_len, get_character_cell_size

Align = Literal["left", "right"]

CUT = "…"
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
# Hebrew with its accents needs three marks on a letter; hundreds of them would paint over the neighbouring lines.
_MARKS = 4
# How a terminal counts these depends on its age; left out, each emoji stands alone and all agree.
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_SELECTORS = {0x034F, 0x180F, *range(0x180B, 0x180E), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
_PLAIN = re.compile(r"[ -~]*")


class _Safe(dict[int, str]):
    """For `str.translate`: what each character becomes, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = became = self._became(code)
        return became

    @staticmethod
    def _became(code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character.isspace():
            return " "
        if code < 0x20:
            return chr(0x2400 + code)  # the picture of the control character: ␛ for escape
        if code == 0x7F:
            return "␡"
        if category == "Cf" or code in _SELECTORS or code in _SKIN_TONES:
            return ""
        if category in ("Cc", "Cs", "Cn", "Co"):
            return _UNREADABLE
        return character


_SAFE = _Safe()


def safe(text: str) -> str:
    """The text on one line, without what could act on the terminal: white space is a blank, a control character its
    picture, invisible format characters are gone; at most four combining marks stay on a letter, none without one."""
    if _PLAIN.fullmatch(text):
        return text
    kept: list[str] = []
    marks = _MARKS
    for character in text.translate(_SAFE):
        marks = 0 if get_character_cell_size(character) else marks + 1
        if marks <= _MARKS:
            kept.append(character)
    return "".join(kept)


def fitted(text: str, width: int, align: Align = "left") -> str:
    """A text that is safe already, in exactly `width` cells: filled with blanks, or cut and ended with `…`."""
    if width <= 0:
        return ""
    room = width - (len(text) if text.isascii() else cell_len(text))
    if room < 0:
        text, used = prefix(text, width - 1)
        return text + CUT + " " * (width - 1 - used)
    return " " * room + text if align == "right" else text + " " * room


def prefix(text: str, width: int) -> tuple[str, int]:
    """As much of a safe text as fits in `width` cells, with the marks of its last letter, and the cells it takes."""
    if text.isascii():
        return text[:width], min(len(text), width)
    used = 0
    for index, character in enumerate(text):
        size = get_character_cell_size(character)
        if used + size > width:
            return text[:index], used
        used += size
    return text, used


def shown(text: str, width: int, align: Align = "left") -> str:
    """A document's text, safe and in exactly `width` cells. Reads no more of a long text than can be seen."""
    # A cell can take a letter, its marks and characters that go away; sixteen of them are no text any more.
    return fitted(safe(text[: 16 * max(width, 0) + 16]), width, align)


def count(number: int) -> str:
    """1204 is 1,204."""
    return f"{number:,}"


def decimal(value: float, places: int = 3) -> str:
    """A share with a fixed number of places, rounded half to even as Python does; never 1 when it is less."""
    text = f"{value:.{places}f}"
    if value < 1 and float(text) >= 1:
        return f"{1 - 10**-places:.{places}f}"
    return text


def percent(share: float, places: int = 1) -> str:
    """0.998 is `99.8 %`. Only all is `100 %` and only nothing `0 %`: 99.96 % is not rounded up."""
    if not math.isfinite(share):
        return "-"
    if share in (0, 1):
        return f"{share:.0%}"[:-1] + " %"
    step = 10**-places
    return f"{min(max(100 * share, step), 100 - step):.{places}f} %"


def size(number: int) -> str:
    """Bytes as people read them, by thousands: 764 kB, 1.3 MB."""
    if number < 1000:
        return f"{number} B"
    value = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            break
    return f"{value:.0f} {unit}" if value >= 99.95 else f"{value:.1f} {unit}"


def seconds(value: float) -> str:
    """0.04 is `0.0 s`, 61 is `1:01`, 3700 is `1:01:40`."""
    if value < 59.95:
        return f"{value:.1f} s"
    return clock(value)


def clock(value: float) -> str:
    """For what changes while one looks: whole seconds, `0:14`."""
    whole = round(value)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
