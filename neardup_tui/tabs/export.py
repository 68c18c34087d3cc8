"""6 Export: which files, what would be in them, the command that does the same again; `e` asks and writes."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Static

from neardup import Corpus, NeardupError, Reading, Result
from neardup_tui.dates import ago
from neardup_tui.keys import Hint, hint
from neardup_tui.messages import ExportWanted, HintsChanged, SettingsChanged, Told
from neardup_tui.session import why
from neardup_tui.tabs.base import Tab
from neardup_tui.widgets.cells import count, decimal, fitted, safe, size
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.setting_rows import Choice, Setting, SettingRows, Typed, Value

if TYPE_CHECKING:
    from neardup.exports import DryRun, Outputs, Planned

OFF = ""
LABELS = {
    "out": "kept rows", "removed": "removed rows", "pairs": "pairs", "clusters": "clusters", "manifest": "manifest",
}
USUAL = ("out", "removed", "manifest")  # on at first
COMPRESSIONS = (".gz", ".zst")
FORMATS = {
    "lines": "lines", "blank-lines": "blocks", "csv": "CSV", "jsonl": "JSON lines", "parquet": "Parquet",
    "files": "list of paths",
}
NOTES_AT = 42  # cells from the left: behind a name of 22


def names_for(path: str) -> dict[str, str]:
    """The names offered for the outputs of an input: tickets.csv.gz gives tickets.clean.csv.gz, tickets.removed.csv, …

    In the working folder: the input's own may not be ours to write in.
    """
    name = Path(path).name or Path(path).resolve().name or "documents"
    packed = Path(name).suffix if Path(name).suffix.lower() in COMPRESSIONS else ""
    stem, ending = Path(name.removesuffix(packed)).stem, Path(name.removesuffix(packed)).suffix
    if Path(path).is_dir():
        stem, ending, packed = name, ".txt", ""
    return {
        "out": f"{stem}.clean{ending}{packed}",
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

    def __init__(self) -> None:
        outputs: list[Setting] = [Output(name=name, label=label, default=OFF) for name, label in LABELS.items()]
        by = Choice(name="by", label="cluster by", default="transitive",
                    options=(("transitive", "transitive"), ("star", "star")))
        super().__init__(*outputs, by, id="outputs")
        self.offered: dict[str, str] = {}

    def offer(self, names: dict[str, str]) -> None:
        """Other documents: other names, and the usual outputs are on."""
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

    @property
    def _note_at(self) -> int:
        return NOTES_AT


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
        exports.check(outputs, corpus, force=True)
    except NeardupError as error:
        refused = str(error)
    written_at = {path: Path(path).stat().st_mtime for _, path in outputs.items() if Path(path).is_file()}
    return Look(exports.plan(result, outputs) if result is not None else None, refused, written_at)


class ExportTab(Tab):
    number: ClassVar[int] = 6
    title: ClassVar[str] = "Export"

    DEFAULT_CSS = """
    ExportTab #head { height: 1; color: $text-muted; }
    ExportTab OutputRows { padding-left: 1; }
    ExportTab #dry { height: 5; }
    ExportTab #dry Panel { width: 1fr; }
    ExportTab #dry Static { padding: 0 1; height: 4; }
    ExportTab #again { height: 1fr; min-height: 3; }
    ExportTab #again Static { padding: 0 1; }
    """

    paths: var[tuple[str, ...]] = var[tuple[str, ...]](())
    reading: var[Reading] = var(Reading())
    written: var[int] = var(0)

    def __init__(self) -> None:
        super().__init__()
        self._rows = OutputRows()
        self._kept = Panel(Static(id="why-kept", markup=False), title="Dry run")
        self._removed = Panel(Static(id="why-removed", markup=False), title="Removed")
        self._command = Static(id="command", markup=False)
        self._look = Look()

    def compose(self) -> ComposeResult:
        head = f"   {'output':<15}{'file':<{NOTES_AT - 17}}{'format':<15}{'rows':>9}{'size':>10}"
        yield Static(head, id="head", markup=False)
        yield self._rows
        with Horizontal(id="dry"):
            yield self._kept
            yield self._removed
        yield Panel(self._command, title="The same again", id="again")

    def panels(self) -> list[Widget]:
        return [self._rows]

    def hints(self) -> list[Hint]:
        if self.corpus is None:
            return [hint("open")]
        write = [hint("export")] if self.result is not None else []
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
        if paths:
            self._rows.offer(names_for(paths[0]))
        self._again()

    def watch_settings(self) -> None:
        self._rows.show({"by": self.settings.clusters})
        self._again()

    def watch_corpus(self) -> None:
        self._again()

    watch_result = watch_written = watch_reading = watch_corpus

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
        self._draw()
        self._again()

    def _draw(self) -> None:
        plan = self._look.plan
        by_name = {one.name: one for one in plan.files} if plan is not None else {}
        notes: dict[str, str | Text] = {name: self._note(name, by_name.get(name)) for name in LABELS}
        notes["by"] = "" if self.settings.clusters == "transitive" else "removes only rows near the kept one"
        self._rows.show({}, notes=notes, fixed=() if self.corpus is not None else [*LABELS, "by"])
        kept, removed = self.query_one("#why-kept", Static), self.query_one("#why-removed", Static)
        if plan is None:
            self._kept.title, self._removed.title = "Dry run", "Removed"
            kept.update("no documents yet" if self.corpus is None else "no results yet: r runs")
            removed.update("")
        else:
            self._kept.title = f"Dry run: kept {count(plan.kept)} of {count(plan.kept + plan.removed)}"
            self._removed.title = f"Removed {count(plan.removed)}"
            kept.update(_table(("in no cluster", plan.alone), ("kept of the clusters", plan.of_clusters),
                               ("empty", plan.empty)))
            t = decimal(self.result.settings.threshold / 10_000, 2) if self.result is not None else ""
            least = decimal(plan.least, 3) if plan.least is not None else "-"
            removed.update(_table(
                ("repeats an earlier row exactly", plan.copies), (f"near duplicate, J ≥ {t}", plan.near),
                (f"chained: J < {t} to the kept", plan.chained), ("least J to the row kept", least)))
        self._command.update(self._line())

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
        return Text(f"{fitted(form, 15)}{figures}")

    def _line(self) -> Text:
        """The command, a piece a line so that it can be read; `Y` copies it as one line."""
        if self.corpus is None or not self.paths:
            return Text()
        from neardup import exports

        words = exports.command_for(self.paths, self.reading, self.settings, self.outputs)
        pieces: list[str] = []
        for word in map(shlex.quote, words):
            if pieces and pieces[-1].startswith("--") and " " not in pieces[-1] and not word.startswith("--"):
                pieces[-1] += f" {word}"
            else:
                pieces.append(word)
        lines, width = [""], max(20, self.size.width - 4)
        for piece in map(safe, pieces):
            if lines[-1].strip() and len(lines[-1]) + len(piece) + 1 > width:
                lines.append("   ")
            lines[-1] += (" " if lines[-1] else "") + piece
        return Text(" \\\n".join(lines))

    # What the user does

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
        names = [Path(path).name for _, path in outputs.items()]
        question = f"Write {len(names)} {'file' if len(names) == 1 else 'files'}: {', '.join(names)}?"
        if seen.written_at:
            there = ", ".join(f"{Path(path).name} ({ago(at)})" for path, at in seen.written_at.items())
            question += f" Replaced: {there}."
        if self.result.settings != self.settings:
            question += " These are results of the settings before the last change."
        self.post_message(ExportWanted(outputs, safe(question)))


def _table(*lines: tuple[str, int | str]) -> str:
    return "\n".join(f"{words:<30}{count(figure) if isinstance(figure, int) else figure:>7}" for words, figure in lines)


def _form(path: str) -> str:
    plain = Path(path).with_suffix("") if Path(path).suffix.lower() in COMPRESSIONS else Path(path)
    return {".jsonl": "JSON lines", ".ndjson": "JSON lines", ".parquet": "Parquet"}.get(plain.suffix.lower(), "CSV")
