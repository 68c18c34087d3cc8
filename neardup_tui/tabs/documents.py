"""1 Documents: how they were read, which column holds the text, and the rows; the start screen while there are none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import msgspec
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Static

from neardup import Corpus, Reading
from neardup_tui.keys import Hint, hint
from neardup_tui.messages import HintsChanged, OpenPath, RowHighlighted, TabWanted, Told
from neardup_tui.session import why
from neardup_tui.tabs.base import Tab
from neardup_tui.tabs.start import Start
from neardup_tui.texts import Fetched
from neardup_tui.widgets.cells import count, safe, size
from neardup_tui.widgets.long_list import Cell, Column, LongList
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.setting_rows import Choice, SettingRows, Typed

if TYPE_CHECKING:
    from neardup.sources import ColumnPreview, Location, Preview

FORMATS = (
    ("auto", "by name"), ("lines", "one a line"), ("blank-lines", "blank-lines"), ("csv", "CSV"),
    ("jsonl", "JSON lines"), ("parquet", "Parquet"), ("files", "one a file"),
)
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SHOWN = 4_000  # characters of a text in the list: nobody scrolls further sideways
MOST_COLUMNS = 6  # lines of the column list; more scroll


class HowRead(SettingRows):
    """A step only shows another format; enter takes it, since reading again gives up the results."""

    class Taken(Message):
        """The shown format is to be read."""

    async def action_type_value(self) -> None:
        self.post_message(self.Taken())


class DocumentsTab(Tab):
    number: ClassVar[int] = 1
    title: ClassVar[str] = "Documents"

    DEFAULT_CSS = """
    DocumentsTab #wait { padding: 1; color: $text-muted; }
    DocumentsTab #how { height: 5; }
    DocumentsTab.-low #how, DocumentsTab.-narrow #figures { display: none; }
    DocumentsTab #how SettingRows { width: 40; padding-left: 1; }
    DocumentsTab #figures { width: 1fr; height: 5; border-left: solid $rule; padding-left: 1; text-wrap: nowrap; }
    DocumentsTab #columns-panel { height: auto; }
    DocumentsTab #columns { height: auto; }
    DocumentsTab #trouble { padding: 0 1; height: auto; color: $warning; }
    """

    preparing: var[str] = var("")
    paths: var[tuple[str, ...]] = var[tuple[str, ...]](())
    opening: var[tuple[str, ...]] = var[tuple[str, ...]](())

    def __init__(self) -> None:
        super().__init__()
        self._start = Start()
        self._wait = Static(id="wait", markup=False)
        self._how = HowRead(
            Typed(name="file", label="file", default=""),
            Choice(name="format", label="format", default="auto", options=FORMATS),
            Typed(name="delimiter", label="delimiter", default=""),
            Typed(name="encoding", label="encoding", default=""),
            fixed=("file", "delimiter", "encoding"), id="how-read",
        )
        self._figures = Static(id="figures", markup=False)
        self._columns = LongList([Column("", 1), Column("column", 14), Column("filled", 9, "right"),
                                  Column("distinct", 9, "right"), Column("mean chars", 10, "right"),
                                  Column("first row")], id="columns")
        self._columns_panel = Panel(self._columns, title="Text column", id="columns-panel")
        self._rows = LongList(_row_columns(None), id="rows")
        self._trouble = Static(id="trouble", markup=False)
        self._browse = Panel(self._rows, self._trouble, title="Browse", id="browse")
        self._loaded = Vertical(Horizontal(self._how, self._figures, id="how"), self._columns_panel, self._browse)
        self._names: tuple[str, ...] = ()
        self._previews: Sequence[ColumnPreview] = ()
        self._texts: Fetched[tuple[Location, str]] | None = None
        self._reading = Reading()
        self._how_notes: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield self._start
        yield self._wait
        yield self._loaded

    def on_mount(self) -> None:
        self._arrange()

    def on_resize(self) -> None:
        self.set_class(self.size.height < 15, "-low")
        self.set_class(self.size.width < 76, "-narrow")

    def panels(self) -> list[Widget]:
        if not self._loaded.display:
            return self._start.panels() if self._start.display else []
        return [self._columns, self._rows, self._how]

    def hints(self) -> list[Hint]:
        if not self._loaded.display:
            return self._start.hints() if self._start.display else [hint("open", "other file")]
        if self._columns.has_focus:
            return [hint("step_row", "column"), hint("take_row", "take it"), hint("step_panel"),
                    hint("open", "other file")]
        if self._rows.has_focus:
            return [hint("step_row"), hint("take_row", "its shingles"), hint("scroll_sideways"), hint("zoom"),
                    hint("step_panel"), hint("open", "other file")]
        take = [Hint("enter", "take it")] if self._how.values["format"] != self._format else []
        return [*take, hint("step_value", "change"), hint("step_panel"), hint("open", "other file")]

    def about(self) -> str:
        if not self._loaded.display:
            return ("Documents come from a file (CSV, JSON lines, Parquet, one document a line), from a folder of "
                    "text, Markdown and HTML files, or from a generated example. .gz and .zst are unpacked on the way. "
                    "Inputs are never changed.")
        if self._columns.has_focus:
            return ("The columns of the input. The one with ● holds the text that is compared; enter takes the marked "
                    "one and reads again.")
        if self._rows.has_focus:
            return ("The rows as they were read. The marked one is the document that 2 Shingles shows; `same as` names "
                    "the first row with the same text after normalising, known after a run.")
        return "How the input was read. ←→ show another format, enter reads the input again as that."

    # What comes down

    def watch_corpus(self, corpus: Corpus | None) -> None:
        if self._texts is not None:
            self._texts.end()
            self._texts = None
        if corpus is not None:
            self._texts = Fetched(lambda rows: _located_texts(corpus, rows), self._arrived, self._failed)
        self._arrange()

    def watch_unclear(self) -> None:
        self._arrange()

    def watch_opening(self, opening: tuple[str, ...]) -> None:
        if self.corpus is None and self.unclear is None:  # what is loaded stays as it is until the other is read
            self._draw_wait()
            self._arrange()

    def watch_preparing(self) -> None:
        self._draw_wait()

    def _draw_wait(self) -> None:
        self._wait.update(Text(f"Reading {safe(', '.join(self.opening))} …\n{safe(self.preparing)}"))

    def watch_result(self) -> None:
        self._rows.arrived()
        self._draw_figures()

    def watch_choice(self) -> None:
        if self.choice.row < self._rows.count:
            self._rows.cursor = self.choice.row

    def _arrange(self) -> None:
        """Start screen, documents, or a question about the text column."""
        if not self.is_mounted:
            return
        corpus, unclear = self.corpus, self.unclear
        self._loaded.display = corpus is not None or unclear is not None
        self._wait.display = bool(self.opening) and not self._loaded.display
        self._start.display = not self._loaded.display and not self._wait.display
        self._previews = ()
        self._columns_panel.right = ""
        if unclear is not None:
            self._names, self._reading = unclear.columns, unclear.reading
            self._columns_panel.title = "Text column: choose one"
            self._trouble.update(Text(f"! {safe(unclear.message)}\nMark one above with jk and press enter."))
            self._look(unclear.paths, unclear.reading)
        elif corpus is not None:
            first = corpus.inputs[0]
            self._names, self._reading = first.columns, Reading(format=first.format, text_column=first.text_column)
            self._columns_panel.title = "Text column"
            if len(self._names) > 1:
                self._look(self.paths, self._reading)
        self._draw_how()
        self._draw_figures()
        self._draw_columns(cursor=self._taken or 0)
        self._draw_rows()
        if self._how.has_focus and unclear is None:
            self.post_message(HintsChanged())
        elif self.display and (self.screen.focused is None or self in self.screen.focused.ancestors_with_self):
            self._remembered = None
            self.focus_panel()

    @property
    def _taken(self) -> int | None:
        """The position of the text column."""
        if self.corpus is None or self.unclear is not None:
            return None
        first = self.corpus.inputs[0]
        if first.column is not None:
            return first.column
        return self._names.index(first.text_column) if first.text_column in self._names else None

    # How it was read

    def _draw_how(self) -> None:
        corpus = self.corpus
        first = corpus.inputs[0] if corpus is not None else None
        others = f" and {len(corpus.inputs) - 1} more" if corpus is not None and len(corpus.inputs) > 1 else ""
        path = self.unclear.paths[0] if self.unclear is not None else first.path if first is not None else ""
        hidden = set() if first is not None else {"delimiter", "encoding"}
        if first is not None and first.delimiter is None:
            hidden = {"delimiter"}
        self._how_notes = {}
        if first is not None:
            self._how_notes = {"file": size(sum(one.size for one in corpus.inputs)) if corpus is not None else "",
                     "encoding": "guessed" if first.guessed else ""}
        self._how.show({
            "file": path.rstrip("/").rpartition("/")[2] + others,
            "format": self._format,
            "delimiter": DELIMITERS.get(first.delimiter or "", repr(first.delimiter)) if first is not None else "",
            "encoding": first.encoding if first is not None else "",
        }, notes=self._how_notes, hidden=hidden)

    @property
    def _format(self) -> str:
        """As what it was read."""
        return self.corpus.inputs[0].format if self.corpus is not None else self._reading.format

    def _draw_figures(self) -> None:
        corpus, result = self.corpus, self.result
        rows = corpus.rows if corpus is not None else None
        known = result is not None and corpus is not None
        documents = result.documents if known and result is not None else None
        lines = [("rows", rows, "")]
        lines.append(("documents", len(documents) if documents else None, "distinct"))
        lines.append(("exact duplicates", rows - len(documents) if documents and rows else None, "repeated"))
        lines.append(("empty", documents.empty_rows if documents else None, ""))
        characters = int(result.chars.sum()) if known and result is not None else None
        mean = f"{characters / max(1, rows or 1):,.0f} a row" if characters is not None else "after a run"
        lines.append(("characters", characters, mean))
        figures = ["-" if figure is None else count(figure) for _, figure, _ in lines]
        widest = max(8, *map(len, figures))
        drawn = Text(no_wrap=True, overflow="ellipsis")
        for (name, _, note), figure in zip(lines, figures, strict=True):
            drawn.append_text(Text.assemble(f"{name:<17}", (figure.rjust(widest), "bold"), (f"  {note}\n", "dim")))
        self._figures.update(drawn)

    @on(SettingRows.Changed, "#how-read")
    def _format_changed(self, event: SettingRows.Changed) -> None:
        event.stop()
        notes = dict(self._how_notes)
        if event.value != self._format:
            notes["format"] = "not taken"
        self._how.show({}, notes=notes)
        self.post_message(HintsChanged())

    @on(HowRead.Taken)
    def _format_taken(self, event: HowRead.Taken) -> None:
        event.stop()
        value = self._how.values["format"]
        if value != self._format:
            paths = self.unclear.paths if self.unclear is not None else self.paths
            self.post_message(OpenPath(paths, Reading(format=value)))  # type: ignore[arg-type]  # it has the rule

    # The text column

    def _draw_columns(self, cursor: int | None = None) -> None:
        self._columns_panel.display = len(self._names) > 1 or self.unclear is not None
        self._columns.styles.height = min(len(self._names), MOST_COLUMNS) + 1
        self._columns.show(len(self._names), self._column_cells,
                           cursor=self._columns.cursor if cursor is None else cursor)

    def _column_cells(self, rows: range) -> list[list[Cell]]:
        return [self._column_row(row) for row in rows]

    def _column_row(self, row: int) -> list[Cell]:
        taken = "●" if row == self._taken else ""
        if row >= len(self._previews):
            return [taken, self._names[row], None, None, None, None]
        seen = self._previews[row]
        return [taken, self._names[row], count(seen.filled), count(seen.distinct), count(round(seen.mean_chars)),
                seen.first[:SHOWN]]

    def _look(self, paths: tuple[str, ...], reading: Reading) -> None:
        self.run_worker(partial(self._preview, paths, reading), group="preview", exclusive=True)

    async def _preview(self, paths: tuple[str, ...], reading: Reading) -> None:
        try:
            seen = await asyncio.to_thread(_previewed, paths, reading)
        except Exception as error:
            self.post_message(Told(why(error), "error"))
        else:
            self._previews = seen.columns
            self._columns_panel.right = f"{len(self._names)} columns, first {count(seen.rows)} rows"
            longest = max(range(len(self._previews)), key=lambda at: self._previews[at].mean_chars, default=0)
            self._draw_columns(cursor=longest if self.unclear is not None else None)

    @on(LongList.Chosen, "#columns")
    def _column_taken(self, event: LongList.Chosen) -> None:
        event.stop()
        name = self._names[event.index]
        # A name that two columns bear, or that is a number, is asked for by its place.
        clear = self._names.count(name) == 1
        paths = self.unclear.paths if self.unclear is not None else self.paths
        reading = msgspec.structs.replace(self._reading, text_column=name if clear else str(event.index + 1))
        self.post_message(OpenPath(paths, reading))

    # The rows

    def _draw_rows(self) -> None:
        corpus = self.corpus if self.unclear is None else None
        self._trouble.display = corpus is None
        self._rows.display = corpus is not None
        rows = corpus.rows if corpus is not None else 0
        self._browse.right = f"rows 0 … {count(rows - 1)}" if rows else "no documents yet"
        self._rows.columns = _row_columns(corpus)
        self._rows.show(rows, self._row_cells, cursor=self.choice.row)

    def _row_cells(self, rows: range) -> list[list[Cell]]:
        fetched = self._texts.get(rows) if self._texts is not None else [None] * len(rows)
        return [self._row(row, got) for row, got in zip(rows, fetched, strict=True)]

    def _row(self, row: int, got: tuple[Location, str] | None) -> list[Cell]:
        result, place, chars, same = self.result, [], None, ""
        text = got[1] if got is not None else None
        if self._rows.columns[1].title in ("line", "file"):
            where = None if got is None else got[0].line if got[0].line is not None else got[0].record or ""
            place = [count(where) if isinstance(where, int) else where]
        if result is not None:
            first = int(result.documents.first_row[result.documents.document_of_row[row]])
            same = count(first) if first != row else ""
        if text is not None:
            chars = count(len(text))
        return [count(row), *place, chars, same, text[:SHOWN] if text is not None else None]

    def _arrived(self) -> None:
        self._rows.arrived()

    def _failed(self, reason: str) -> None:
        self.post_message(Told(reason, "error"))

    @on(LongList.Highlighted, "#rows")
    def _row_marked(self, event: LongList.Highlighted) -> None:
        event.stop()
        if self.corpus is not None and event.index != self.choice.row:
            self.post_message(RowHighlighted(event.index))

    @on(LongList.Highlighted, "#columns")
    def _column_marked(self, event: LongList.Highlighted) -> None:
        event.stop()
        self.post_message(HintsChanged())

    @on(LongList.Chosen, "#rows")
    def _row_taken(self, event: LongList.Chosen) -> None:
        event.stop()
        self.post_message(TabWanted(2))


def _row_columns(corpus: Corpus | None) -> list[Column]:
    form = corpus.inputs[0].format if corpus is not None else ""
    digits = max(5, len(count(corpus.rows)) if corpus is not None else 0)
    place = {"lines": [Column("line", digits, "right")], "files": [Column("file", 24)]}.get(form, [])
    return [Column("row", digits, "right"), *place, Column("chars", 7, "right"),
            Column("same as", max(7, digits), "right"), Column("text")]


def _located_texts(corpus: Corpus, rows: Sequence[int]) -> list[tuple[Location, str]]:
    from neardup import single, sources

    single.load_kernels()
    return list(zip(sources.locations_at(corpus, rows), sources.texts_at(corpus, rows), strict=True))


def _previewed(paths: Sequence[str], reading: Reading) -> Preview:
    from neardup import single, sources

    single.load_kernels()
    return sources.preview(paths, reading)
