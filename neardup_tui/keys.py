"""The key table: what every key does, in one place. Bindings, the key line, help and palette are made from it.

No widget binds a printable key outside this table; `clashes` finds those that do, and a test asks it for every tab.
Left out on purpose: `[` and `O` (an arrow key that a slow link cuts in two arrives as esc, `[`, `A`), ctrl+b and ctrl+a
(tmux, screen), ctrl+s and ctrl+q (flow control), ctrl+i, ctrl+j and ctrl+m (tab and enter), alt and the F-keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from textual.binding import Binding, BindingType
from textual.keys import key_to_character

if TYPE_CHECKING:
    from textual.dom import DOMNode

Scope = Literal["everywhere", "list", "setting", "texts"]
SCOPES: dict[Scope, str] = {
    "everywhere": "Everywhere",
    "list": "On a list",
    "setting": "On a setting",
    "texts": "On the texts",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the table: `keys` as Textual names them, `short` and `hint` as the key line says it.

    `help` is the action in words, as the palette lists it; lines with the same `group` are one line of the help.
    """

    keys: tuple[str, ...]
    action: str
    scope: Scope
    short: str
    hint: str
    help: str
    group: str


@dataclass(frozen=True, slots=True)
class Hint:
    """What the key line says of one key: `jk pair` is Hint("jk", "pair")."""

    key: str
    words: str

    def __str__(self) -> str:
        return f"{self.key} {self.words}"

    def __len__(self) -> int:
        return len(str(self))


def spelled(name: str) -> str:
    """A key as people read it."""
    return _SPELLED.get(name, name)


_SPELLED = {
    "up": "↑", "down": "↓", "left": "←", "right": "→", "escape": "esc", "backspace": "bksp", "pageup": "pgup",
    "pagedown": "pgdn", "comma": ",", "full_stop": ".", "slash": "/", "colon": ":", "question_mark": "?",
}
TAB_NAMES = ("Documents", "Shingles", "Bands", "Results", "Clusters", "Export")


def _key(keys: str, action: str, scope: Scope, hint: str, help: str, *, short: str = "", group: str = "") -> Key:
    names = tuple(keys.split())
    return Key(names, action, scope, short or spelled(names[0]), hint, help, group or help)


TABLE: tuple[Key, ...] = (
    *(_key(str(number), f"tab({number})", "everywhere", name.lower(), f"tab {number} {name}",
           group="tab; , . previous, next") for number, name in enumerate(TAB_NAMES, start=1)),
    _key("comma", "step_tab(-1)", "everywhere", "previous tab", "previous tab", group="tab; , . previous, next"),
    _key("full_stop", "step_tab(1)", "everywhere", "next tab", "next tab", group="tab; , . previous, next"),
    _key("tab", "step_panel(1)", "everywhere", "panel", "next panel", group="next panel; shift: back"),
    _key("shift+tab", "step_panel(-1)", "everywhere", "panel", "previous panel", group="next panel; shift: back"),
    _key("r", "run", "everywhere", "run", "run with these settings", group="run; stop"),
    _key("x", "stop", "everywhere", "stop", "stop what is on; asks after 10 s", group="run; stop"),
    _key("u", "undo", "everywhere", "undo", "undo the last change of a setting", group="undo, redo a setting"),
    _key("U", "redo", "everywhere", "redo", "redo the change of a setting", group="undo, redo a setting"),
    _key("v", "next_view", "everywhere", "view", "next view of the tab", group="next view; zoom, and back"),
    _key("z", "zoom", "everywhere", "zoom", "zoom the focused panel, and back", group="next view; zoom, and back"),
    _key("o", "open", "everywhere", "open", "open a path", group="open a path; write export"),
    _key("e", "export", "everywhere", "write", "write the export; shows the dry run and asks",
         group="open a path; write export"),
    _key("Y", "copy_command", "everywhere", "command", "copy the equal neardup run … command", group="copy command"),
    _key("w", "messages", "everywhere", "messages", "messages and warnings", group="messages and warnings"),
    _key("colon ctrl+p", "palette", "everywhere", "commands", "all commands"),
    _key("question_mark", "help", "everywhere", "help", "help for the focused part"),
    _key("escape", "back", "everywhere", "back", "close help, messages, zoom, filter",
         group="back, one step at a time"),
    _key("ctrl+l", "redraw", "everywhere", "draw again", "draw the screen again"),
    _key("ctrl+z", "suspend", "everywhere", "suspend", "suspend, workers too; fg goes on"),
    _key("q", "quit", "everywhere", "quit", "quit; asks during a run"),
    _key("ctrl+c", "interrupt", "everywhere", "quit", "copy the selection; twice: quit"),

    _key("j down", "step_row(1)", "list", "row", "next row", short="jk", group="row"),
    _key("k up", "step_row(-1)", "list", "row", "previous row", short="jk", group="row"),
    _key("h left", "scroll_sideways(-1)", "list", "sideways", "scroll left", short="hl", group="scroll sideways"),
    _key("l right", "scroll_sideways(1)", "list", "sideways", "scroll right", short="hl", group="scroll sideways"),
    _key("g home", "first_row", "list", "first", "first row", group="first, last row"),
    _key("G end", "last_row", "list", "last", "last row", group="first, last row"),
    _key("pageup", "step_page(-1)", "list", "page", "a page up", group="page"),
    _key("pagedown", "step_page(1)", "list", "page", "a page down", group="page"),
    _key("enter", "take_row", "list", "take", "open or take the row"),
    _key("J", "scroll_texts(1)", "list", "scroll texts", "scroll the texts down", short="JK",
         group="scroll the texts below"),
    _key("K", "scroll_texts(-1)", "list", "scroll texts", "scroll the texts up", short="JK",
         group="scroll the texts below"),
    _key("slash", "filter", "list", "filter", "filter the rows; ! first: not"),
    _key("s", "sort", "list", "sort", "sort by the next column", group="sort; reverse"),
    _key("S", "reverse", "list", "reverse", "sort the other way round", group="sort; reverse"),
    _key("c", "cluster", "list", "cluster", "the pair's cluster, and back"),

    _key("j down", "step_setting(1)", "setting", "setting", "next setting", short="jk", group="next, previous setting"),
    _key("k up", "step_setting(-1)", "setting", "setting", "previous setting", short="jk",
         group="next, previous setting"),
    _key("h left", "step_value(-1)", "setting", "change", "one step down", short="←→", group="one step down, up"),
    _key("l right", "step_value(1)", "setting", "change", "one step up", short="←→", group="one step down, up"),
    _key("H pageup", "step_value(-10)", "setting", "ten steps", "ten steps down", short="HL", group="ten steps"),
    _key("L pagedown", "step_value(10)", "setting", "ten steps", "ten steps up", short="HL", group="ten steps"),
    _key("g home", "least_value", "setting", "least", "least value", group="least, greatest"),
    _key("G end", "greatest_value", "setting", "greatest", "greatest value", group="least, greatest"),
    _key("enter", "type_value", "setting", "type", "type the value"),
    _key("backspace", "default_value", "setting", "default", "default value"),
    _key("space", "switch_value", "setting", "on/off", "switch on, off"),

    _key("j down", "scroll_lines(1)", "texts", "line", "next line", short="jk", group="line"),
    _key("k up", "scroll_lines(-1)", "texts", "line", "previous line", short="jk", group="line"),
    _key("g home", "scroll_top", "texts", "top", "top", group="top, bottom"),
    _key("G end", "scroll_bottom", "texts", "bottom", "bottom", group="top, bottom"),
    _key("pageup", "scroll_page(-1)", "texts", "page", "a page up", group="page"),
    _key("pagedown", "scroll_page(1)", "texts", "page", "a page down", group="page"),
    _key("enter", "zoom", "texts", "zoom", "zoom the texts, and back"),
    _key("n", "step_difference(1)", "texts", "difference", "next difference", group="next, previous difference"),
    _key("N", "step_difference(-1)", "texts", "difference", "previous difference", group="next, previous difference"),
    _key("c", "cluster", "texts", "cluster", "the pair's cluster, and back"),
)


def rows(scope: Scope) -> list[Key]:
    return [key for key in TABLE if key.scope == scope]


def bindings(scope: Scope, without: Iterable[str] = ()) -> list[BindingType]:
    """The bindings of one scope, for `BINDINGS` of a widget whose actions have these names.

    `without` names the actions (bare: "filter") that this widget does not have: a key that does nothing is a lie.
    """
    left_out = set(without)
    return [
        Binding(",".join(key.keys), key.action, key.help, show=False, priority=key.action == "interrupt")
        for key in rows(scope) if bare(key.action) not in left_out
    ]


def bare(action: str) -> str:
    """The method's name in an action: `step_row(1)` is step_row."""
    return action.partition("(")[0]


def hint(action: str, words: str = "", key: str = "") -> Hint:
    """A hint for an action of the table, such as hint("step_row", "pair"): KeyError for a key that does not exist."""
    for row in TABLE:
        if action in (row.action, bare(row.action)):
            return Hint(key or row.short, words or row.hint)
    raise KeyError(action)


def acting(focused: DOMNode | None) -> list[tuple[Key, DOMNode]]:
    """What the keys do now: each line of the table that acts, and the part that it acts on, the focused part first."""
    return [(row, node) for row, node in bound_on(focused) if node.check_action(bare(row.action), ())]


def bound_on(focused: DOMNode | None) -> list[tuple[Key, DOMNode]]:
    """The lines of the table that this part, and what it lies in, have at all."""
    found: list[tuple[Key, DOMNode]] = []
    taken: set[str] = set()
    for node in focused.ancestors_with_self if focused is not None else ():
        bound = node._bindings.key_to_bindings
        for row in TABLE:
            names = [name for name in row.keys if name not in taken]
            if any(binding.action == row.action for name in names for binding in bound.get(name, ())):
                found.append((row, node))
        taken.update(bound)
    return found


def help_lines(table: Iterable[Key]) -> list[tuple[str, str]]:
    """Lines of the help, keys and meaning: `j k ↓ ↑` and `row`."""
    groups: dict[str, list[str]] = {}
    for row in table:
        groups.setdefault(row.group, []).extend(row.keys)
    return [(_together(names), group) for group, names in groups.items()]


def _together(names: list[str]) -> str:
    """Letters before the named keys, as people say them; the digits as a range."""
    if names[0].isdigit():
        return f"{names[0]} … {[name for name in names if name.isdigit()][-1]}"
    letters = [name for name in names if len(name) == 1]
    others = [spelled(name) for name in names if len(name) > 1 and name != "shift+tab"]
    return " ".join(letters + others)


def clashes(nodes: Iterable[DOMNode] = ()) -> list[str]:
    """Sentences about keys that mean two things: inside the table, and on these widgets against the table."""
    told: list[str] = []
    seen: dict[tuple[str, str], Key] = {}
    everywhere = {name: row for row in rows("everywhere") for name in row.keys}
    for row in TABLE:
        for name in row.keys:
            if (row.scope, name) in seen:
                told.append(f"{name} is both {seen[row.scope, name].action} and {row.action} ({row.scope})")
            elif row.scope != "everywhere" and name in everywhere:
                told.append(f"{name} is {everywhere[name].action} everywhere and {row.action} on {row.scope}")
            seen[row.scope, name] = row
    known = {(name, row.action) for row in TABLE for name in row.keys}
    for node in nodes:
        for name, bound in node._bindings.key_to_bindings.items():
            for binding in bound:
                if _is_ours(name) and (name, binding.action) not in known:
                    told.append(f"{type(node).__name__} binds {name} to {binding.action}: not in the table")
    return told


def _is_ours(name: str) -> bool:
    """Printable keys, and the named ones of the table; the caret keys of an open field are not."""
    character = key_to_character(name)
    return (character or "\n").isprintable() or name in ("tab", "shift+tab", "enter", "escape")
