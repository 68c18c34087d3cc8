"""Two texts beside each other, wrapped, with what differs marked: reverse, or `{ }` where there is no colour."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from neardup_tui.keys import bindings
from neardup_tui.widgets.cells import count, fitted, prefix, safe

# Scripts that are written without blanks, of wide letters: each letter is compared, and a line may break after it.
_LETTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# A word or one other character, with the white space after it.
_TOKEN = re.compile(rf"(?:[{_LETTERS}]|[^\W{_LETTERS}]+|[^\w\s])\s*")
# difflib is quadratic where words repeat; a gap of this many word pairs takes it a tenth of a second at worst.
_MOST_WORD_PAIRS = 250_000
# Gaps within gaps; texts that people write have three or four of them.
_MOST_DEEP = 50
# Texts up to this many characters are compared on the spot: about 5 ms.
_AT_ONCE = 4_000
# Nobody reads further; what lies beyond is told.
MOST_READ = 200_000


# What differs

@dataclass(frozen=True, slots=True)
class Difference:
    """Characters left[0] to left[1] of the one text stand where right[0] to right[1] of the other do."""

    left: tuple[int, int]
    right: tuple[int, int]


def differences(left: str, right: str) -> list[Difference]:
    """What differs between two texts, word by word, in their order; white space alone is no difference.

    Words that both texts hold exactly once anchor the comparison (patience diff), so that only the gaps between them
    go to difflib, and texts of any size take time in proportion; a gap too large for it differs as a whole.
    """
    one, other = _Words.of(left), _Words.of(right)
    found = []
    for a, b, c, d in _blocks(one.words, other.words, 0, len(one.words), 0, len(other.words)):
        # A word that only one side has takes its blank with it: not so a comma, nor words that stand for each other.
        whole = a == b or c == d
        found.append(Difference(one.span(a, b, whole), other.span(c, d, whole)))
    return found


@dataclass(frozen=True, slots=True)
class _Words:
    words: list[str]
    starts: list[int]
    text: str

    @classmethod
    def of(cls, text: str) -> _Words:
        found = list(_TOKEN.finditer(text))
        return cls([match[0].rstrip() for match in found], [match.start() for match in found], text)

    def span(self, first: int, stop: int, with_blank: bool) -> tuple[int, int]:
        if first == stop:
            at = self.starts[first] if first < len(self.starts) else len(self.text)
            return at, at
        start = self.starts[first]
        end = self.starts[stop - 1] + len(self.words[stop - 1])
        if with_blank and stop < len(self.starts) and not self.text[:start][-1:].strip():
            end = self.starts[stop]
        return start, end


def _blocks(
    left: list[str], right: list[str], a: int, b: int, c: int, d: int, deep: int = 0
) -> Iterator[tuple[int, int, int, int]]:
    """(a, b, c, d): left[a:b] stands where right[c:d] does, and they differ."""
    while a < b and c < d and left[a] == right[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and left[b - 1] == right[d - 1]:
        b, d = b - 1, d - 1
    if a == b or c == d:
        if a < b or c < d:
            yield a, b, c, d
        return
    anchors = _anchors(left, right, a, b, c, d) if deep < _MOST_DEEP else []
    if anchors:
        for x, y in anchors:
            yield from _blocks(left, right, a, x, c, y, deep + 1)
            a, c = x + 1, y + 1
        yield from _blocks(left, right, a, b, c, d, deep + 1)
    elif (b - a) * (d - c) > _MOST_WORD_PAIRS:
        yield a, b, c, d
    else:
        matcher = SequenceMatcher(None, left[a:b], right[c:d], autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag != "equal":
                yield a + i, a + j, c + k, c + m


def _anchors(left: list[str], right: list[str], a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
    """Positions of the words that both hold once, the most of them that stand in the same order."""
    once_left = {word for word, times in Counter(left[a:b]).items() if times == 1}
    once = {word for word, times in Counter(right[c:d]).items() if times == 1 and word in once_left}
    at_right = {right[y]: y for y in range(c, d) if right[y] in once}
    pairs = [(x, at_right[left[x]]) for x in range(a, b) if left[x] in once]
    # Longest increasing subsequence of the right positions, by patience sorting.
    tops: list[int] = []
    piles: list[int] = []
    before = [-1] * len(pairs)
    for index, (_, y) in enumerate(pairs):
        pile = bisect_left(tops, y)
        before[index] = piles[pile - 1] if pile else -1
        tops[pile : pile + 1], piles[pile : pile + 1] = [y], [index]
    chain = []
    index = piles[-1] if piles else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


# How it is laid out

Run = tuple[str, int]
"""Safe text, and the number of the difference it belongs to; -1: the other side has it too."""

_ATOM = re.compile(
    rf"(?P<end>\r\n|\n|\r)|(?P<blank>[^\S\r\n]+)|(?P<letter>[{_LETTERS}])|(?P<word>[^\s{_LETTERS}]+)"
)


@dataclass(frozen=True, slots=True)
class Laid:
    """A text in lines of at most `width` cells; `at[i]` is the line on which difference i begins."""

    lines: list[list[Run]]
    at: list[int]


def laid_out(text: str, spans: Sequence[tuple[int, int]], width: int, braces: bool = False) -> Laid:
    """Wrap at blanks, keep the text's own line ends, mark the spans; a span without characters only has its place."""
    page = _Page(max(1, width))
    at: list[int] = []
    done = 0
    for number, (start, stop) in enumerate(spans):
        page.put(text[done:start], -1)
        if start < stop:
            page.put("{" * braces + text[start:stop] + "}" * braces, number)
        at.append(number if start < stop else ~page.line)
        done = stop
    page.put(text[done:], -1)
    page.end_word()
    return Laid(page.lines, [page.began.get(place, 0) if place >= 0 else ~place for place in at])


class _Page:
    def __init__(self, width: int) -> None:
        self.lines: list[list[Run]] = [[]]
        self.began: dict[int, int] = {}
        self._width = width
        self._used = 0
        self._word: list[Run] = []  # what stands without a blank between, so far; it goes on one line if it fits

    @property
    def line(self) -> int:
        return len(self.lines) - 1

    def put(self, text: str, number: int) -> None:
        for atom in _ATOM.finditer(text):
            if atom["word"]:
                self._word.append((safe(atom["word"]), number))
                continue
            self.end_word()
            if atom["end"]:
                self._new_line()
            elif atom["letter"]:
                self._put_run(atom["letter"], number)
            else:
                self._put_blank(safe(atom["blank"]), number)

    def end_word(self) -> None:
        size = sum(cell_len(text) for text, _ in self._word)
        if self._used and self._used + size > self._width:
            self._new_line()
        for text, number in self._word:
            self._put_run(text, number)
        self._word = []

    def _put_blank(self, blank: str, number: int) -> None:
        # Blanks at which a line is broken go away; those that begin a line of the text stay.
        if self._used + len(blank) < self._width:
            self._put_run(blank, number)
        else:
            self._used = self._width

    def _put_run(self, text: str, number: int) -> None:
        while text:
            fits, cells = prefix(text, self._width - self._used)
            if not fits:
                if not self._used:  # a wide letter, and one cell
                    return
                self._new_line()
                continue
            self.began.setdefault(number, self.line)
            line = self.lines[-1]
            if line and line[-1][1] == number:
                line[-1] = (line[-1][0] + fits, number)
            else:
                line.append((fits, number))
            self._used += cells
            text = text[len(fits) :]

    def _new_line(self) -> None:
        self.lines.append([])
        self._used = 0


# The widget

@dataclass(frozen=True, slots=True)
class Side:
    """A text, and the words above it that say what it is."""

    head: str
    text: str


@dataclass(frozen=True, slots=True)
class _Part:
    """Where one side stands on the screen."""

    side: int
    x: int
    y: int
    width: int
    height: int


class SideBySide(Widget, can_focus=True):
    """Two texts. `compare` shows them, their first difference in sight; n N go from one to the next, each side to its
    own line.

    `alone` draws the right text only, with what differs from the left one marked.
    """

    DEFAULT_CSS = """
    SideBySide {
        height: 1fr;
        & .side--head { color: $text-muted; }
        & .side--same { color: $text; }
        & .side--differs { text-style: reverse; }
        & .side--here { text-style: reverse bold; color: $accent; }
        & .side--rule { color: $text-disabled; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "side--head", "side--same", "side--differs", "side--here", "side--rule",
    }
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("texts", without=("zoom", "cluster"))]

    alone: reactive[bool] = reactive(False)
    heads: reactive[bool] = reactive(True)
    braces: reactive[bool] = reactive(False)
    top: reactive[int] = reactive(0)
    difference: reactive[int] = reactive(-1)

    class Compared(Message):
        """So many differences were found between the two texts."""

        def __init__(self, view: SideBySide, count: int) -> None:
            super().__init__()
            self.view = view
            self.count = count

    def __init__(self, *, alone: bool = False, heads: bool = True, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(SideBySide.alone, alone)
        self.set_reactive(SideBySide.heads, heads)
        self._words = ""  # what stands there instead of texts
        self._sides: tuple[Side, Side] | None = None
        self._found: list[Difference] | None = None
        self._laid: tuple[Laid, Laid] | None = None
        self._apart = 0  # so much further the right text is scrolled than the left one

    # What it shows

    def compare(self, left: Side, right: Side) -> None:
        if self._sides == (left, right):
            return
        texts_stay = self._sides is not None and (self._sides[0].text, self._sides[1].text) == (left.text, right.text)
        self._sides = (left, right)
        if not texts_stay:
            self._found, self._laid, self._apart = None, None, 0
            self.set_reactive(SideBySide.top, 0)
            self.set_reactive(SideBySide.difference, -1)
            self._lay_out()
        self.refresh()

    def clear(self, words: str = "") -> None:
        """No texts: `words` stand there."""
        self.workers.cancel_group(self, "compare")
        self._sides, self._found, self._laid, self._words = None, None, None, words
        self.refresh()

    def on_mount(self) -> None:
        self.braces = self.app.no_color

    def on_resize(self) -> None:
        self._lay_out()

    def watch_alone(self) -> None:
        self._lay_out()

    watch_braces = watch_alone

    def _lay_out(self) -> None:
        """Compare and wrap: on the spot where that takes some milliseconds, else in a thread."""
        if self._sides is None or not self.size.width:
            return
        left, right = (side.text[:MOST_READ] for side in self._sides)
        job = _Job(left, right, self._found, self._width_of_a_side, self.braces)
        if len(job.left) + len(job.right) <= _AT_ONCE:
            self.workers.cancel_group(self, "compare")
            self._take(*job.done())
        else:
            self.run_worker(self._lay_out_later(job), group="compare", exclusive=True, exit_on_error=False)

    async def _lay_out_later(self, job: _Job) -> None:
        self._take(*await asyncio.to_thread(job.done))

    def _take(self, found: list[Difference], left: Laid, right: Laid) -> None:
        first = self._found is None
        self._found, self._laid = found, (left, right)
        self.refresh()
        if first:
            self._show_difference(only_if_out_of_sight=True)
            self.post_message(self.Compared(self, len(found)))

    # Moving

    def validate_top(self, top: int) -> int:
        if self._laid is None:
            return 0
        left, right = (len(laid.lines) - self._room for laid in self._laid)
        least = 0 if self.alone else min(0, -self._apart)
        most = max(right - self._apart, least if self.alone else left, least)
        return max(least, min(top, most))

    def action_scroll_lines(self, lines: int) -> None:
        self.top += lines

    def action_scroll_page(self, pages: int) -> None:
        self.top += pages * self._room

    def action_scroll_top(self) -> None:
        self._apart = 0
        self.top = 0

    def action_scroll_bottom(self) -> None:
        self.top = 2 * MOST_READ

    def action_step_difference(self, step: int) -> None:
        """To the next or previous difference, round at the ends; both sides show theirs on the same height."""
        if self._laid is None or not self._found:
            return
        start = -1 if step > 0 else 0
        self.difference = ((self.difference if self.difference >= 0 else start) + step) % len(self._found)
        self._show_difference()
        self.refresh()

    def _show_difference(self, *, only_if_out_of_sight: bool = False) -> None:
        """Scroll so that both sides show the difference, the first if none was stepped to, on the same height."""
        if self._laid is None or not self._found:
            return
        left, right = (laid.at[max(0, self.difference)] for laid in self._laid)
        fits = all(len(laid.lines) <= self._room for laid in self._laid)
        in_sight = fits or (only_if_out_of_sight and max(right, 0 if self.alone else left) < self._room)
        self._apart = 0 if in_sight or self.alone else right - left
        self.top = 0 if in_sight else (right if self.alone else left) - self._room // 3

    # Drawing

    @property
    def _stacked(self) -> bool:
        return self.size.width < 50

    @property
    def _width_of_a_side(self) -> int:
        return max(1, self.size.width - 2 if self.alone or self._stacked else (self.size.width - 1) // 2 - 2)

    @property
    def _parts(self) -> list[_Part]:
        width, height = self.size
        if self.alone:
            return [_Part(1, 0, 0, width, height)]
        if self._stacked:
            return [_Part(0, 0, 0, width, height // 2), _Part(1, 0, height // 2, width, height - height // 2)]
        half = (width - 1) // 2
        return [_Part(0, 0, 0, half, height), _Part(1, half + 1, 0, width - half - 1, height)]

    @property
    def _room(self) -> int:
        """Lines of text that a side shows."""
        return max(1, min(part.height for part in self._parts) - self.heads)

    def render_line(self, y: int) -> Strip:
        line = Text(no_wrap=True, end="")
        if self._sides is None:
            line.append(fitted(" " + self._words if y == 0 else "", self.size.width), self._style("head"))
        else:
            for part in self._parts:
                if part.y <= y < part.y + part.height:
                    if part.x:
                        line.append("│", self._style("rule"))
                    line.append_text(self._line_of(part, y - part.y))
        strip = Strip(line.render(self.app.console)).apply_style(self.rich_style)
        return strip.adjust_cell_length(self.size.width, self.rich_style)

    def _line_of(self, part: _Part, y: int) -> Text:
        assert self._sides is not None
        side = self._sides[part.side]
        text = Text(" ")
        if y < self.heads:
            text.append(safe(side.head), self._style("head"))
        elif self._laid is None:
            text.append("comparing …" if y == self.heads else "", self._style("head"))
        else:
            lines = self._laid[part.side].lines
            top = max(0, min(self.top + self._apart * part.side, len(lines) - self._room))
            at = top + y - self.heads
            if at < len(lines):
                for words, number in lines[at]:
                    text.append(words, self._style_of(number))
            elif at == len(lines) and len(side.text) > MOST_READ:
                text.append(f"… {count(len(side.text) - MOST_READ)} characters more", self._style("head"))
        text.truncate(part.width, overflow="ellipsis", pad=True)
        return text

    def _style_of(self, number: int) -> Style:
        if number < 0:
            return self._style("same")
        return self._style("here" if number == self.difference else "differs")

    def _style(self, part: str) -> Style:
        return self.get_component_rich_style(f"side--{part}")


@dataclass(frozen=True, slots=True)
class _Job:
    """All that comparing and wrapping need, so that it can be done in a thread."""

    left: str
    right: str
    found: list[Difference] | None
    width: int
    braces: bool

    def done(self) -> tuple[list[Difference], Laid, Laid]:
        found = differences(self.left, self.right) if self.found is None else self.found
        return (
            found,
            laid_out(self.left, [one.left for one in found], self.width, self.braces),
            laid_out(self.right, [one.right for one in found], self.width, self.braces),
        )
