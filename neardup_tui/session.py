"""The state that the screen owns: documents, settings and their history, results, a run, and what was told.

Knows nothing of Textual. The engine is asyncio and does its heavy work in workers and threads, so a load and a run
are tasks of the app's own loop; `changed` is called after each step, at most four times a second while a stage goes on.
"""

from __future__ import annotations

import asyncio
import re
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import neardup
from neardup import (
    Advanced,
    ColumnError,
    Corpus,
    Event,
    Finished,
    NeardupError,
    Planned,
    Preparing,
    Reading,
    Result,
    Settings,
    StageStarted,
    Warned,
)
from neardup_tui.places import placed
from neardup_tui.progress import WORTH_TELLING, expected

if TYPE_CHECKING:
    from neardup.exports import Outputs

Severity = Literal["note", "warning", "error"]

HERE, ENGINE = Path(__file__).parent, Path(neardup.__file__).parent
TOLD_A_SECOND = 4  # a line of progress four times a second is 0.6 kB/s on the wire
UNDO_STEPS = 200
OPTION = re.compile(r"[,;:]? [Cc]hoose [^:]*--text-column.*", re.DOTALL)
COLUMN_FIRST = "choose the text column first: 1 Documents"
SAME_STEP = 0.8  # seconds: a key held on one setting is one step of undo


class Engine(Protocol):
    """As much of `neardup.Engine` as a session asks for; tests give a small one of their own."""

    async def load(
        self, paths: Sequence[str], reading: Reading, on_event: Callable[[Event], None] | None = None
    ) -> Corpus: ...

    def run(self, corpus: Corpus, settings: Settings) -> AsyncGenerator[Event, None]: ...

    def pause(self, paused: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: stage `number` (from 1) of `of`; `done` of `total` units after `seconds` of this stage."""

    stage: str
    number: int
    of: int
    done: int
    total: int
    unit: str
    seconds: float = 0.0

    @property
    def share(self) -> float:
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds until the stage is done if it goes on as it went; None while nobody can say."""
        if not self.done or self.seconds < 0.5 or not self.total:
            return None
        return self.seconds * (self.total - self.done) / self.done


@dataclass(frozen=True, slots=True)
class Choice:
    """What is marked, so that every tab shows the same: a row, a row pair and a cluster.

    row      number of the row marked in Browse (2 Shingles shows it)
    pair     index in `result.row_pairs`, or None
    cluster  label of the cluster (its smallest row), or None
    """

    row: int = 0
    pair: int | None = None
    cluster: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that was told; `at` is seconds since the epoch."""

    text: str
    severity: Severity = "note"
    at: float = field(default_factory=time.time)


class State(Enum):
    """Of the results, as the right of row 1 says it."""

    NOT_RUN = "○ not run"
    READING = "◌ reading"
    RUNNING = "◌ running"
    CHANGED = "◐ settings changed: r runs again"
    CURRENT = "● results are current"
    STOPPED = "✗ stopped"


@dataclass(frozen=True, slots=True)
class Unclear:
    """Inputs whose text column could not be told: what was asked for, what is wrong, and the columns there are."""

    paths: tuple[str, ...]
    reading: Reading
    message: str
    columns: tuple[str, ...]


class Session:
    """What is loaded, wished and found. Everything here changes on the loop's thread only."""

    def __init__(
        self,
        engine: Callable[[], AbstractAsyncContextManager[Engine]],
        settings: Settings | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.changed = changed
        self.settings = settings or Settings()
        self.paths: tuple[str, ...] = ()
        self.opening: tuple[str, ...] = ()  # what is being read
        self.reading = Reading()
        self.corpus: Corpus | None = None
        self.unclear: Unclear | None = None
        self.result: Result | None = None
        self.progress: Progress | None = None
        self.notes: list[Note] = []
        self.started = 0.0
        self.notes_before = 0  # how many there were when what is on began
        self._make_engine = engine
        self._engine: Engine | None = None
        self._exit = AsyncExitStack()
        self._task: asyncio.Task[None] | None = None
        self._doing: State | None = None
        self._stopped = False
        self._run_wanted = False  # once what is being read is read
        self._past: list[Settings] = []
        self._future: list[Settings] = []
        self._last_change = ("", 0.0)
        self._heard = 0.0

    # What there is to see

    @property
    def state(self) -> State:
        if self._doing is not None:
            return self._doing
        if self._stopped:
            return State.STOPPED
        if self.result is None:
            return State.NOT_RUN
        return State.CURRENT if self.result.settings == self.settings else State.CHANGED

    @property
    def busy(self) -> bool:
        return self._doing is not None

    @property
    def running(self) -> bool:
        return self._doing is State.RUNNING

    @property
    def seconds(self) -> float:
        """How long the load or run that is on has been going."""
        return time.monotonic() - self.started if self.busy else 0.0

    @property
    def undoable(self) -> bool:
        return bool(self._past)

    @property
    def redoable(self) -> bool:
        return bool(self._future)

    def tell(self, text: str, severity: Severity = "note") -> None:
        self.notes.append(Note(text, severity))
        self.changed()

    # Settings and their history

    def change(self, settings: Settings, about: str = "") -> None:
        """Wish these settings. Quick steps of one setting (`about`) are one step back."""
        if settings == self.settings:
            return
        now = time.monotonic()
        held = bool(about) and about == self._last_change[0] and now - self._last_change[1] < SAME_STEP
        if not held:
            self._past = [*self._past[-UNDO_STEPS + 1:], self.settings]
        self._last_change = (about, now)
        self._future.clear()
        self._set(settings)

    def undo(self) -> bool:
        """Go back one change and tell which; False when there is none."""
        return self._step("undo", "undone", self._past, self._future)

    def redo(self) -> bool:
        return self._step("redo", "redone", self._future, self._past)

    def _step(self, verb: str, done: str, source: list[Settings], other: list[Settings]) -> bool:
        if not source:
            self.tell(f"nothing to {verb}")
            return False
        before = self.settings
        other.append(before)
        self._last_change = ("", 0.0)
        self._set(source.pop())
        self.tell(f"{done}: {', '.join(changes(before, self.settings))}")
        return True

    def _set(self, settings: Settings) -> None:
        self.settings = settings
        self._stopped = False
        self.changed()

    # Work

    async def start(self) -> bool:
        """Start the engine and its workers: after the first paint, since they take both cores from it."""
        try:
            self._engine = await self._exit.enter_async_context(self._make_engine())
        except Exception as error:
            self.tell(why(error), "error")
        return self._engine is not None

    async def close(self) -> None:
        """Stop what is on, end the workers."""
        await self.stop()
        await self._exit.aclose()
        self._engine = None

    async def open(self, paths: Sequence[str], reading: Reading) -> None:
        """Begin to read these inputs, in place of what is being read; what was loaded stays until they are read."""
        if self._doing is State.READING:
            await self.stop()
        if self._engine is not None and not self.busy:
            self.opening = tuple(paths)
        self._begin(State.READING, lambda: self._load(tuple(paths), reading))

    def run(self) -> None:
        """Begin a run with the settings as they are now, or as they are when what is being read is read."""
        if self._doing is State.READING:
            self._run_wanted = True
            self.tell("runs once it is read; x stops")
            return
        corpus = self.corpus
        if corpus is not None:
            self._begin(State.RUNNING, lambda: self._run(corpus, self.settings))

    async def write(self, outputs: Outputs) -> None:
        """Write the outputs of the result, replacing what is there: the user was asked."""
        if self.result is None or not outputs.items():
            return
        from neardup import exports  # Arrow comes with it, and would hold up the first paint

        try:
            written = await asyncio.to_thread(exports.write, self.result, outputs, force=True)
        except Exception as error:
            self.tell(why(error), "error")
        else:
            into, names = placed([one.path for one in written])
            self.tell(f"written{into}: {names}")

    def pause(self, paused: bool) -> None:
        """Stop the workers where they are, or let them go on, as the app itself is suspended and wakes."""
        if self._engine is not None:
            self._engine.pause(paused)

    async def stop(self) -> None:
        """Stop the load or run that is on; finished chunks are kept."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def finished(self) -> None:
        """Wait until nothing is on."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def _begin(self, doing: State, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._engine is None:
            self.tell("not yet: the engine is starting", "warning")
        elif self.busy:
            self.tell("not now: x stops what is on", "warning")
        else:
            self._doing, self._stopped, self.started = doing, False, time.monotonic()
            self.notes_before = len(self.notes)
            self._task = asyncio.create_task(self._guarded(work), name=doing.name.lower())
            self.changed()

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """The edge: errors become messages, and the app lives on."""
        a_run = self.running
        at = ""
        try:
            await work()
        except asyncio.CancelledError:
            if self.progress is not None:
                at = f" in {self.progress.number}/{self.progress.of} {self.progress.stage}"
            self._ended_early(a_run, f"stopped{at}; what is finished is kept" if a_run else "stopped reading", "note")
        except Exception as error:
            self._ended_early(a_run, why(error), "error")
        finally:
            self._doing = self.progress = None
            self.opening = ()
            self.changed()
            wanted, self._run_wanted = self._run_wanted, False
        if wanted and not self._stopped and self.unclear is None:
            self.run()

    def _ended_early(self, a_run: bool, text: str, severity: Severity) -> None:
        self._run_wanted = False
        self._stopped = a_run
        self.tell(text, severity)

    async def _load(self, paths: tuple[str, ...], reading: Reading) -> None:
        assert self._engine is not None
        try:
            corpus = await self._engine.load(paths, reading, on_event=self._hear)
        except ColumnError as error:
            # Not the end: tab 1 shows the columns there are, and enter takes one.
            self.corpus = self.result = None
            self.unclear = Unclear(paths, reading, why(error), error.columns)
            raise
        self.paths, self.reading = paths, reading
        self.corpus, self.unclear, self.result = corpus, None, None
        self.tell(f"loaded {corpus.rows:,} {'row' if corpus.rows == 1 else 'rows'} in {self.seconds:.1f} s")

    async def _run(self, corpus: Corpus, settings: Settings) -> None:
        assert self._engine is not None
        async with aclosing(self._engine.run(corpus, settings)) as events:
            async for event in events:
                self._hear(event)

    def _hear(self, event: Event) -> None:
        match event:
            case StageStarted():
                self.progress = Progress(event.stage, event.number, event.of, 0, event.total, event.unit)
                self._heard = time.monotonic()
                self.changed()
            case Advanced() if self.progress is not None:
                self.progress = replace(self.progress, done=event.done, total=event.total, seconds=event.seconds)
                if time.monotonic() - self._heard >= 1 / TOLD_A_SECOND:
                    self._heard = time.monotonic()
                    self.changed()
            case Preparing():
                self.tell(event.text)
            case Planned() if event.seconds >= WORTH_TELLING:
                self.tell(expected(event))
            case Warned():
                self.tell(event.text, "warning")
            case Finished():
                self.result = event.result
                self.tell(f"done in {self.seconds:.1f} s: {event.result.kept:,} kept, {event.result.removed:,} removed")


def why(error: BaseException) -> str:
    """What to tell of an error: its own sentence if it is one of ours, else its kind and place."""
    if isinstance(error, ColumnError):
        # The way out is another here than on the command line: tab 1 lists the columns and takes one.
        return OPTION.sub("", str(error))
    return str(error) if isinstance(error, NeardupError) else internal(error)


def changes(before: Any, after: Any) -> list[str]:
    """What differs between two settings, in words: `bands 20 → 16`."""
    told = []
    for name in before.__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        if hasattr(old, "__struct_fields__") and type(old) is type(new):
            told += changes(old, new)
        elif hasattr(new, "__struct_fields__"):
            told.append(f"{name} another way")
        else:
            if name in ("threshold", "recall"):  # kept in ten-thousandths
                old, new = old / 10_000, new / 10_000
            told.append(f"{name.replace('_', ' ')} {_said(old)} → {_said(new)}")
    return told


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "auto" if value is None else str(value)


def internal(error: BaseException) -> str:
    """An error nobody foresaw, in one line that cannot hold the text of a document: its kind and its place."""
    frames = traceback.extract_tb(error.__traceback__)
    # The last line of ours says more than where in a library it ended.
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(HERE)
            or Path(frame.filename).is_relative_to(ENGINE)] or frames
    at = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return f"internal error: {type(error).__name__}{at}; please report it"
