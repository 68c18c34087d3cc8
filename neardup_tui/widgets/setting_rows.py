"""Settings as rows: `▸ threshold t  ‹ 0.80 ›`. A row has the focus, so letters stay keys; enter opens a field on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from neardup_tui.keys import bindings
from neardup_tui.widgets.cells import count, fitted, safe
from neardup_tui.widgets.field import Field
from neardup_tui.widgets.panel import OwnMark

Value = int | str | bool


@dataclass(frozen=True, kw_only=True)
class Setting:
    """`name` is what Changed carries, `label` what stands on the screen, `note` what stands beside the value."""

    name: str
    label: str
    default: Value
    note: str = ""

    def text(self, value: Value) -> str:
        return str(value)

    def read(self, text: str) -> Value:
        """The value that was typed; NeardupError or ValueError, with a sentence for the user, if it cannot be one."""
        return text

    def stepped(self, value: Value, steps: int) -> Value:
        return value

    def end(self, greatest: bool) -> Value | None:
        """The least or the greatest value; None: it has none."""
        return None

    @property
    def typed(self) -> bool:
        """Whether enter opens a field; else it takes the next value."""
        return True


@dataclass(frozen=True, kw_only=True)
class Choice(Setting):
    """One of several; each option is its value and its words. Steps go round, ten steps to the end."""

    options: tuple[tuple[Value, str], ...]

    def text(self, value: Value) -> str:
        return next((words for option, words in self.options if option == value), str(value))

    def stepped(self, value: Value, steps: int) -> Value:
        if abs(steps) > 1:
            return self.end(greatest=steps > 0)
        values = [option for option, _ in self.options]
        return values[(values.index(value) + steps) % len(values)] if value in values else values[0]

    def end(self, greatest: bool) -> Value:
        return self.options[-1 if greatest else 0][0]

    @property
    def typed(self) -> bool:
        return False


def switch(name: str, label: str, default: bool, note: str = "") -> Choice:
    """On or off; the space bar turns it over."""
    return Switch(name=name, label=label, default=default, note=note, options=((False, "off"), (True, "on")))


class Switch(Choice):
    """Made by `switch`; the space bar is its own key."""


@dataclass(frozen=True, kw_only=True)
class Stepper(Setting):
    """A whole number from `least` to `most`; a step goes to the next multiple of `step`.

    Decimals are whole numbers of a small unit: `shown` writes them and `parse` reads them (and knows the rule).
    """

    least: int
    most: int
    step: int = 1
    shown: Callable[[int], str] = count
    parse: Callable[[str], int] | None = None

    def text(self, value: Value) -> str:
        return self.shown(int(value))

    def read(self, text: str) -> int:
        plain = text.strip().replace(",", "").replace("_", "")
        if self.parse is not None:
            value = self.parse(text.strip())
        elif plain.lstrip("-").isdecimal() and len(plain) < 20:
            value = int(plain)
        else:
            raise ValueError(f"{self.label} {safe(text)!r} is not a whole number: {self._range()}")
        if not self.least <= value <= self.most:
            raise ValueError(f"{self.label} {safe(text)} is out of range: {self._range()}")
        return value

    def _range(self) -> str:
        return f"give {self.shown(self.least)} to {self.shown(self.most)}"

    def stepped(self, value: Value, steps: int) -> int:
        now = int(value)
        # From 0.853 a step of 0.01 goes to 0.86 or 0.85: values stay round.
        whole = now // self.step if steps > 0 else -(-now // self.step)
        return max(self.least, min((whole + steps) * self.step, self.most))

    def end(self, greatest: bool) -> int:
        return self.most if greatest else self.least


@dataclass(frozen=True, kw_only=True)
class Typed(Setting):
    """A text; `parse` gives the value kept for what was typed, or raises with the reason why not."""

    parse: Callable[[str], str] = field(default=str)

    def read(self, text: str) -> str:
        return self.parse(text)


class SettingRows(OwnMark, Widget, can_focus=True):
    """A panel of settings. Posts Changed; the owner answers with `show`, which is always right."""

    DEFAULT_CSS = """
    SettingRows {
        height: auto; layers: below above;
        & .setting--label { color: $text; }
        & .setting--value { color: $text; text-style: bold; }
        & .setting--fixed { color: $text-muted; }
        & .setting--note { color: $text-muted; }
        & .setting--message { color: $text-error; }
        & .setting--here { color: $text; text-style: bold; }
        &:focus .setting--here { background: $primary 25%; text-style: bold; }
        & Field { position: absolute; height: 1; layer: above; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "setting--label", "setting--value", "setting--fixed", "setting--note", "setting--message", "setting--here",
    }
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("setting")]

    at: reactive[int] = reactive(0, init=False)

    class Changed(Message):
        def __init__(self, rows: SettingRows, name: str, value: Value) -> None:
            super().__init__()
            self.rows = rows
            self.name = name
            self.value = value

        @property
        def control(self) -> SettingRows:
            return self.rows

    class Moved(Message):
        """The focus mark stands before another setting."""

        def __init__(self, rows: SettingRows, name: str) -> None:
            super().__init__()
            self.rows = rows
            self.name = name

    def __init__(self, *settings: Setting, fixed: Collection[str] = (),
                 check: Callable[[str, Value], object] | None = None, id: str | None = None) -> None:
        """`check` knows the rules between settings: name and value typed; it raises as `Setting.read` does."""
        super().__init__(id=id)
        self._settings = settings
        self._check = check
        self._values: dict[str, Value] = {setting.name: setting.default for setting in settings}
        self._notes: Mapping[str, str | Text] = {}
        self._messages: dict[str, str] = {}
        self._fixed = frozenset(fixed)
        self._hidden: frozenset[str] = frozenset()
        self._field: Field | None = None

    # What it shows

    @property
    def values(self) -> dict[str, Value]:
        return dict(self._values)

    @property
    def current(self) -> Setting:
        """The setting that has the focus mark."""
        return self._shown[min(self.at, len(self._shown) - 1)]

    def show(
        self,
        values: Mapping[str, Value],
        *,
        notes: Mapping[str, str | Text] | None = None,
        messages: Mapping[str, str] | None = None,
        fixed: Collection[str] | None = None,
        hidden: Collection[str] | None = None,
    ) -> None:
        """The values as they are. What is None stays as it is, but messages: a new value takes the old ones away.

        notes     beside the value: a word or two      messages  below the setting, in the colour of errors
        fixed     follow from others: no focus, no ‹ › hidden    not there at all
        """
        name = self.current.name
        self._values.update(values)
        self._notes = self._notes if notes is None else notes
        self._messages = dict(messages or {})
        self._fixed = self._fixed if fixed is None else frozenset(fixed)
        self._hidden = self._hidden if hidden is None else frozenset(hidden)
        self.set_reactive(SettingRows.at, self._nearest(name))
        self.refresh(layout=True)

    def refuse(self, name: str, why: str) -> None:
        """Say below a setting why its last value was not taken."""
        self._messages[name] = why
        self.refresh(layout=True)

    @property
    def _shown(self) -> list[Setting]:
        return [setting for setting in self._settings if setting.name not in self._hidden]

    def _nearest(self, name: str) -> int:
        shown = self._shown
        at = next((index for index, setting in enumerate(shown) if setting.name == name), 0)
        free = [index for index, setting in enumerate(shown) if setting.name not in self._fixed]
        return min(free, key=lambda index: abs(index - at), default=0)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the field is open, only its own keys act."""
        return self._field is None or not action.endswith(("_setting", "_value"))

    def watch_at(self) -> None:
        self.post_message(self.Moved(self, self.current.name))

    def action_step_setting(self, step: int) -> None:
        free = [index for index, setting in enumerate(self._shown) if setting.name not in self._fixed]
        beyond = [index for index in free if (index - self.at) * step > 0]
        if beyond:
            self.at = beyond[0] if step > 0 else beyond[-1]

    def action_step_value(self, steps: int) -> None:
        self._change(self.current.stepped(self._values[self.current.name], steps))

    def action_least_value(self) -> None:
        self._change(self.current.end(greatest=False))

    def action_greatest_value(self) -> None:
        self._change(self.current.end(greatest=True))

    def action_default_value(self) -> None:
        self._change(self.current.default)

    def action_switch_value(self) -> None:
        if isinstance(self.current, Switch):
            self.action_step_value(1)

    async def action_type_value(self) -> None:
        setting = self.current
        if setting.name in self._fixed:
            return
        if not setting.typed:
            self.action_step_value(1)
            return
        self._messages.pop(setting.name, None)
        self._field = Field(setting.text(self._values[setting.name]), check=self._checked)
        self._field.styles.offset = (self._value_at + 2, self._line_of(self.at))
        self._field.styles.width = max(8, self.size.width - self._value_at - 3)
        await self.mount(self._field)
        self._field.focus()

    def _checked(self, text: str) -> None:
        value = self.current.read(text)
        if self._check is not None:
            self._check(self.current.name, value)

    def _change(self, value: Value | None) -> None:
        setting = self.current
        if value is None or value == self._values[setting.name] or setting.name in self._fixed:
            return
        self._values[setting.name] = value
        self._messages.pop(setting.name, None)
        self.refresh(layout=True)
        self.post_message(self.Changed(self, setting.name, value))

    async def on_field_accepted(self, message: Field.Accepted) -> None:
        message.stop()
        await self._close()
        self._change(self.current.read(message.value))
        if message.onward:
            self.action_step_setting(1)

    async def on_field_given_back(self, message: Field.GivenBack) -> None:
        message.stop()
        await self._close()

    def on_field_refused(self, message: Field.Refused) -> None:
        message.stop()
        self.refuse(self.current.name, message.why)

    async def _close(self) -> None:
        opened, self._field = self._field, None
        self._messages.pop(self.current.name, None)
        if opened is not None:
            self.focus()
            await opened.remove()
        self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        for index, setting in enumerate(self._shown):
            if self._line_of(index) == event.y and setting.name not in self._fixed and self._field is None:
                self.at = index

    # Drawing

    @property
    def _value_at(self) -> int:
        """Where `‹` stands: the mark and a blank, the longest label and a blank."""
        return 3 + max(cell_len(setting.label) for setting in self._shown)

    def _line_of(self, index: int) -> int:
        before = self._shown[:index]
        return len(before) + sum(len(self._message(setting, self.size.width)) for setting in before)

    def _message(self, setting: Setting, width: int) -> list[str]:
        words = self._messages.get(setting.name)
        if not words:
            return []
        wrapped = Text(f"! {words}").wrap(self.app.console, max(10, width - 5))
        return [line.plain.rstrip() for line in wrapped]

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        shown = self._shown
        return len(shown) + sum(len(self._message(setting, width)) for setting in shown)

    def render_line(self, y: int) -> Strip:
        line = 0
        for index, setting in enumerate(self._shown):
            if line == y:
                return self._strip(self._row(index, setting))
            line += 1
            for words in self._message(setting, self.size.width):
                if line == y:
                    return self._strip(Text(f"    {words}", self._style("message")))
                line += 1
        return Strip.blank(self.size.width, self.rich_style)

    def _row(self, index: int, setting: Setting) -> Text:
        here = index == self.at and self.has_focus
        fixed = setting.name in self._fixed
        words = self._words(setting)
        marked = index == self.at and (here or self._field is not None)
        row = Text().append("▸ " if marked else "  ", self._style("value"))
        row.append(fitted(setting.label, self._value_at - 3) + " ", self._style("label"))
        if fixed:
            row.append(f"  {words}  ", self._style("fixed"))
        else:
            row.append(f"‹ {words} ›", self._style("here" if here else "value"))
        note = self._notes.get(setting.name, setting.note)
        if note:
            row.append(" " * max(1, self._note_at - row.cell_len))
            row.append_text(note if isinstance(note, Text) else Text(safe(note), self._style("note")))
        return row

    def _words(self, setting: Setting) -> str:
        """The value as it stands on the screen."""
        return safe(setting.text(self._values[setting.name]))

    @property
    def _note_at(self) -> int:
        """Notes stand in one column, behind the values that have one."""
        noted = [setting for setting in self._shown if self._notes.get(setting.name, setting.note)]
        widest = max((cell_len(safe(setting.text(self._values[setting.name]))) for setting in noted), default=0)
        return self._value_at + widest + 5

    def _strip(self, row: Text) -> Strip:
        row.truncate(self.size.width, overflow="ellipsis")
        strip = Strip(row.render(self.app.console)).apply_style(self.rich_style)
        return strip.adjust_cell_length(self.size.width, self.rich_style)

    def _style(self, part: str) -> Style:
        return self.get_component_rich_style(f"setting--{part}")
