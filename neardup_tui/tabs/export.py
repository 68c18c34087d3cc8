"""6 Export: which files, what would be in them, the command that does the same again; `e` asks and writes."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Static

from neardup import Corpus, NeardupError, Reading, Result, SettingsError
from neardup_tui.dates import ago
from neardup_tui.help import Page
from neardup_tui.keys import Hint, hint
from neardup_tui.messages import ExportWanted, HintsChanged, SettingsChanged, Told
from neardup_tui.places import placed, squeezed
from neardup_tui.session import why
from neardup_tui.tabs.base import Tab
from neardup_tui.widgets.cells import count, decimal, fitted, safe, size
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.setting_rows import Choice, Setting, SettingRows, Typed, Value

if TYPE_CHECKING:
    from neardup.exports import DryRun, Name, Outputs, Planned
    from neardup.sources.corpus import Input

OFF = ""
LABELS: dict[Name, str] = {
    "out": "kept rows", "removed": "removed rows", "pairs": "pairs", "clusters": "clusters", "manifest": "manifest",
}
USUAL = ("out", "removed", "manifest")  # on at first
COMPRESSIONS = (".gz", ".zst")
FORMATS = {
    "lines": "lines", "blank-lines": "blocks", "csv": "CSV", "jsonl": "JSON lines", "parquet": "Parquet",
    "files": "list of paths",
}
NAME_AT, NAME = 15, 22  # cells: where `‹` stands, and what a name has at least where there is room
FORMAT, FIGURES = 15, 19
TWO_COLUMNS = 76  # cells from which the dry run has two columns, and the format its own


def names_for(path: str, read: Input | None = None) -> dict[str, str]:
    """The names offered for the outputs of an input: tickets.csv.gz gives tickets.clean.csv.gz, tickets.removed.csv, …

    The kept rows have the ending of the file that was read; of documents that are files they are a list. In the
    working folder: the input's own may not be ours to write in.
    """
    name = Path(path).name or Path(path).resolve().name or "documents"
    whole = Path(read.path).name if read is not None and Path(path).is_dir() else name  # a folder of record files
    packed = Path(whole).suffix if Path(whole).suffix.lower() in COMPRESSIONS else ""
    ending = Path(whole.removesuffix(packed)).suffix
    stem = name if Path(path).is_dir() else Path(name.removesuffix(packed)).stem
    files = read.format == "files" if read is not None else Path(path).is_dir()
    return {
        "out": f"{stem}.list.txt" if files else f"{stem}.clean{ending}{packed}",
        "removed": f"{stem}.removed.csv",
        "pairs": f"{stem}.pairs.csv",
        "clusters": f"{stem}.clusters.csv",
        "manifest": f"{stem}.clean.json",
    }


@dataclass(frozen=True, kw_only=True)
class Output(Typed):
    """A file, or off: an empty name."""

    def text(self, value: Value) -> str:
        return str(value) or "off"

    def read(self, text: str) -> str:
        return OFF if text.strip() == "off" else text.strip()


class OutputRows(SettingRows):
    """The outputs, each a file or off, and how clusters are cut; space turns an output on and off."""

    def __init__(self, check: Callable[[str, Value], object]) -> None:
        outputs: list[Setting] = [Output(name=name, label=label, default=OFF) for name, label in LABELS.items()]
        by = Choice(name="by", label="cluster by", default="transitive",
                    options=(("transitive", "transitive"), ("star", "star")))
        super().__init__(*outputs, by, check=check, id="outputs")
        self.offered: dict[str, str] = {}

    def offer(self, names: dict[str, str]) -> None:
        """Other documents: other names, and the usual outputs are on."""
        if names == self.offered:
            return
        self.offered = names
        self.show({name: self._usual(name) for name in LABELS})

    def _usual(self, name: str) -> str:
        return self.offered.get(name, OFF) if name in USUAL else OFF

    def action_switch_value(self) -> None:
        name = self.current.name
        if name in LABELS:
            self._change(OFF if self.values[name] else self.offered.get(name, OFF))

    def action_default_value(self) -> None:
        name = self.current.name
        self._change(self._usual(name) if name in LABELS else self.current.default)

    def _words(self, setting: Setting) -> str:
        return squeezed(super()._words(setting), self.notes_at - NAME_AT - 5)

    @property
    def figures_at(self) -> int:
        """Where rows and size begin: behind the longest name, if the screen has room for it."""
        longest = max(cell_len(super(OutputRows, self)._words(setting)) for setting in self._settings)
        wanted = NAME_AT + max(NAME, longest) + 5 + self.format_width
        return max(NAME_AT + 13, min(wanted, self.size.width - FIGURES))

    @property
    def format_width(self) -> int:
        return FORMAT if self.size.width >= TWO_COLUMNS else 0

    @property
    def notes_at(self) -> int:
        return self.figures_at - self.format_width

    @property
    def _note_at(self) -> int:
        return self.notes_at


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the results and the disk: the dry run, why it would be refused, when the files there were written."""

    plan: DryRun | None = None
    refused: str = ""
    written_at: dict[str, float] = field(default_factory=dict)


def look(result: Result | None, corpus: Corpus, outputs: Outputs) -> Look:
    from neardup import exports

    refused = ""
    try:
        exports.check(outputs, corpus, force=True, names=LABELS)
    except NeardupError as error:
        refused = str(error)
    written_at = {path: Path(path).stat().st_mtime for _, path in outputs.items() if Path(path).is_file()}
    return Look(exports.plan(result, outputs) if result is not None else None, refused, written_at)


class ExportTab(Tab):
    number: ClassVar[int] = 6
    title: ClassVar[str] = "Export"

    DEFAULT_CSS = """
    ExportTab { overflow-y: auto; scrollbar-size-vertical: 1; }
    ExportTab #head { height: 1; color: $text-muted; }
    ExportTab OutputRows { padding-left: 1; }
    ExportTab #dry { height: 5; }
    ExportTab.-narrow #dry { height: 9; }
    ExportTab.-zoomed #dry { height: 1fr; }
    ExportTab #again { height: 1fr; min-height: 4; }
    """

    paths: var[tuple[str, ...]] = var[tuple[str, ...]](())
    reading: var[Reading] = var(Reading())
    written: var[int] = var(0)

    def __init__(self) -> None:
        super().__init__()
        self._rows = OutputRows(self._check_name)
        self._why = Static(id="why", markup=False)
        self._dry = Panel(Page(self._why), title="Dry run", id="dry")
        self._command = Static(id="command", markup=False)
        self._page = Page(self._command)
        self._same = Panel(self._page, title="The same again", id="again")
        self._look = Look()

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield self._rows
        yield self._dry
        yield self._same

    def panels(self) -> list[Widget]:
        return [self._rows, *self.query(Page)]

    def hints(self) -> list[Hint]:
        if self.corpus is None:
            return [hint("open")]
        write = [hint("export")] if self.result is not None else []
        if self.focused_panel() not in (None, self._rows):
            return [*write, hint("scroll_lines"), hint("zoom"), hint("copy_command"), hint("step_panel")]
        return [*write, hint("type_value", "change"), hint("switch_value"), hint("step_setting", "output"),
                hint("copy_command"), hint("default_value")]

    def about(self) -> str:
        return ("What would be written, before it is. An output is a file or off: enter types its name, space turns it "
                "on and off. Kept rows are the input's own bytes; .gz and .zst compress; pairs and clusters follow the "
                "ending: .csv, .jsonl, .parquet. Nothing is written before e and its question.")

    def status(self) -> Text | None:
        if self._look.refused:
            return Text(f"! {safe(self._look.refused)}", "bold")
        there = list(self._look.written_at)
        if not there or self.result is None:
            return None
        name, at = safe(Path(there[0]).name), ago(self._look.written_at[there[0]])
        if len(there) == 1:
            return Text(f"! {name} exists ({at}): e asks before it replaces it", "bold")
        return Text(f"! {name} and {len(there) - 1} more exist: e asks before it replaces them", "bold")

    @property
    def outputs(self) -> Outputs:
        from neardup.exports import Outputs

        values = self._rows.values
        return Outputs(**{name: str(values[name]) or None for name in LABELS})

    # What comes down

    def watch_paths(self, paths: tuple[str, ...]) -> None:
        self._offer()
        self._again()

    def _offer(self) -> None:
        if self.paths and self.corpus is not None:
            self._rows.offer(names_for(self.paths[0], self.corpus.inputs[0]))

    def watch_settings(self) -> None:
        self._rows.show({"by": self.settings.clusters})
        self._again()

    def watch_corpus(self) -> None:
        self._offer()
        self._again()

    def watch_written(self) -> None:
        self._again()

    watch_result = watch_reading = watch_written

    def _again(self) -> None:
        """Look again at results and disk, in a thread: sums over ten million rows take a while."""
        if not self.is_mounted:
            return
        self.run_worker(self._look_again, group="look", exclusive=True)

    async def _look_again(self) -> None:
        try:
            found = Look()
            if self.corpus is not None:
                found = await asyncio.to_thread(look, self.result, self.corpus, self.outputs)
            self._look = found
        except Exception as error:
            self._look = Look(refused=why(error))
        self._draw()
        self.post_message(HintsChanged())

    def on_mount(self) -> None:
        for part in ("scroll_y", "show_vertical_scrollbar"):
            self.watch(self._page, part, lambda: self.call_after_refresh(self._mark_cut))
        self._draw()
        self._again()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < TWO_COLUMNS, "-narrow")
        self.call_after_refresh(self._draw)

    def on_descendant_focus(self) -> None:
        super().on_descendant_focus()
        if self.focused_panel() is self._rows:  # the head above them belongs to them
            self.call_after_refresh(self.scroll_home, animate=False)

    def watch_zoomed(self, zoomed: Widget | None) -> None:
        super().watch_zoomed(zoomed)
        if (panel := self.focused_panel()) is not None:
            self.call_after_refresh(panel.scroll_visible, animate=False)
        self.call_after_refresh(self._mark_cut)

    def _mark_cut(self) -> None:
        """How much of the command lies below, in the panel's title."""
        below = round(self._page.max_scroll_y - self._page.scroll_y)
        self._same.right = f"… {below} more {'line' if below == 1 else 'lines'}" if below > 0 else ""

    def _draw(self) -> None:
        plan = self._look.plan
        by_name = {one.name: one for one in plan.files} if plan is not None else {}
        notes: dict[str, str | Text] = {name: self._note(name, by_name.get(name)) for name in LABELS}
        notes["by"] = "" if self.settings.clusters == "transitive" else "removes only rows near the kept one"
        self._rows.show({}, notes=notes, fixed=() if self.corpus is not None else [*LABELS, "by"])
        at, room = self._rows.notes_at, self._rows.format_width
        head = f"   {'output':<{NAME_AT}}{'file':<{at - NAME_AT - 2}}{'format'[:room]:<{room}}{'rows':>9}{'size':>10}"
        self.query_one("#head", Static).update(head)
        if plan is None:
            self._dry.title = "Dry run"
            self._why.update("no documents yet" if self.corpus is None else "no results yet: r runs")
        else:
            self._dry.title = (f"Dry run: kept {count(plan.kept)} of {count(plan.kept + plan.removed)}, "
                               f"removed {count(plan.removed)}")
            self._why.update(Text(self._reasons(plan), no_wrap=True))
        self._command.update(self._line())
        self.call_after_refresh(self._mark_cut)

    def _reasons(self, plan: DryRun) -> str:
        """Why rows are kept, and beside it (below it, where the screen is narrow) why they are removed."""
        t = decimal(self.result.settings.threshold / 10_000, 2) if self.result is not None else ""
        least = decimal(plan.least, 3) if plan.least is not None else "-"
        into = placed([path for _, path in self.outputs.items()])[0].removeprefix(" into ")
        narrow = self.has_class("-narrow")
        into = into and f"into {squeezed(into, (self.size.width - 4 if narrow else 37) - 5)}"
        kept = [*_table(("in no cluster", plan.alone), ("kept of the clusters", plan.of_clusters),
                        ("empty", plan.empty)), into]
        removed = _table(
            ("the same text as the kept row", plan.copies), (f"near duplicate, J ≥ {t}", plan.near),
            (f"chained: J < {t} to the kept", plan.chained), ("least J to the kept row", least))
        if narrow:
            return "\n".join([*kept[:-1], *removed, into])
        return "\n".join(f"{fitted(left, 39)}{right}" for left, right in zip(kept, removed, strict=True))


    def _note(self, name: str, planned: Planned | None) -> str | Text:
        path = self._rows.values[name]
        if not path or self.corpus is None:
            return ""
        first = self.corpus.inputs[0].format
        form = {"out": FORMATS[first] + (", as read" if first != "files" else ""), "manifest": "JSON",
                "removed": "CSV"}.get(name) or _form(str(path))
        figures = ""
        if planned is not None:
            rows = count(planned.rows) if name != "manifest" else ""
            figures = f"{rows:>9}{('' if planned.exact else '~') + size(planned.bytes):>10}"
        return Text(f"{fitted(form, self._rows.format_width)}{figures}")

    def _line(self) -> Text:
        """The command that gives the results shown, wrapped so that it can be pasted; `Y` copies it as one line."""
        if self.corpus is None or not self.paths:
            return Text()
        from neardup import exports

        made = self.result.settings if self.result is not None else self.settings
        words = exports.command_for(self.paths, self.reading, made, self.outputs)
        pieces: list[str] = []
        for word in map(shlex.quote, words):
            if pieces and pieces[-1].startswith("--") and " " not in pieces[-1] and not word.startswith("--"):
                pieces[-1] += f" {word}"
            else:
                pieces.append(word)
        lines, width = [""], max(20, self.size.width - 6)  # edges, scroll bar, ` \\`
        for piece in map(safe, pieces):
            if lines[-1].strip() and len(lines[-1]) + len(piece) + 1 > width:
                lines.append("   ")
            lines[-1] += (" " if lines[-1] else "") + piece
        changed = "settings were changed since: r runs again\n" if made != self.settings else ""
        return Text.assemble((changed, "bold"), " \\\n".join(lines))

    # What the user does

    def _check_name(self, name: str, value: Value) -> None:
        """Refuse a name when it is typed: alone, and against outputs that have the same."""
        from neardup import exports

        if name not in LABELS or not value or self.corpus is None:
            return
        if value == "-":
            raise SettingsError("standard output is this screen: give the name of a file")
        real = os.path.realpath(str(value))
        same = {other: path for other, path in self.outputs.items() if os.path.realpath(path) == real}
        exports.check(exports.Outputs(**{**same, name: str(value)}), self.corpus, force=True,
                      names=LABELS)

    @on(SettingRows.Changed)
    def _changed(self, event: SettingRows.Changed) -> None:
        event.stop()
        if event.name == "by":
            self.post_message(SettingsChanged(msgspec.structs.replace(self.settings, clusters=event.value), "clusters"))
        else:
            self._again()

    def want(self) -> None:
        """`e`: look once more at the disk, then have the question asked."""
        self.run_worker(self._want, group="want", exclusive=True)

    async def _want(self) -> None:
        outputs = self.outputs
        if self.corpus is None or self.result is None:
            return
        if not outputs.items():
            self.post_message(Told("no output is on: space turns one on", "warning"))
            return
        try:
            seen = await asyncio.to_thread(look, self.result, self.corpus, outputs)
        except Exception as error:
            seen = Look(refused=why(error))
        if seen.refused:
            self.post_message(Told(seen.refused, "error"))
            return
        paths = [path for _, path in outputs.items()]
        into, names = placed(paths)
        question = f"Write {len(paths)} {'file' if len(paths) == 1 else 'files'}{into}: {names}?"
        if seen.written_at:
            there = ", ".join(f"{Path(path).name} ({ago(at)})" for path, at in seen.written_at.items())
            question += f" Replaced: {there}."
        if self.result.settings != self.settings:
            question += " These are results of the settings before the last change."
        self.post_message(ExportWanted(outputs, safe(question)))


def _table(*lines: tuple[str, int | str]) -> list[str]:
    return [f"{words:<29}{count(figure) if isinstance(figure, int) else figure:>8}" for words, figure in lines]


def _form(path: str) -> str:
    plain = Path(path).with_suffix("") if Path(path).suffix.lower() in COMPRESSIONS else Path(path)
    return {".jsonl": "JSON lines", ".ndjson": "JSON lines", ".parquet": "Parquet"}.get(plain.suffix.lower(), "CSV")
