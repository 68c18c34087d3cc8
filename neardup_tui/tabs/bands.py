"""3 Bands: the threshold, how b × r is chosen, and what that choice finds and misses, before any run."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from math import gcd
from typing import ClassVar

import msgspec
from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widget import Widget

from neardup import (
    ByHand,
    ByRecall,
    ByWeights,
    Settings,
    SettingsError,
    areas,
    best_eight,
    candidate_probability,
    chosen,
    steepest,
)
from neardup.curve import Ranked
from neardup.results import Banding
from neardup.settings import MAX_PERMUTATIONS, ONE, as_decimal, parse_weights, ten_thousandths
from neardup_tui.keys import Hint, hint
from neardup_tui.messages import HintsChanged, SettingsChanged
from neardup_tui.tabs.base import Tab
from neardup_tui.widgets.cells import decimal, percent, safe
from neardup_tui.widgets.long_list import Cell, Column, LongList
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.setting_rows import Choice, SettingRows, Stepper, Typed, Value

AT_ONCE = 2_048  # hashes: up to here all choices of b × r are weighed in 15 ms
TALL = 28  # from here on there is room for what is found at each J


def written(places: int) -> dict[str, object]:
    """How a stepper of ten-thousandths writes them: with so many decimals, more where a typed value has more."""

    def shown(value: int) -> str:
        text = f"{value / ONE:.4f}"
        while text.endswith("0") and len(text) > places + 2:
            text = text[:-1]
        return text

    return {"shown": shown, "least": 1, "most": ONE}


def both(text: str) -> str:
    """`20x5`, `20×5` or `20 5` as it is shown: 20 × 5."""
    found = re.fullmatch(r"\s*([0-9]{1,5})(?:\s*[xX×*]\s*|\s+)([0-9]{1,5})\s*", text)
    if found is None or not all(1 <= int(number) <= MAX_PERMUTATIONS for number in found.groups()):
        raise ValueError(f"{safe(text)!r} is not bands × rows: give two whole numbers, such as 20x5")
    return f"{int(found[1])} × {int(found[2])}"


def fitting(name: str, bands: int, rows: int, hashes: int) -> ByHand:
    """b × r within so many hashes: where it needs more, what was not set just now is lowered."""
    if name == "bands":
        bands = min(bands, hashes)
        return ByHand(bands, min(rows, hashes // bands))
    rows = min(rows, hashes)
    return ByHand(min(bands, hashes // rows), rows)


def shown_weights(share: int) -> str:
    """The share of false positives, of all weight, beside that of false negatives."""
    one, other = written(2)["shown"], ONE - share
    return f"{one(share)}:{one(other)}"  # type: ignore[operator]


def weighted(share: int) -> ByWeights:
    common = gcd(share, ONE)
    return ByWeights(share // common, (ONE - share) // common)


def share_of_weights(text: str) -> int:
    weights = parse_weights(text)
    share, rest = divmod(weights.fp * ONE, weights.fp + weights.fn)
    if rest or not share:
        raise ValueError(f"{safe(text)!r} is no share of four decimals: give shares of 1, such as 0.33:0.67")
    return share


SETTINGS = (
    Stepper(name="threshold", label="threshold t", default=Settings().threshold, step=100,
            parse=lambda text: ten_thousandths(text, "the threshold"), **written(2)),  # type: ignore[arg-type]
    Choice(name="by", label="choose b×r by", default="recall",
           options=(("recall", "wished recall"), ("hand", "by hand"), ("weights", "weights"))),
    Stepper(name="recall", label="wished recall", default=ByRecall().recall, step=10,
            parse=lambda text: ten_thousandths(text, "the wished recall", as_decimal(ByRecall().recall)), **written(3)),  # type: ignore[arg-type]
    Stepper(name="weights", label="FP:FN weights", default=5_000, step=500, parse=share_of_weights,
            **(written(2) | {"shown": shown_weights, "most": ONE - 1})),  # type: ignore[arg-type]
    Stepper(name="bands", label="bands b", default=16, least=1, most=MAX_PERMUTATIONS),
    Stepper(name="rows", label="rows r", default=6, least=1, most=MAX_PERMUTATIONS),
    Typed(name="chosen", label="bands × rows", default="16 × 6", parse=both),
    Stepper(name="num_perm", label="num-perm", default=Settings().sketching.num_perm, least=1, most=MAX_PERMUTATIONS,
            step=16),
    Stepper(name="seed", label="seed", default=Settings().sketching.seed, least=0, most=2**32 - 1, shown=str),
    Choice(name="family", label="family", default=Settings().sketching.family,
           options=(("mersenne", "mersenne"), ("fast", "fast"))),
    Choice(name="verify", label="verify", default="exact",
           options=(("exact", "exact J"), ("estimate", "estimate"), ("none", "nothing"))),
    Choice(name="find", label="find by", default="lsh", options=(("lsh", "LSH bands"), ("exact", "exact join"))),
)
ABOUT = {
    "threshold": "threshold t: pairs with J at or above it count as near duplicates. J is the share of shingles that "
                 "both documents have of those that either has.",
    "by": "choose b × r by: a wished recall finds the cheapest b × r that keeps it; by hand you set bands and rows; "
          "weights take the b × r with the least weighted area beside the threshold.",
    "weights": "FP:FN weights: what a false positive area costs beside a false negative one. 0.50:0.50 misses many "
               "true pairs just above the threshold: a small first number misses fewer.",
    "find": "find by: LSH bands look at pairs that share a band, and miss some. The exact join finds every pair at or "
            "above the threshold; from 0.8 on it often costs less.",
    "recall": "wished recall: how surely a pair exactly at the threshold must be found; more alike ones are found more "
              "surely still. A higher wish means more candidates to check.",
    "bands": "bands b: a pair is looked at when all rows of any one band agree. More bands find more, and cost more.",
    "rows": "rows r: hashes in a band. More rows find fewer pairs below the threshold, and miss more above it.",
    "chosen": "bands × rows: both at once, typed as 20x5. They need b·r hashes, of num-perm there are.",
    "num_perm": "num-perm: hashes a document. b × r cannot be more; more hashes estimate J better and cost time.",
    "seed": "seed: of the hash functions. Another one misses other pairs, about as many.",
    "family": "family: mersenne is MinHash. fast hashes each shingle of a long text two or three times, not num-perm "
              "times; its slots are not independent, so that the curve is approximate for it.",
    "verify": "verify: whether the candidates are checked by their exact J, by the estimate from the signatures, or "
              "not at all.",
}


@dataclass(frozen=True, slots=True)
class Choices:
    """What follows from settings: the b × r and the table, or why there is none."""

    banding: Banding | None = None
    ranked: tuple[Ranked, ...] = ()
    refused: str = ""


def choices(settings: Settings) -> Choices:
    try:
        return Choices(chosen(settings), best_eight(settings))
    except SettingsError as error:
        return Choices(refused=str(error))


class BandsTab(Tab):
    number = 3
    title = "Bands"

    DEFAULT_CSS = """
    BandsTab {
        layout: horizontal;
        & #curve { width: 1fr; height: 1fr; }
        & #choose { width: 39; height: 1fr; padding-left: 1; }
        & #best { height: 1fr; min-height: 2; max-height: 13; }
        & #by-j { display: none; height: 11; }
        &.-wide #choose { width: 48; }
        &.-tall #by-j { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._curve = Curve(id="curve")
        self._rows = SettingRows(*SETTINGS, fixed={"chosen"}, check=self._checked, id="settings")
        self._list = LongList(self._columns(), id="table", empty="no b × r reaches the wish")
        self._best = Panel(self._list, title="Best b × r", right="● taken  < below wish", id="best")
        self._by_j = ByJ()
        self._lowered = ""  # what the last step had to lower, in words
        self._wished = Settings()  # what was last asked for: it comes down a moment later
        self._shown: Settings | None = None
        self._banding: Banding | None = None
        self._ranked: tuple[Ranked, ...] = ()

    def compose(self) -> ComposeResult:
        yield self._curve
        with Vertical(id="choose"):
            yield self._rows
            yield self._best
            yield Panel(self._by_j, title="Found, by similarity", id="by-j")

    def panels(self) -> list[Widget]:
        return [self._rows, self._list]

    def on_resize(self) -> None:
        self.set_class(self.size.width >= 120, "-wide")
        self.set_class(self.size.height >= TALL, "-tall")

    # What comes down

    def watch_settings(self, settings: Settings) -> None:
        if settings != self._shown:
            self._wished, self._lowered = settings, ""
            self._show(settings)

    def _show(self, settings: Settings) -> None:
        """All of the tab, from settings alone: at once while the choice of b × r takes milliseconds, else when it is
        there (1.7 s for 65,535 hashes: measured)."""
        self._shown = settings
        if settings.sketching.num_perm <= AT_ONCE:
            self.workers.cancel_group(self, "choose")
            self._show_all(settings, choices(settings))
        else:
            self._show_settings(settings, "", "…")
            self.run_worker(self._show_later(settings), group="choose", exclusive=True, exit_on_error=False)

    async def _show_later(self, settings: Settings) -> None:
        found = await asyncio.to_thread(choices, settings)
        if settings is self._shown:
            self._show_all(settings, found)

    def _show_all(self, settings: Settings, found: Choices) -> None:
        self._banding, self._ranked = found.banding, found.ranked
        banding, hashes = found.banding, settings.sketching.num_perm
        if banding is None:
            self._show_settings(settings, found.refused, "none")
        else:
            used = f"{banding.bands * banding.rows:,}" + (f" of {hashes}" if hashes < 10_000 else "")
            self._show_settings(settings, "", f"{banding.bands} × {banding.rows}", used)
        self._curve.show(banding, settings)
        self._by_j.banding = banding
        at = next((index for index, one in enumerate(self._ranked) if one.chosen), 0)
        self._list.show(len(self._ranked), self._cells, cursor=at)
        self.post_message(HintsChanged())

    def _show_settings(self, settings: Settings, refused: str, banding: str, used: str = "") -> None:
        fixed, hidden = set[str](), set[str]()
        values: dict[str, Value] = {
            "threshold": settings.threshold, "num_perm": settings.sketching.num_perm, "seed": settings.sketching.seed,
            "family": settings.sketching.family, "verify": settings.verify, "chosen": banding,
            "find": settings.find,
        }
        if isinstance(settings.banding, ByHand):
            values |= {"by": "hand", "bands": settings.banding.bands, "rows": settings.banding.rows}
            hidden = {"recall", "weights"}
        elif isinstance(settings.banding, ByWeights):
            fp, fn = settings.banding.fp, settings.banding.fn
            values |= {"by": "weights", "weights": min(max(fp * ONE // (fp + fn), 1), ONE - 1)}
            fixed, hidden = {"chosen"}, {"recall", "bands", "rows"}
        else:
            values |= {"by": "recall", "recall": settings.banding.recall}
            fixed, hidden = {"chosen"}, {"weights", "bands", "rows"}
        if settings.find == "exact":  # no bands are asked, and what is found is verified
            hidden = {"by", "recall", "weights", "bands", "rows", "chosen", "verify"}
        self._rows.show(values, messages={"recall": refused} if refused else {},
                        notes={"chosen": used} if used else {}, fixed=fixed, hidden=hidden)

    # The settings

    @on(SettingRows.Changed)
    def _changed(self, message: SettingRows.Changed) -> None:
        message.stop()
        wished = self._with(message.name, message.value)
        self._lowered = self._lowered_words(message.name, message.value, wished)
        self._wish(wished, message.name)

    def _asked(self, name: str, value: Value) -> tuple[int, int, int]:
        """b, r and num-perm by hand, with what one setting is to be."""
        banding, hashes = self._wished.banding, self._wished.sketching.num_perm
        assert isinstance(banding, ByHand)
        if name == "chosen":
            bands, rows = map(int, str(value).split(" × "))
            return bands, rows, hashes
        asked = {"bands": banding.bands, "rows": banding.rows, "num_perm": hashes} | {name: int(value)}
        return asked["bands"], asked["rows"], asked["num_perm"]

    def _checked(self, name: str, value: Value) -> None:
        """What is typed is taken as it is or not at all; only steps lower what stands in their way."""
        if name in ("bands", "rows", "chosen", "num_perm") and isinstance(self._wished.banding, ByHand):
            bands, rows, hashes = self._asked(name, value)
            if bands * rows > hashes:
                way = "type both at bands × rows" if name in ("bands", "rows") else "give fewer"
                way = "lower bands or rows first" if name == "num_perm" else f"{way}, or raise num-perm below"
                raise SettingsError(f"{bands} bands × {rows} rows need {bands * rows:,} hashes, and a signature "
                                    f"has {hashes:,}: {way}")

    def _lowered_words(self, name: str, value: Value, wished: Settings) -> str:
        before, now = self._wished.banding, wished.banding
        if not (isinstance(before, ByHand) and isinstance(now, ByHand)):
            return ""
        bands, rows, _ = self._asked(name, value) if name in ("bands", "rows", "chosen", "num_perm") else (0, 0, 0)
        words = [f"{what} lowered to {new}" for what, old, new in
                 (("bands", bands, now.bands), ("rows", rows, now.rows)) if new < old]
        return f"{' and '.join(words)}: b·r can be {wished.sketching.num_perm:,} at most" if words else ""

    def _with(self, name: str, value: Value) -> Settings:
        """The wished settings with one changed, and what does not fit any more lowered."""
        settings, banding = self._wished, self._wished.banding
        replace = msgspec.structs.replace
        match name:
            case "by" if value == "hand":
                now = self._banding
                return replace(settings, banding=ByHand(now.bands, now.rows) if now is not None else ByHand(1, 1))
            case "by" if value == "weights":
                return replace(settings, banding=weighted(int(self._rows.values["weights"])))
            case "by":
                return replace(settings, banding=ByRecall(int(self._rows.values["recall"])))
            case "weights":
                return replace(settings, banding=weighted(int(value)))
            case "find":
                return replace(settings, find=value, verify="exact" if value == "exact" else settings.verify)
            case "recall":
                return replace(settings, banding=ByRecall(int(value)))
            case "bands" | "rows" | "chosen" if isinstance(banding, ByHand):
                return replace(settings, banding=fitting(name, *self._asked(name, value)))
            case "num_perm" | "seed":
                if name == "num_perm" and isinstance(banding, ByHand):
                    banding = fitting(name, *self._asked(name, value))
                sketching = replace(settings.sketching, **{name: int(value)})
                return replace(settings, sketching=sketching, banding=banding)
            case "family":
                return replace(settings, sketching=replace(settings.sketching, family=value))
            case "threshold":
                return replace(settings, threshold=int(value))
            case "verify":
                return replace(settings, verify=value)
        return settings

    def _wish(self, settings: Settings, about: str) -> None:
        if settings != self._wished:
            self._wished = settings
            self._show(settings)
            self.post_message(SettingsChanged(settings, about))

    @on(SettingRows.Moved)
    def _moved(self, message: SettingRows.Moved) -> None:
        message.stop()
        self.post_message(HintsChanged())

    # The table

    def _columns(self) -> tuple[Column, ...]:
        return (Column("b × r", 9, "right"), Column("P(t)", 6, "right"), Column("FN", 7, "right"),
                Column("FP", 6, "right"), Column(""))

    def _cells(self, sight: range) -> list[tuple[Cell, ...]]:
        return [
            (f"{one.choice.bands} × {one.choice.rows}", decimal(one.choice.p_at_threshold), f"{one.choice.fn:.4f}",
             f"{one.choice.fp:.3f}", "●" if one.chosen else "<" if one.below_wish else "")
            for one in self._ranked[sight.start : sight.stop]
        ]

    @on(LongList.Highlighted)
    def _highlighted(self, message: LongList.Highlighted) -> None:
        message.stop()

    @on(LongList.Chosen)
    def _chosen(self, message: LongList.Chosen) -> None:
        message.stop()
        choice = self._ranked[message.index].choice
        self._lowered = ""
        by_hand = msgspec.structs.replace(self._wished, banding=ByHand(choice.bands, choice.rows), find="lsh")
        self._wish(by_hand, "table")

    # Words

    def status(self) -> Text | None:
        if self._lowered:
            return Text(self._lowered)
        if self._wished.find == "exact":
            return Text("the exact join finds every pair at or above the threshold; the curve is what bands would find")
        if self._banding is None:
            return None
        bands, rows, t = self._banding.bands, self._banding.rows, self._wished.threshold / ONE
        found = percent(candidate_probability(t, bands, rows))
        about = "" if self._wished.sketching.independent else "about "
        words = f"{bands} × {rows}: a pair at J = {decimal(t, 2)} is found with {about}{found}"
        return Text(f"{words} · steepest at {decimal(steepest(bands, rows))}")

    def hints(self) -> list[Hint]:
        if self.focused_panel() is self._list:
            return [hint("step_row"), hint("take_row", "take"), hint("step_panel", "settings", key="tab")]
        if isinstance(self._rows.current, Typed):
            return [hint("type_value"), hint("step_setting"), hint("step_panel", "table", key="tab"),
                    hint("default_value")]
        return [hint("step_value"), hint("type_value"), hint("step_setting"), hint("step_panel", "table", key="tab"),
                hint("default_value"), hint("step_value(10)")]

    def about(self) -> str:
        if self.focused_panel() is self._list:
            return ("The best b × r for these settings, the least FP first, and one that is cheaper but below "
                    "the wish (<). P(t) is the chance that a pair exactly at the threshold is found; FN and FP are "
                    "the areas beside the threshold: missed above it, candidates below it.")
        return ABOUT.get(self._rows.current.name, "")


class Curve(Widget):
    """The S-curve with the threshold and the two areas."""

    DEFAULT_CSS = """
    Curve {
        & .curve--curve { color: $primary; }
        & .curve--line { color: $accent; }
        & .curve--frame { color: $rule; }
        & .curve--label { color: $dim; }
        & .curve--measured { color: $foreground; }
        & .curve--fp { background: $fp; }
        & .curve--fn { background: $fn; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "curve--curve", "curve--line", "curve--frame", "curve--label", "curve--measured", "curve--fp", "curve--fn",
    }

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._banding: Banding | None = None
        self._settings = Settings()

    def show(self, banding: Banding | None, settings: Settings) -> None:
        self._banding, self._settings = banding, settings
        self.refresh()

    def render(self) -> Text:
        if self._banding is None:
            words = "\n    No bands × rows reach the wished recall.\n    Below it stands what would."
            return Text(words, self._style("label"))
        from neardup_tui.plots import FOUND, MISSED, Colours, s_curve  # plotext: when a curve is first drawn

        bands, rows, width = self._banding.bands, self._banding.rows, self.size.width
        threshold, hashes = self._settings.threshold, self._settings.sketching.num_perm
        fp, fn = areas(bands, rows, threshold, hashes)
        colour, label = not self.app.no_color, self._style("label")
        colours = Colours(
            *(self._colour(name) for name in ("curve", "line", "frame", "label", "measured")),
            *(self._colour(name, behind=True) for name in ("fp", "fn")),
        )
        equal = "=" if self._settings.sketching.independent else "≈"
        head = Text(f"    P {equal} 1 − (1 − J^{rows})^{bands}", label)
        line = Text("┃", self._style("line")).append(f" t = {decimal(threshold / ONE, 2)} ", label)
        head.append(" " * max(2, width - head.cell_len - line.cell_len)).append_text(line)
        plot = s_curve(width, max(1, self.size.height - 3), threshold / ONE,
                       lambda j: candidate_probability(j, bands, rows), colours, colour=colour)
        axis = Text(f"    J of a pair · steepest at {decimal(steepest(bands, rows))}", label)
        key = Text(" ")
        for letter, name, words in ((FOUND, "fp", f" FP {decimal(fp)} below t  "),
                                    (MISSED, "fn", f" FN {decimal(fn, 4)} missed")):
            key.append("  " if colour else letter, self._style(name) if colour else "").append(words, label)
        parts = (head, plot, axis, key)
        for part in (head, axis, key):
            part.truncate(width, overflow="ellipsis")
        return Text("\n", no_wrap=True, end="").join(parts)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"curve--{name}", partial=True)

    def _colour(self, name: str, behind: bool = False) -> str:
        style = self._style(name)
        colour = style.bgcolor if behind else style.color
        return colour.name if colour is not None else "default"


class ByJ(Widget):
    """The chance to be found, at some similarities."""

    banding: reactive[Banding | None] = reactive[Banding | None](None)

    def render(self) -> Text:
        text = Text(no_wrap=True, end="")
        if self.banding is None:
            return text
        room = max(1, self.size.width - 21)
        for step in range(95, 45, -5):
            found = candidate_probability(step / 100, self.banding.bands, self.banding.rows)
            full = round(room * found)
            text.append(f"  J {step / 100:.2f} {percent(found, 2):>9}  " + "━" * full)
            text.append("╌" * (room - full) + "\n", "dim")
        return text
