"""The app and its one screen: it owns the state, hands it down to the tabs, and answers what they report."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.reactive import var
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from neardup import Corpus, Reading, Result, Settings, SourceError
from neardup_tui import clipboard, theme
from neardup_tui.frame import (
    LEAST,
    WIDE,
    CorpusLine,
    KeyLine,
    MessageLine,
    Rule,
    RunLine,
    TabRow,
    TooSmall,
)
from neardup_tui.help import Reader, help_page, messages_page
from neardup_tui.keys import TAB_NAMES, Hint, acting, bindings, bound_on, hint
from neardup_tui.messages import (
    ClusterHighlighted,
    EditEnded,
    EditStarted,
    ExportWanted,
    HintsChanged,
    OpenPath,
    PairHighlighted,
    PathWanted,
    RowHighlighted,
    RunWanted,
    SettingsChanged,
    TabWanted,
    Told,
)
from neardup_tui.palette import Palette
from neardup_tui.question import Answer, Question
from neardup_tui.session import COLUMN_FIRST, Choice, Engine, Note, Progress, Session, State, Unclear, internal
from neardup_tui.tabs.base import Tab
from neardup_tui.widgets.cells import safe
from neardup_tui.widgets.field import Field, PathField
from neardup_tui.widgets.panel import Panel

if TYPE_CHECKING:
    from neardup import Launcher
    from neardup.exports import Outputs

MakeEngine = Callable[[], AbstractAsyncContextManager[Engine]]

ASKS_AFTER = 10.0  # seconds: to stop what is younger loses nothing worth a question
PATIENCE = 3.0  # seconds that a hung-up or terminated app gets to leave in order
TWICE = 2.0  # seconds between two ctrl+c that quit


class MainScreen(Screen[None], inherit_bindings=False):
    """Frame, tabs, and what covers them. Data goes down by reactives, messages come up."""

    DEFAULT_CSS = """
    MainScreen { layers: base above; background: $background; color: $foreground; }
    #content { height: 1fr; }
    #below, #asked { height: auto; }
    #below > Panel { height: auto; }
    #below PathField { padding: 0 1; }
    MainScreen.-wide #message, MainScreen.-wide #run { display: block; }
    """
    BINDINGS = bindings("everywhere")
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"), (WIDE, "-wide"),
    ]

    corpus: var[Corpus | None] = var[Corpus | None](None)
    settings: var[Settings] = var(Settings())
    result: var[Result | None] = var[Result | None](None, always_update=True)
    running: var[Progress | None] = var[Progress | None](None)
    choice: var[Choice] = var(Choice())
    unclear: var[Unclear | None] = var[Unclear | None](None)
    paths: var[tuple[str, ...]] = var[tuple[str, ...]](())
    reading: var[Reading] = var(Reading())
    opening: var[tuple[str, ...]] = var[tuple[str, ...]](())
    written: var[int] = var(0)
    preparing: var[str] = var("")

    def __init__(self, session: Session, paths: tuple[str, ...], reading: Reading) -> None:
        super().__init__()
        self.session = session
        session.changed = self._session_changed
        self.set_reactive(MainScreen.settings, session.settings)
        self._first = (paths, reading)
        self.set_reactive(MainScreen.opening, paths)  # from the first paint on
        self._tabs: dict[int, Tab] = {}
        self._number = 0
        self._covering: Reader | Palette | None = None
        self._question: Question | None = None
        self._prompt: Panel | None = None
        self._beneath: Widget | None = None  # what had the keys before a cover, a question or the prompt
        self._read = 0  # notes already seen when the tab or a setting last changed
        self._interrupted = 0.0
        self._starting: asyncio.Task[None] | None = None

    def compose(self) -> ComposeResult:
        yield CorpusLine(id="corpus")
        yield TabRow()
        yield Vertical(id="content")
        yield Vertical(id="below")
        yield Rule()
        yield Vertical(id="asked")
        yield MessageLine(id="message")
        yield RunLine(id="run")
        yield KeyLine(id="keys")
        yield TooSmall()

    async def on_mount(self) -> None:
        await self._show_tab(1)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        # The workers start once something is on the screen: with them it would come half a second later.
        self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        paths, reading = self._first
        if await self.session.start() and paths:
            await self.session.open(paths, reading)

    async def on_unmount(self) -> None:
        self.session.changed = lambda: None
        if self._starting is not None:
            self._starting.cancel()
        await self.session.close()

    # The state, down

    def _session_changed(self) -> None:
        if not self.is_attached:
            return
        session = self.session
        if session.corpus is not self.corpus:
            self.choice = Choice()
        elif session.result is not self.result:
            self.choice = replace(self.choice, pair=None, cluster=None)
        self.preparing = first_words(session) if len(session.notes) > session.notes_before else ""
        self.opening = session.opening
        self.paths = session.paths
        self.reading = session.reading
        self.unclear = session.unclear
        self.corpus = session.corpus
        self.settings = session.settings
        if session.result is not self.result:
            self.result = session.result
        self.running = session.progress
        self.draw_frame()

    def draw_frame(self) -> None:
        """Bring the lines of the frame up to date; each draws itself only if what it shows has changed."""
        session = self.session
        wide = self.size.width >= WIDE
        top = self.query_one(CorpusLine)
        top.about, top.state = described(session, wide), session.state
        self.query_one(TabRow).active = max(1, self._number)
        run = self.query_one(RunLine)
        run.doing = session.state if session.busy else None
        run.progress = session.progress
        run.idle = idle_words(session)
        run.first = first_words(session)
        message = self.query_one(MessageLine)
        message.note = self._note()
        asks = self._question is not None
        message.display = not asks and (wide or not session.busy)
        run.display = not asks and (wide or session.busy)
        keys = self.query_one(KeyLine)
        keys.hints, keys.last = self._hints()

    def _note(self) -> Note | Text | None:
        notes = self.session.notes
        if len(notes) <= self._read and (tab := self.tab) is not None and (words := tab.status()) is not None:
            return words
        return notes[-1] if len(notes) > self._read else None

    def _hints(self) -> tuple[tuple[Hint, ...], Hint]:
        if self._question is not None:
            return tuple(self._question.hints()), self._question.last_hint
        if isinstance(self._covering, Palette):
            return tuple(self._covering.hints()), hint("back")
        if isinstance(self.focused, Input):
            words = "complete" if self._prompt is not None else "accept, go on"
            return (Hint("enter", "accept"), Hint("tab", words)), hint("back")
        last = hint("help")
        if self._covering is not None:
            return tuple(self._covering.hints()), last
        session, hints = self.session, list(self.tab.hints() if self.tab is not None else [])
        if session.busy:
            hints.insert(0, hint("stop"))
        elif session.corpus is not None and session.state is not State.CURRENT:
            hints.insert(0, hint("run"))
        if session.undoable:
            hints.append(hint("undo"))
        hints += [hint("palette"), hint("quit")]
        return tuple({str(each): each for each in hints}.values()), last

    def on_resize(self, event: events.Resize) -> None:
        small = event.size.width < LEAST[0] or event.size.height < LEAST[1]
        self.query_one(TooSmall).display = small
        self.query_one(TooSmall).refresh()
        self.draw_frame()

    # Tabs

    @property
    def tab(self) -> Tab | None:
        return self._tabs.get(self._number)

    async def _show_tab(self, number: int) -> None:
        """Show a tab, made when it is first asked for, with the keys where they were."""
        await self._remove_cover()
        if number != self._number:
            # With a focus left in the old tab, hiding it would move the focus about.
            self.set_focus(None)
            if self.tab is not None:
                self.tab.display = False
            self._number, self._read = number, len(self.session.notes)
            if number not in self._tabs:
                tab = self._tabs[number] = make_tab(number)
                handed = (
                    MainScreen.corpus, MainScreen.settings, MainScreen.result, MainScreen.running, MainScreen.choice,
                    MainScreen.unclear, MainScreen.paths, MainScreen.reading, MainScreen.written,
                    MainScreen.opening, MainScreen.preparing)
                with self._context():  # a key's action runs in the app's: data comes from this screen
                    tab.data_bind(*(one for one in handed if one.name in tab._reactives))
                await self.query_one("#content").mount(tab)
            self._tabs[number].display = True
            self.call_after_refresh(self._focus_tab)
        self.draw_frame()

    def _focus_tab(self) -> None:
        if self.tab is not None and self._covering is None and self._question is None and self._prompt is None:
            self.tab.focus_panel()
            self.draw_frame()

    async def action_tab(self, number: int) -> None:
        await self._show_tab(number)

    async def action_step_tab(self, step: int) -> None:
        await self._show_tab((self._number - 1 + step) % len(TAB_NAMES) + 1)

    @on(TabRow.Clicked)
    async def _tab_clicked(self, event: TabRow.Clicked) -> None:
        await self._show_tab(event.number)

    def action_step_panel(self, step: int) -> None:
        if self._covering is None and self.tab is not None:
            self.tab.step_panel(step)

    def action_next_view(self) -> None:
        if self.tab is not None:
            self.tab.next_view()

    def action_zoom(self) -> None:
        if self.tab is not None:
            self.tab.toggle_zoom()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key of the table does something now; key line, help and palette show it only then."""
        session, covered = self.session, self._covering is not None
        if action == "next_view":
            return not covered and self.tab is not None and bool(self.tab.views)
        if action == "zoom":
            return not covered and self.tab is not None and (
                self.tab.zoomed is not None or self.tab.focused_panel() is not None)
        if action == "stop":
            return session.busy
        if action == "copy_command":
            return session.corpus is not None and not session.busy
        return True

    # What covers the tabs, and what comes back

    async def _show_cover(self, cover: Reader | Palette) -> None:
        await self._remove_cover()
        self._beneath = self.focused
        self.set_focus(None)
        if self.tab is not None:
            self.tab.display = False
        self._covering = cover
        await self.query_one("#content").mount(cover)
        self.draw_frame()

    async def _remove_cover(self) -> None:
        if self._covering is None:
            return
        cover, self._covering = self._covering, None
        self.set_focus(None)
        await cover.remove()
        if self.tab is not None:
            self.tab.display = True
            self._give_back()

    def _give_back(self) -> None:
        """The keys go back to where they were."""
        beneath, self._beneath = self._beneath, None
        if beneath is not None and beneath.is_attached and beneath.focusable:
            self.set_focus(beneath)
        else:
            self._focus_tab()
        self.draw_frame()

    async def action_help(self) -> None:
        if isinstance(self._covering, Reader) and self._covering.name == "help":
            await self._remove_cover()
            return
        table = [row for row, _ in bound_on(self.focused or self)]
        about = self.tab.about() if self.tab is not None else ""
        title = f"Help: {self._number} {TAB_NAMES[self._number - 1]}"
        await self._show_cover(help_page(title, about, table, self.size.width))

    async def action_messages(self) -> None:
        if isinstance(self._covering, Reader) and self._covering.name == "messages":
            await self._remove_cover()
        else:
            await self._show_cover(messages_page(self.session.notes))

    async def action_palette(self) -> None:
        if isinstance(self._covering, Palette):
            await self._remove_cover()
        else:
            await self._remove_cover()
            await self._show_cover(Palette(acting(self.focused or self)))

    @on(Palette.Chosen)
    async def _command_chosen(self, event: Palette.Chosen) -> None:
        await self._remove_cover()
        if event.command is not None:
            row, node = event.command
            await self.app.run_action(row.action, node)

    async def action_back(self) -> None:
        if self._covering is not None:
            await self._remove_cover()
        elif self.tab is not None:
            self.tab.close()
        self.draw_frame()

    async def ask(self, text: str, on_yes: Answer, *, yes: str = "yes", no: str = "no") -> None:
        """Ask in place of the status lines; `on_yes` is called after enter."""
        if self._question is not None:
            return
        self._beneath = self._beneath or self.focused
        self._question = Question(text, on_yes, yes=yes, no=no)
        await self.query_one("#asked").mount(self._question)
        self._question.focus()
        self.draw_frame()

    @on(Question.Answered)
    async def _answered(self, event: Question.Answered) -> None:
        if self._question is not event.question:
            return
        self._question = None
        self.set_focus(None)
        await event.question.remove()
        self._give_back()
        if event.yes and (doing := event.question.on_yes()) is not None:
            await doing

    # Opening

    async def action_open(self) -> None:
        if self._prompt is not None:
            return
        await self._remove_cover()
        self._read = len(self.session.notes)
        self._beneath = self.focused
        self._prompt = Panel(PathField(placeholder="file or folder", check=check_path), title="Open a path",
                             right="also .gz and .zst")
        await self.query_one("#below").mount(self._prompt)
        self.draw_frame()

    async def _close_prompt(self) -> None:
        if self._prompt is not None:
            prompt, self._prompt = self._prompt, None
            self.set_focus(None)
            await prompt.remove()
            self._give_back()

    @on(Field.Accepted)
    async def _path_accepted(self, event: Field.Accepted) -> None:
        await self._close_prompt()
        await self._open((str(Path(event.value.strip()).expanduser()),), Reading())

    @on(Field.GivenBack)
    async def _path_given_back(self) -> None:
        await self._close_prompt()

    @on(PathWanted)
    async def _path_wanted(self) -> None:
        await self.action_open()

    @on(OpenPath)
    async def _open_path(self, event: OpenPath) -> None:
        await self._open(event.paths, event.reading)

    async def _open(self, paths: tuple[str, ...], reading: Reading) -> None:
        await self._show_tab(1)
        self._read = len(self.session.notes)
        await self.session.open(paths, reading)

    # Settings and what is marked

    @on(SettingsChanged)
    def _settings_changed(self, event: SettingsChanged) -> None:
        self._read = len(self.session.notes)
        self.session.change(event.settings, event.about)

    def action_undo(self) -> None:
        self._read = len(self.session.notes)
        self.session.undo()

    def action_redo(self) -> None:
        self._read = len(self.session.notes)
        self.session.redo()

    @on(RowHighlighted)
    def _row_highlighted(self, event: RowHighlighted) -> None:
        self.choice = replace(self.choice, row=event.row)

    @on(PairHighlighted)
    def _pair_highlighted(self, event: PairHighlighted) -> None:
        self.choice = replace(self.choice, pair=event.index)

    @on(ClusterHighlighted)
    def _cluster_highlighted(self, event: ClusterHighlighted) -> None:
        self.choice = replace(self.choice, cluster=event.label)

    @on(TabWanted)
    async def _tab_wanted(self, event: TabWanted) -> None:
        await self._show_tab(event.number)

    @on(Told)
    def _told(self, event: Told) -> None:
        self.session.tell(event.text, event.severity)

    @on(HintsChanged)
    @on(EditStarted)
    @on(EditEnded)
    def _keys_changed(self) -> None:
        self.call_after_refresh(self.draw_frame)

    # Runs

    def action_run(self) -> None:
        self._run_wanted()

    @on(RunWanted)
    def _run_wanted(self) -> None:
        self._read = len(self.session.notes)
        if self.session.corpus is None and not self.session.busy:
            unclear = self.session.unclear is not None
            self.session.tell(COLUMN_FIRST if unclear else "no documents yet: o opens some", "warning")
        elif self.session.state is State.CURRENT:
            self.session.tell("results are current: nothing to run")
        else:
            self.session.run()

    def action_suspend(self) -> None:
        self.app.action_suspend_process()

    async def action_stop(self) -> None:
        if self.session.seconds > ASKS_AFTER:
            what = "the run" if self.session.running else "reading"
            await self.ask(f"Stop {what}? What is finished is kept.", self.session.stop, yes="stop", no="go on")
        else:
            await self.session.stop()

    # Export

    async def action_export(self) -> None:
        from neardup_tui.tabs.export import ExportTab

        await self._show_tab(6)
        self._read = len(self.session.notes)
        tab = self.tab
        if self.session.busy:
            self.session.tell("not now: x stops what is on", "warning")
        elif self.session.result is None:
            self.session.tell("nothing to write yet: r runs first", "warning")
        elif isinstance(tab, ExportTab):
            tab.want()

    @on(ExportWanted)
    async def _export_wanted(self, event: ExportWanted) -> None:
        await self.ask(event.question, lambda: self._write(event.outputs), yes="write", no="leave it")

    async def _write(self, outputs: Outputs) -> None:
        await self.session.write(outputs)
        self.written += 1

    async def action_copy_command(self) -> None:
        from neardup import exports

        session = self.session
        outputs = getattr(self._tabs.get(6), "outputs", None)
        settings = session.result.settings if session.result is not None else session.settings
        line = shlex.join(exports.command_for(session.paths, session.reading, settings, outputs))
        how = await clipboard.send(line, self._to_terminal)
        session.tell(f"{how}: {line}")

    def _to_terminal(self, code: str) -> None:
        if self.app._driver is not None:
            self.app._driver.write(code)

    # Leaving

    async def action_quit(self) -> None:
        if self.session.busy:
            what = "The run is on" if self.session.running else "Reading is on"
            await self.ask(f"{what}: stop it and quit? What is finished is kept.", self.app.exit,
                           yes="stop and quit", no="stay")
        else:
            self.app.exit()

    async def action_interrupt(self) -> None:
        focused = self.focused
        chosen = self.get_selected_text() or (focused.selected_text if isinstance(focused, Input) else "")
        if chosen:
            self.session.tell(await clipboard.send(chosen, self._to_terminal))
            return
        now = time.monotonic()
        if now - self._interrupted < TWICE:
            self.app.exit(return_code=128 + signal.SIGINT)
            return
        self._interrupted = now
        self.session.tell("q quits, x stops; ctrl+c again quits at once")

    def action_redraw(self) -> None:
        self.app.refresh(layout=True)
        self.refresh(layout=True)


def make_tab(number: int) -> Tab:
    """A tab is imported when it is first shown: plots and their library would come too early otherwise."""
    name = TAB_NAMES[number - 1]
    made = getattr(import_module(f"neardup_tui.tabs.{name.lower()}"), f"{name}Tab")()
    assert isinstance(made, Tab)
    return made


def described(session: Session, wide: bool) -> tuple[str, ...]:
    """What is loaded, for row 1: the name, the text column where there is one, the rows."""
    if session.corpus is None:
        if session.unclear is not None:
            return (name_of(session.unclear.paths), "no text column")
        return ("no documents yet",)
    if session.opening and session.opening != session.paths:
        return (f"reading {name_of(session.opening)}", f"still {name_of(session.paths)}")
    corpus = session.corpus
    columns = {one.text_column for one in corpus.inputs}
    column = columns.pop() if len(columns) == 1 else None
    rows = f"{corpus.rows:,} {'row' if corpus.rows == 1 else 'rows'}"
    if wide and session.result is not None:
        rows += f", {len(session.result.documents):,} documents"
    return tuple(part for part in (name_of(session.paths), safe(column or ""), rows) if part)


def name_of(paths: Iterable[str]) -> str:
    """tickets.csv, or the first of several and how many more."""
    first, *others = (Path(path).name or path for path in paths)
    return safe(f"{first} and {len(others)} more" if others else first)


def idle_words(session: Session) -> str:
    if session.result is None:
        return "idle"
    spent = session.result.seconds
    stages = "  ".join(f"{stage} {seconds:.1f}" for stage, seconds in spent.items())
    return f"idle · last run {sum(spent.values()):.1f} s: {stages}"


def first_words(session: Session) -> str:
    """What keeps a load or run from its first stage; kernels are compiled then, once on a machine."""
    told = session.notes[-1].text if len(session.notes) > session.notes_before else ""
    return told or "starting"


def check_path(text: str) -> None:
    path = Path(text.strip()).expanduser()
    if not text.strip():
        raise SourceError("no path yet: type one, tab completes it, esc leaves")
    if not path.exists():
        raise SourceError(f"{safe(text.strip())} is not there")
    if not os.access(path, os.R_OK):
        raise SourceError(f"{safe(text.strip())} may not be read by you")


class NeardupApp(App[None], inherit_bindings=False):
    """Theme, signals and the end; all else is the screen's."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "neardup"

    def __init__(
        self,
        paths: tuple[str, ...] = (),
        reading: Reading | None = None,
        settings: Settings | None = None,
        workers: int | None = None,
        launcher: Launcher | None = None,
        *,
        engine: MakeEngine | None = None,
    ) -> None:
        super().__init__()
        self.session = Session(engine or (lambda: _engine(workers, launcher)), settings)
        self.crash = ""
        self._first = (paths, reading or Reading())
        self.register_theme(theme.DARK)
        if not os.environ.get("TEXTUAL_THEME"):
            self.theme = theme.DARK.name

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(self.session, *self._first)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.VARIABLES

    def on_mount(self) -> None:
        if self.is_headless:  # a test's own loop keeps its own signals
            return
        # At once: when a message would be heard, this process is stopped already.
        self.app_suspend_signal.subscribe(self, lambda _: self.session.pause(True), immediate=True)
        self.app_resume_signal.subscribe(self, lambda _: self.session.pause(False), immediate=True)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM):
            # Without this a lost connection kills without clean-up, or leaves a process that reads an ended file.
            loop.add_signal_handler(number, self._ended, 128 + number)

    def _ended(self, code: int) -> None:
        """Leave in order; but where the terminal is gone Textual waits for ever to write its last words (its writer
        thread has died and the queue to it is full: seen), so leave without. Launcher and workers go with us."""
        self.exit(return_code=code)
        last = threading.Timer(PATIENCE, os._exit, (code,))
        last.daemon = True
        last.start()

    def _handle_exception(self, error: Exception) -> None:
        """Textual's own traceback prints local variables, and so could print documents: say the kind and place only."""
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self.crash = self.crash or internal(error)
        self._close_messages_no_wait()


@asynccontextmanager
async def _engine(workers: int | None, launcher: Launcher | None) -> AsyncIterator[Engine]:
    # Not at the top: all this loads after the first paint, what takes its time in a thread.
    from neardup import Engine as RealEngine
    from neardup import single

    await asyncio.to_thread(single.prepare_kernels)
    async with RealEngine(workers=workers, launcher=launcher) as engine:
        await engine.start()
        yield cast(Engine, engine)
