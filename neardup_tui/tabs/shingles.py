"""2 Shingles: what is compared. The settings, and what they make of the document marked in 1 Documents."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Static

from neardup import Corpus, Normalising, Settings, Shingling
from neardup.settings import MAX_SHINGLE
from neardup_tui.help import Page
from neardup_tui.keys import Hint, hint
from neardup_tui.messages import HintsChanged, RowHighlighted, SettingsChanged, Told
from neardup_tui.session import why
from neardup_tui.tabs.base import Tab
from neardup_tui.widgets.cells import count, safe
from neardup_tui.widgets.long_list import Cell, Column, LongList
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.setting_rows import Choice, Setting, SettingRows, Stepper, Switch, Value, switch

if TYPE_CHECKING:
    from neardup.single import SpelledShingle

SHORT = 14  # lines of the tab: below, the settings and the list have the room
RESTED = 0.08  # seconds: a document is read once the row has not changed for so long
MOST = 50_000  # characters of a document that are cut up for the screen; a run takes all of them

SWITCHES = (
    switch("drop_invisible", "drop invisible", True),
    Choice(name="unicode_form", label="Unicode form", default="nfc",
           options=(("none", "none"), ("nfc", "NFC"), ("nfkc", "NFKC"))),
    switch("fold_accents", "fold accents", False),
    switch("lower_case", "lower case", True),
    switch("drop_punctuation", "drop punctuation", False),
    switch("join_whitespace", "join white space", True),
)
MEANINGS = {
    "row": "The document that is shown below: the row marked in 1 Documents.",
    "kind": "A shingle is a run of characters or of words. Two texts are as alike as the shingles they share: "
            "J = shared / in either. Characters see small edits; words are for long texts.",
    "k": "How many characters or words make one shingle. Too short, and unrelated texts share most of them; too long, "
         "and one edit takes many away. 5 characters do for short texts, about 9 for web pages.",
    "drop_invisible": "Takes out soft hyphens, joiners, zero-width spaces and null characters.",
    "unicode_form": "One way to write what can be written in several. NFC joins letter and accent; NFKC also makes "
                    "wide, superscript and ligature letters plain.",
    "fold_accents": "Takes é for e: accents are left away.",
    "lower_case": "Takes A for a.",
    "drop_punctuation": "Punctuation and symbols become blanks.",
    "join_whitespace": "White space of any kind and length becomes one blank, none at the ends.",
}


@dataclass(frozen=True, slots=True)
class Cut:
    """A document before and after normalising, and its shingles in text order; `whole` unless it was too long."""

    row: int
    before: str
    after: str
    shingles: Sequence[SpelledShingle]
    times: Counter[int]
    whole: bool


def cut(corpus: Corpus, row: int, settings: Settings) -> Cut:
    """Read one row and cut it up as a run would."""
    from neardup import single, sources

    single.load_kernels()
    (text,) = sources.texts_at(corpus, [row])
    before = text[:MOST]
    after = single.normalised_text(before, settings.normalising)
    found = single.shingles_of_text(after, settings.shingling)
    return Cut(row, before, after, found, Counter(one.id for one in found), len(text) <= MOST)


def document(rows: int) -> Stepper:
    """The setting that walks through the rows."""
    return Stepper(name="row", label="document", default=0, least=0, most=rows - 1, shown=lambda row: f"row {row:,}",
                   parse=lambda text: int(text.removeprefix("row").replace(",", "")))


class Rows(SettingRows):
    def offer_rows(self, rows: int) -> None:
        self._settings = (document(rows), *self._settings[1:])


class ShinglesTab(Tab):
    number: ClassVar[int] = 2
    title: ClassVar[str] = "Shingles"

    DEFAULT_CSS = """
    ShinglesTab #meaning { height: 9; }
    ShinglesTab #meaning SettingRows { width: 40; padding-left: 1; }
    ShinglesTab #facts { width: 1fr; height: 9; border-left: solid $rule; padding-left: 1; text-wrap: nowrap; }
    ShinglesTab.-narrow #facts { display: none; }
    ShinglesTab #texts { height: 4; }
    ShinglesTab.-tall #texts { height: 1fr; }
    ShinglesTab #texts Panel { width: 1fr; }
    ShinglesTab.-short #meaning { height: 4; }
    ShinglesTab.-short #facts, ShinglesTab.-short #texts { display: none; }
    ShinglesTab.-short.-reading #texts { display: block; height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        rows: list[Setting] = [
            document(1),
            Choice(name="kind", label="shingles of", default="char",
                   options=(("char", "characters"), ("word", "words"))),
            Stepper(name="k", label="length k", default=5, least=1, most=MAX_SHINGLE),
            *SWITCHES,
        ]
        self._rows = Rows(*rows, id="meaning-rows")
        self._facts = Static(id="facts", markup=False)
        self._before, self._after = Static(markup=False), Static(markup=False)
        self._pages = [Page(self._before), Page(self._after)]
        self._panels = [Panel(self._pages[0], title="before"), Panel(self._pages[1], title="after")]
        self._meaning = Horizontal(self._rows, self._facts, id="meaning")
        self._texts = Horizontal(*self._panels, id="texts")
        self._list = LongList(_columns(5), id="shingles", empty="no shingles: the text is empty")
        self._list_panel = Panel(self._list, title="Shingles", id="list-panel")
        self._cut: Cut | None = None
        self._asked: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield self._meaning
        yield self._texts
        yield self._list_panel

    def on_mount(self) -> None:
        self._show_settings()
        self._ask()
        for page, other in (self._pages, self._pages[::-1]):
            self.watch(page, "scroll_y", partial(self._scroll_along, page, other))

    def _scroll_along(self, page: Page, other: Page) -> None:
        """Before and after stay beside each other; the one with the keys leads."""
        if page.has_focus:
            other.scroll_to(y=page.scroll_y, animate=False)

    def on_resize(self) -> None:
        self.set_class(self.size.height >= 24, "-tall")
        self.set_class(self.size.height < SHORT, "-short")
        self._reveal_setting()
        self.set_class(self.size.width < 76, "-narrow")

    def toggle_zoom(self) -> None:
        """Where there is no room for the texts, they are what is shown."""
        if self.zoomed is None and not self._is_shown(self._texts):
            self.zoomed = self._texts
            self._pages[0].focus()
        else:
            super().toggle_zoom()

    def watch_zoomed(self, zoomed: Widget | None) -> None:
        read = self.has_class("-reading")
        self.set_class(zoomed is not None and self._texts in zoomed.ancestors_with_self, "-reading")
        super().watch_zoomed(zoomed)
        if read and zoomed is None and self.has_class("-short"):
            self._rows.focus()  # the texts, which had the keys, are hidden again

    def _reveal_setting(self) -> None:
        self._meaning.scroll_to(y=max(0, self._rows.at - 2), animate=False, force=True)

    def panels(self) -> list[Widget]:
        return [self._rows, *self._pages, self._list]

    def hints(self) -> list[Hint]:
        if self._list.has_focus:
            return [hint("step_row", "shingle"), hint("zoom"), hint("step_panel")]
        if not self._rows.has_focus:
            return [hint("scroll_lines"), hint("zoom"), hint("step_panel")]
        first = hint("switch_value" if isinstance(self._rows.current, Switch) else "type_value")
        return [hint("step_value", "change"), first, hint("default_value"), hint("step_setting"), hint("step_panel")]

    def about(self) -> str:
        if self._list.has_focus:
            return ("The shingles of this document in text order: where each begins, what it is, the first 64 bits of "
                    "its MurmurHash3, and how often this document has it. Documents are compared as sets of them.")
        if not self._rows.has_focus:
            return "The marked document as it was read, and as it is compared."
        return f"{self._rows.current.label}: {MEANINGS[self._rows.current.name]}"

    # What comes down

    def watch_corpus(self) -> None:
        self._show_settings()
        self._ask()

    watch_settings = watch_choice = watch_corpus

    def _show_settings(self) -> None:
        if not self.is_mounted:
            return
        normalising, shingling = self.settings.normalising, self.settings.shingling
        values: dict[str, Value] = {"row": self.choice.row, "kind": shingling.kind, "k": shingling.k}
        values |= {setting.name: getattr(normalising, setting.name) for setting in SWITCHES}
        self._rows.offer_rows(self.corpus.rows if self.corpus is not None else 1)
        self._rows.show(values, fixed=() if self.corpus is not None else ("row",))

    def _ask(self) -> None:
        """Have the document cut up again if it, or what is done to it, is another."""
        asked = (self.corpus, self.choice.row, self.settings.normalising, self.settings.shingling)
        if asked == self._asked or not self.is_mounted:
            return
        rest = RESTED if asked[1:2] != self._asked[1:2] and self._cut is not None else 0.0
        self._asked = asked
        self.run_worker(partial(self._cut_up, rest), group="cut", exclusive=True)

    async def _cut_up(self, rest: float) -> None:
        await asyncio.sleep(rest)
        corpus, row = self.corpus, self.choice.row
        found: Cut | None = None
        if corpus is not None and row < corpus.rows:
            try:
                found = await asyncio.to_thread(cut, corpus, row, self.settings)
            except Exception as error:
                self.post_message(Told(why(error), "error"))
        same = found is not None and self._cut is not None and found.row == self._cut.row
        self._cut = found
        self._draw(keep=same)

    def _draw(self, *, keep: bool) -> None:
        found = self._cut
        words = "characters" if self.settings.shingling.kind == "char" else "words"
        if found is None:
            for panel, text in zip(self._panels, (self._before, self._after), strict=True):
                panel.right = ""
                text.update("no documents yet" if text is self._before else "")
            self._panels[0].title, self._panels[1].title, self._list_panel.title = "Before", "after", "Shingles"
            self._list_panel.right = ""
            self._facts.update("")
            self._list.show(0, lambda rows: (), empty="")
            return
        self._panels[0].title = f"Row {count(found.row)} before"
        self._panels[0].right = _characters(found.before, found.whole)
        self._panels[1].title = "after"
        self._panels[1].right = _characters(found.after, found.whole)
        self._before.update(Text(_lines(found.before)))
        self._after.update(Text(_lines(found.after)))
        self._list_panel.title = f"Shingles of row {count(found.row)}"
        self._list_panel.right = f"{count(len(found.times))} different of {count(len(found.shingles))}, in text order"
        self._list.columns = _columns(max((len(one.text) for one in found.shingles[:200]), default=0))
        self._list.show(len(found.shingles), self._cells, cursor=self._list.cursor if keep else 0)
        k = self.settings.shingling.k
        facts = Text(no_wrap=True, overflow="ellipsis")
        for name, figure in (
            ("characters before", len(found.before)), ("characters after", len(found.after)),
            ("shingles", len(found.shingles)), ("different ones", len(found.times)),
        ):
            facts.append_text(Text.assemble(f"{name:<19}", (f"{count(figure):>9}\n", "bold")))
        if len(found.shingles) == 1 and found.after:
            facts.append(f"\nshorter than {k} {words}: all of it is one", "dim")
        elif not found.after:
            facts.append("\nempty: in no pair, always kept", "dim")
        else:
            edited = "letter" if words == "characters" else "word"
            facts.append(f"\none edited {edited} changes up to {k}\nof them", "dim")
        self._facts.update(facts)
        self.post_message(HintsChanged())

    def _cells(self, rows: range) -> list[list[Cell]]:
        assert self._cut is not None
        return [[count(one.at), f"'{one.text}'", f"{one.id:016x}", count(self._cut.times[one.id])]
                for one in self._cut.shingles[rows.start:rows.stop]]

    # What the user does

    @on(SettingRows.Changed)
    def _changed(self, event: SettingRows.Changed) -> None:
        event.stop()
        name, value = event.name, event.value
        if name == "row":
            self.post_message(RowHighlighted(int(value)))
        elif name in ("kind", "k"):
            shingling: Shingling = replace(self.settings.shingling, **{name: value})
            self.post_message(SettingsChanged(replace(self.settings, shingling=shingling), name))
        else:
            normalising: Normalising = replace(self.settings.normalising, **{name: value})
            self.post_message(SettingsChanged(replace(self.settings, normalising=normalising), name))

    @on(SettingRows.Moved)
    def _moved(self, event: SettingRows.Moved) -> None:
        event.stop()
        self._reveal_setting()
        self.post_message(HintsChanged())

    @on(LongList.Highlighted)
    @on(LongList.Chosen)
    def _marked(self, event: LongList.Highlighted | LongList.Chosen) -> None:
        event.stop()


def _columns(widest: int) -> list[Column]:
    """The shingle as wide as most are, in quotes, so that its id stands beside it."""
    shingle = Column("shingle", max(9, min(40, widest + 2)))
    return [Column("at", 7, "right"), shingle, Column("id", 16), Column("times", 7, "right")]


def _lines(text: str) -> str:
    """A text with its own line ends, and nothing in it that could act on the terminal."""
    return "\n".join(safe(line) for line in text.splitlines())


def _characters(text: str, whole: bool) -> str:
    return f"{count(len(text))} characters" if whole else f"first {count(len(text))} characters"
