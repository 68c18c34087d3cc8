"""What tab 1 shows while nothing is loaded: ways to open documents, and the files that lie here."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from neardup_tui.dates import ago
from neardup_tui.keys import Hint, hint
from neardup_tui.messages import HintsChanged, OpenPath, PathWanted, Told
from neardup_tui.widgets.cells import count, safe, size
from neardup_tui.widgets.long_list import Column, LongList
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.setting_rows import SettingRows, Stepper

KINDS = {
    ".csv": "CSV", ".tsv": "CSV, tabs", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".parquet": "Parquet",
    ".html": "HTML", ".htm": "HTML", ".md": "Markdown", ".txt": "one document a line", "": "one document a line",
}
PACKED = (".gz", ".zst")
MOST_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class Found:
    """A file or folder that can be opened; `files` counts a folder's own files, `at` is when it was last written."""

    name: str
    path: str
    folder: bool
    bytes: int
    files: int
    at: float
    kind: str


@dataclass(frozen=True, slots=True)
class Folder:
    path: str
    found: tuple[Found, ...] = ()
    all: int = 0
    refused: str = ""


def folder_at(path: str) -> Folder:
    """What is in a folder and can be opened, folders first, by name; hidden files are left out. Never raises."""
    found: list[Found] = []
    seen = 0
    try:
        with os.scandir(path) as entries:
            for entry in islice(entries, MOST_LISTED):
                if not entry.name.startswith("."):
                    seen += 1
                    found += _found(entry)
    except OSError as error:
        return Folder(path, refused=error.strerror or "cannot be read")
    found.sort(key=lambda one: (not one.folder, one.name))
    above = Path(path).parent
    up = [] if str(above) == path else [Found("../", str(above), True, 0, 0, 0.0, "the folder above")]
    return Folder(path, (*up, *found), seen)


def _found(entry: os.DirEntry[str]) -> list[Found]:
    try:
        status = entry.stat()
        if entry.is_dir():
            with os.scandir(entry.path) as inside:
                files = sum(one.is_file() and not one.name.startswith(".") for one in islice(inside, MOST_LISTED))
            return [Found(f"{entry.name}/", entry.path, True, 0, files, status.st_mtime, "folder")]
        kind = kind_of(entry.name) if entry.is_file() else None
    except OSError:  # gone meanwhile, or not ours to look into
        return []
    return [Found(entry.name, entry.path, False, status.st_size, 0, status.st_mtime, kind)] if kind else []


def shortened(path: str, width: int) -> str:
    """The end of a path says more than its beginning."""
    return path if len(path) <= width else "…" + path[1 - width:]


def kind_of(name: str) -> str | None:
    """How a file would be read, by its name; None for what is no text as far as one can tell."""
    plain = Path(name)
    if plain.suffix.lower() in PACKED:
        plain = plain.with_suffix("")
    return KINDS.get(plain.suffix.lower())


class _Linked(LongList):
    """Two lists that j and k walk through as one."""

    def __init__(self, columns: list[Column], *, empty: str = "", id: str) -> None:
        super().__init__(columns, empty=empty, id=id)
        self.above: LongList | None = None
        self.below: LongList | None = None

    def action_step_row(self, step: int) -> None:
        neighbour = self.below if step > 0 else self.above
        at_end = self.cursor + step not in range(self.count)
        if at_end and neighbour is not None and neighbour.count:
            neighbour.cursor = 0 if step > 0 else neighbour.count - 1
            neighbour.focus()
        else:
            super().action_step_row(step)


WAYS = (
    ("a path", "file or folder, typed; tab completes. Also .gz and .zst"),
    ("example", "short generated news texts, a share of them edited copies"),
)
STEPPERS = (
    Stepper(name="count", label="documents", default=1_000, least=100, most=1_000_000, step=100),
    Stepper(name="share", label="edited copies", default=20, least=0, most=90, shown=lambda value: f"{value} %"),
    Stepper(name="characters", label="mean length", default=240, least=40, most=4_000, step=20, note="characters"),
    Stepper(name="seed", label="seed", default=1, least=0, most=2**32 - 1, note="another seed, other texts"),
)


class Start(Widget):
    """Posts PathWanted and OpenPath."""

    DEFAULT_CSS = """
    Start { height: 1fr; }
    Start #welcome { height: 1; color: $text-muted; padding: 0 1; }
    Start #ways-panel { height: 3; }
    Start #files-panel { height: 1fr; }
    Start #enter-panel { height: 6; }
    Start #enter-panel Static { padding: 0 1; height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._ways = _Linked([Column("", 14), Column("")], id="ways")
        self._files = _Linked([Column("", 28), Column("", 12, "right"), Column("", 18), Column("")], id="files",
                              empty="nothing here that can be opened")
        self._ways.below, self._files.above = self._files, self._ways
        self._example = SettingRows(*STEPPERS, id="example")
        self._words = Static(markup=False)
        self._enter = Panel(self._words, self._example, title="enter", id="enter-panel")
        self._here = Panel(self._files, title="Files here", id="files-panel")
        self._folder = Folder(os.getcwd())

    def compose(self) -> ComposeResult:
        yield Static("Choose documents and press enter, or press o and type a path.", id="welcome", markup=False)
        yield Panel(self._ways, title="Open", id="ways-panel")
        yield self._here
        yield self._enter

    def on_mount(self) -> None:
        self._ways.show(len(WAYS), lambda rows: [WAYS[row] for row in rows])
        self._list(self._folder.path)

    def panels(self) -> list[Widget]:
        return [self._ways, self._example, self._files]

    def hints(self) -> list[Hint]:
        if self._example.has_focus:
            return [hint("step_value", "change"), hint("type_value"), hint("step_setting"), hint("step_panel", "open")]
        return [hint("step_row", "choose"), hint("take_row", self._verb()), hint("open", "path"), hint("step_panel")]

    def _verb(self) -> str:
        if self._files.has_focus:
            marked = self._marked()
            return "look inside" if marked is not None and marked.folder else "open"
        return ("type a path", "open it")[self._ways.cursor]

    def _marked(self) -> Found | None:
        found = self._folder.found
        return found[self._files.cursor] if self._files.cursor < len(found) else None

    # Files

    def _list(self, path: str) -> None:
        self.run_worker(partial(self._look, path), group="folder", exclusive=True)

    async def _look(self, path: str) -> None:
        folder = await asyncio.to_thread(folder_at, path)
        if folder.refused:
            self.post_message(Told(f"{safe(path)}: {folder.refused}", "error"))
            return
        self._folder = folder
        self._here.title = f"Files here: {shortened(safe(folder.path), max(20, self.size.width - 50))}"
        shown = sum(one.name != "../" for one in folder.found)
        self._here.right = f"{count(shown)} of {count(folder.all)}, those it can open"
        self._files.show(len(folder.found), self._cells)

    def _cells(self, rows: range) -> list[list[str]]:
        cells = []
        for found in self._folder.found[rows.start:rows.stop]:
            much = size(found.bytes) if not found.folder else f"{count(found.files)} files" if found.at else ""
            cells.append([found.name, much, ago(found.at) if found.at else "", found.kind])
        return cells

    @on(LongList.Highlighted)
    def _moved(self, event: LongList.Highlighted) -> None:
        event.stop()
        self._tell()

    def on_descendant_focus(self) -> None:
        self._tell()

    def _tell(self) -> None:
        """The lowest panel says what enter would do."""
        example = not self._files.has_focus and self._ways.cursor == 1
        self._example.display, self._words.display = example, not example
        marked = self._marked()
        if example:
            self._enter.title = "enter: write this example and open it"
        elif self._files.has_focus and marked is not None:
            self._enter.title = "enter: look inside" if marked.folder else "enter: open it"
            words = f"{safe(marked.name)}\n{marked.kind}"
            if not marked.folder:
                words += f", {size(marked.bytes)}, written {ago(marked.at)}"
            elif marked.at:
                words += f" with {count(marked.files)} files; o and its path open all of them together"
            self._words.update(Text(words))
        else:
            self._enter.title = "enter: type a path"
            self._words.update(Text("CSV, JSON lines, Parquet, text with one document a line, or a folder of text,\n"
                                    "Markdown and HTML files; .gz and .zst are unpacked on the way."))
        self.post_message(HintsChanged())

    # Opening

    @on(LongList.Chosen, "#ways")
    def _way_taken(self, event: LongList.Chosen) -> None:
        event.stop()
        if event.index == 0:
            self.post_message(PathWanted())
        else:
            self.run_worker(self._open_example, group="example", exclusive=True)

    @on(LongList.Chosen, "#files")
    def _file_taken(self, event: LongList.Chosen) -> None:
        event.stop()
        marked = self._marked()
        if marked is not None and marked.folder:
            self._list(marked.path)
        elif marked is not None:
            here = os.path.relpath(marked.path) if Path(marked.path).is_relative_to(Path.cwd()) else marked.path
            self.post_message(OpenPath((here,)))

    @on(SettingRows.Changed)
    def _stepped(self, event: SettingRows.Changed) -> None:
        event.stop()

    async def _open_example(self) -> None:
        values = {name: int(value) for name, value in self._example.values.items()}
        began = time.monotonic()
        try:
            path = await asyncio.to_thread(written_example, **values)
        except OSError as error:
            self.post_message(Told(f"the example cannot be written: {error.strerror}", "error"))
            return
        self.post_message(Told(f"example written in {time.monotonic() - began:.1f} s: {safe(str(path))}"))
        self.post_message(OpenPath((str(path),)))


def written_example(count: int, share: int, characters: int, seed: int) -> Path:
    """The file of an example in the user's cache, written if it is not there; `share` in hundredths."""
    import platformdirs

    from neardup.sources import write_example

    folder = Path(platformdirs.user_cache_path("neardup")) / "examples"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"example-{count}-{share}-{characters}-{seed}.jsonl"
    if not path.exists():
        begun = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            with begun.open("wb") as stream:
                write_example(stream, count, share=share / 100, seed=seed, characters=characters)
            begun.replace(path)
        finally:
            begun.unlink(missing_ok=True)
    return path
