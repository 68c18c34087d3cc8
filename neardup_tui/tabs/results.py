"""4 Results: what a run found, the list of its row pairs, and the two texts of the one that is marked."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

import numpy as np
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.reactive import var
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from neardup import NeardupError, Result, Settings, candidate_probability, chosen, summary
from neardup.events import STAGES, stages_of
from neardup_tui.keys import Hint, bare, bindings, hint, rows
from neardup_tui.messages import ClusterHighlighted, PairHighlighted, TabWanted, Told
from neardup_tui.session import Progress
from neardup_tui.tables import DESCENDING, PAIR_COLUMNS, Band, Filter, Integers, PairTable, by_similarity, pair_filter
from neardup_tui.tabs.base import Tab
from neardup_tui.texts import Fetched
from neardup_tui.widgets.cells import count, decimal, percent, seconds
from neardup_tui.widgets.field import Field
from neardup_tui.widgets.long_list import Cell, Column, LongList
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.side_by_side import Side, SideBySide
from neardup_tui.widgets.tiles import Tile, Tiles

# Texts that follow each move of a held key are 171 kB/s over SSH; after this rest they are next to nothing.
RESTED = 0.08
PREVIEW = 400  # characters of a text that a list keeps
WIDE, SHORT = 120, 14

OWN_KEYS = ("scroll_texts", "filter", "sort", "reverse", "cluster")


def list_bindings(*actions: str) -> list[BindingType]:
    """The keys of a list that need the whole tab, n and N, and enter on the texts, which zooms."""
    without = {bare(key.action) for key in rows("list")} - set(actions)
    others = {bare(key.action) for key in rows("texts")} - {"zoom", "step_difference"}
    return [*bindings("list", without), *bindings("texts", others)]


def focus_if_free(tab: Tab) -> None:
    """The first result has come while one waited in its tab: the list has the keys, if nothing else has."""
    if tab.is_attached and tab.display and tab.screen.focused is None:
        tab.focus_panel()


def read_texts(result: Result, rows: Sequence[int]) -> list[str]:
    from neardup.sources import texts_at  # numba and Arrow come with it: in a thread, when a text is first looked at

    return texts_at(result.corpus, rows)


def read_previews(result: Result, rows: Sequence[int]) -> list[str]:
    return [text[:PREVIEW] for text in read_texts(result, rows)]


class ResultsTab(Tab):
    number = 4
    title = "Results"
    views = ("Pairs", "Similarity")

    DEFAULT_CSS = """
    ResultsTab {
        layout: vertical;
        & Horizontal { height: 1fr; }
        & #found { height: 7fr; }
        & #texts { height: 8fr; }
        & #similarity { display: none; width: 1fr; }
        & #filter { height: 1; display: none; }
        & #filter > Static { width: auto; }
        & #waiting { display: none; height: 1fr; }
        &.-short #tiles { height: 2; }
        &.-short #texts { display: none; }
        &.-short.-reading #texts { display: block; }
        &.-wide #similarity { display: block; width: 46; }
        &.-wide #texts { height: 6fr; }
        &.-alike #pairs, &.-alike #texts { display: none; }
        &.-alike #similarity { display: block; width: 1fr; }
        &.-filtering #filter { display: block; }
        &.-waiting #found, &.-waiting #texts { display: none; }
        &.-waiting #waiting { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(*OWN_KEYS)

    sort_by: var[int] = var(0, init=False)
    reversed: var[bool] = var(False, init=False)
    filter_text: var[str] = var("", init=False)

    def __init__(self) -> None:
        super().__init__()
        self._tiles = Tiles(id="tiles")
        self._list = LongList(self._columns(), id="pairs", empty="no pair")
        self._alike = Similarity(id="similarity")
        self._found = Panel(
            Horizontal(self._list, self._alike), Horizontal(Static(" filter "), id="filter"), title=self.views,
            id="found",
        )
        self._side = SideBySide()
        self._texts = Panel(self._side, title="", id="texts")
        self._waiting = Waiting(id="waiting")
        self._table: PairTable | None = None
        self._order: Integers | None = None
        self._previews: Fetched[str] | None = None
        self._rest: Timer | None = None
        self._zoomed_from_list = False
        self._listed = ""  # what the list holds, in words

    def compose(self) -> ComposeResult:
        yield self._tiles
        yield self._found
        yield self._texts
        yield self._waiting

    def panels(self) -> list[Widget]:
        return [self._alike if self.view else self._list, self._side] if self.result is not None else []

    # What comes down

    def watch_result(self, result: Result | None) -> None:
        if self._previews is not None:
            self._previews.end()
        self._table, self._order = None, None
        self.set_class(result is None, "-waiting")
        self._show_tiles()
        if result is None:
            return
        self._previews = Fetched(lambda rows: read_previews(result, rows), self._list.arrived, self._failed)
        self._table = PairTable(result)
        self._side.clear()
        self._texts.title, self._texts.right = "", ""
        self._list.show(0, lambda rows: (), empty="")
        self.run_worker(self._arrange(), group="arrange", exclusive=True, exit_on_error=False)
        self.run_worker(self._count_alike(result), group="alike", exclusive=True, exit_on_error=False)
        self.call_after_refresh(focus_if_free, self)

    def watch_settings(self) -> None:
        self._show_tiles()

    def watch_corpus(self) -> None:
        self._waiting.loaded = self.corpus is not None

    def watch_unclear(self) -> None:
        self._waiting.nothing = self.nothing_read()
        self._waiting._draw()

    def watch_running(self, running: Progress | None) -> None:
        self._waiting.stages = stages_of(self.settings)
        self._waiting.running = running
        self.watch_unclear()

    def watch_view(self, view: int) -> None:
        self.set_class(view == 1, "-alike")
        self._found.view = view
        self._show_held()
        if self.is_attached and self.focused_panel() is None:
            self.call_after_refresh(self.focus_panel)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE, "-wide")
        self.set_class(self.size.height < SHORT, "-short")
        self._list.columns = self._columns()

    def _failed(self, why: str) -> None:
        self.post_message(Told(why, "error"))

    # Tiles

    def _show_tiles(self) -> None:
        self._tiles.tiles = tiles_of(self.result) if self.result is not None else self._expected()

    def _expected(self) -> list[Tile]:
        """Before the first result: all that is known is what the curve says."""
        recall = "-"
        if self.settings.find == "exact":
            recall = percent(1.0)
        elif self.settings.sketching.num_perm <= 2_048:  # beyond, choosing b × r takes longer than a key may
            with suppress(NeardupError):
                banding = chosen(self.settings)
                recall = percent(candidate_probability(self.settings.threshold / 10_000, banding.bands, banding.rows))
        t = decimal(self.settings.threshold / 10_000, 2)
        return [Tile("candidates", "-"), Tile(f"pairs ≥ {t}", "-"),
                Tile("recall at t", recall, predicted(self.settings)), Tile("precision", "-"),
                Tile("clusters", "-"), Tile("removed", "-")]

    # The list

    def _columns(self) -> tuple[Column, ...]:
        marks = {name: self._titled(name) for name in PAIR_COLUMNS}
        return (
            Column(marks["left"], 9, "right"), Column(marks["right"], 9, "right"), Column(marks["J"], 6, "right"),
            Column(marks["est."], 6, "right"), Column(marks["cluster"], 9, "right"), Column(" text of the left row"),
        )

    def _titled(self, name: str) -> str:
        if name != PAIR_COLUMNS[self.sort_by]:
            return name
        return name + ("↓" if self._descending else "↑")

    @property
    def _descending(self) -> bool:
        return (PAIR_COLUMNS[self.sort_by] in DESCENDING) != self.reversed

    async def _arrange(self) -> None:
        """Sort and filter in a thread, and show the list, its cursor on the pair that was marked."""
        table = self._table
        if table is None:
            return
        wished: Filter | None = pair_filter(self.filter_text)
        by, descending, pair = PAIR_COLUMNS[self.sort_by], self._descending, self.choice.pair

        def arrange() -> tuple[Integers, int]:
            order = table.listed(by, descending, wished)
            return order, place_of(order, pair)

        order, marked = await asyncio.to_thread(arrange)
        if table is not self._table:
            return
        # From here on without a pause: the list asks for cells by this order.
        self._order = order
        self._list.columns = self._columns()
        empty = "no pair passes the filter: esc takes it away (0.950 may be 0.9498, rounded)"
        self._list.show(len(order), self._cells, cursor=marked, empty=empty if wished else "no pair was found")
        total = table.result.row_pairs.total
        shown = f"{count(len(order))} of {count(total)}" if len(order) < total else f"{count(total)} pairs of rows"
        self._listed = f"{shown} · filter {self.filter_text}" if wished else shown
        self._show_held()
        if not len(order):
            if self._rest is not None:
                self._rest.stop()
            self.workers.cancel_group(self, "texts")
            self._side.clear()
            self._texts.title, self._texts.right = "", ""

    def _show_held(self) -> None:
        """The head of the view that is shown says what it counts."""
        candidates = f"{count(len(self.result.pairs))} candidates of documents" if self.result is not None else ""
        self._found.right = candidates if self.view else self._listed

    def _cells(self, sight: range) -> list[tuple[Cell, ...]]:
        assert self._table is not None and self._order is not None and self._previews is not None
        table, pairs = self._table, self._table.result.row_pairs
        at = self._order[sight.start : sight.stop]
        left = pairs.left[at].tolist()
        values = zip(left, pairs.right[at].tolist(), table.jaccard[at].tolist(), table.estimate[at].tolist(),
                     table.cluster[at].tolist(), self._previews.get(left), strict=True)
        return [
            (count(a), count(b), known(j), decimal(estimate), count(cluster) if cluster >= 0 else "-",
             None if text is None else f" {text}")
            for a, b, j, estimate, cluster, text in values
        ]

    def action_sort(self) -> None:
        self.set_reactive(ResultsTab.reversed, False)
        self.sort_by = (self.sort_by + 1) % len(PAIR_COLUMNS)

    def action_reverse(self) -> None:
        self.reversed = not self.reversed

    def _rearrange(self) -> None:
        self.run_worker(self._arrange(), group="arrange", exclusive=True, exit_on_error=False)

    watch_sort_by = watch_reversed = watch_filter_text = _rearrange

    # The filter

    async def action_filter(self) -> None:
        row = self.query_one("#filter")
        if not row.query(Field):
            field = Field(self.filter_text, check=pair_filter, placeholder="j>=0.9  est<0.8  row=412  !cluster=31")
            await row.mount(field)
            self.add_class("-filtering")
            field.focus()

    @on(Field.Accepted)
    async def _filter_accepted(self, message: Field.Accepted) -> None:
        message.stop()
        await self._close_filter(message.field)
        self.filter_text = message.value.strip()

    @on(Field.GivenBack)
    async def _filter_given_back(self, message: Field.GivenBack) -> None:
        message.stop()
        await self._close_filter(message.field)

    @on(Field.Refused)
    def _filter_refused(self, message: Field.Refused) -> None:
        message.stop()
        self.post_message(Told(message.why, "warning"))

    async def _close_filter(self, field: Field) -> None:
        self._list.focus()
        self.remove_class("-filtering")
        await field.remove()

    # The pair that is marked

    @on(LongList.Highlighted)
    def _highlighted(self, message: LongList.Highlighted) -> None:
        message.stop()
        if self._order is None or message.index >= len(self._order):
            return
        self.post_message(PairHighlighted(int(self._order[message.index])))
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(RESTED, self._follow)

    def _follow(self) -> None:
        if self._table is not None and self._order is not None and self._list.cursor < len(self._order):
            self.run_worker(self._show_texts(self._table, int(self._order[self._list.cursor])), group="texts",
                            exclusive=True, exit_on_error=False)

    async def _show_texts(self, table: PairTable, index: int) -> None:
        result = table.result
        rows = [int(result.row_pairs.left[index]), int(result.row_pairs.right[index])]
        try:
            texts = await asyncio.to_thread(read_texts, result, rows)
        except NeardupError as error:
            self._failed(str(error))
            self._side.clear("these texts cannot be read now")
            return
        if table is self._table:
            self._texts.title = pair_words(table, index)
            left, right = (Side(side_words(result, *one), one[1]) for one in zip(rows, texts, strict=True))
            self._side.compare(left, right)

    @on(SideBySide.Compared)
    def _compared(self, message: SideBySide.Compared) -> None:
        message.stop()
        found = message.count
        self._texts.right = {0: "no difference", 1: "1 difference"}.get(found, f"{count(found)} differences")

    @on(LongList.Chosen)
    def _chosen(self, message: LongList.Chosen) -> None:
        message.stop()
        self._read_texts()

    def _read_texts(self) -> None:
        self.zoomed = self._side
        self._side.focus()
        self._zoomed_from_list = True

    def action_scroll_texts(self, lines: int) -> None:
        self._side.action_scroll_lines(lines)

    def action_step_difference(self, step: int) -> None:
        self._side.action_step_difference(step)

    @property
    def _texts_seen(self) -> bool:
        return self.result is not None and self._is_shown(self._side)

    def toggle_zoom(self) -> None:
        """Where there is no room for the texts, they are what is shown."""
        if self.zoomed is None and self.focused_panel() is self._list and not self._texts_seen:
            self._read_texts()
        else:
            super().toggle_zoom()

    def action_zoom(self) -> None:
        self.toggle_zoom()

    def action_cluster(self) -> None:
        if self._table is not None and self._order is not None and len(self._order):
            label = int(self._table.cluster[self._order[self._list.cursor]])
            if label >= 0:
                self.post_message(ClusterHighlighted(label))
                self.post_message(TabWanted(5))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("sort", "reverse", "filter"):
            return self.result is not None and self.view == 0
        if action in ("scroll_texts", "step_difference"):
            return self._texts_seen
        return self.result is not None or action not in OWN_KEYS

    def watch_zoomed(self, zoomed: Widget | None) -> None:
        self.set_class(zoomed is self._side, "-reading")
        super().watch_zoomed(zoomed)
        if zoomed is None and self._zoomed_from_list:
            self._zoomed_from_list = False
            self._list.focus()

    def close(self) -> bool:
        if super().close():
            return True
        if self.filter_text:
            self.filter_text = ""
            return True
        return False

    # Similarity

    async def _count_alike(self, result: Result) -> None:
        bands = await asyncio.to_thread(by_similarity, result)
        if result is self.result:
            self._alike.show(bands, result)

    # Words

    def hints(self) -> list[Hint]:
        if self.result is None:
            return []
        if self.focused_panel() is self._side:
            return [hint("scroll_lines", "line"), hint("step_difference", key="nN"), hint("zoom"), hint("cluster"),
                    hint("step_panel", "pairs", key="tab")]
        if self.view:
            return [hint("next_view", "pairs")]
        texts = [hint("scroll_texts", "texts"), hint("step_difference", key="nN")] if self._texts_seen else []
        return [hint("step_row", "pair"), *texts, hint("next_view"), hint("filter"), hint("sort"), hint("cluster"),
                hint("zoom")]

    def about(self) -> str:
        if self.focused_panel() is self._side:
            return ("The texts of the pair that is marked in the list, as they stand in the file. What differs is "
                    "reversed (in braces where there is no colour); white space alone is no difference.")
        if self.view:
            return ("The candidates by their exact similarity J: those that were accepted, and those below the "
                    "threshold, which cost time and are dropped.")
        return ("Every pair of rows that was accepted. J is the share of shingles that both have of those that either "
                "has, est. what the signatures alone would say. A filter such as j>=0.9 est<0.8 leaves the pairs for "
                "which all of it holds; 412 those of row 412; ! first means not.")


def place_of(order: Integers, pair: int | None) -> int:
    """Where a pair stands in the list; 0 if it does not."""
    if pair is None:
        return 0
    found = (order == pair).nonzero()[0]
    return int(found[0]) if len(found) else 0


def known(value: float) -> str:
    return "-" if math.isnan(value) else decimal(value)


def predicted(settings: Settings) -> str:
    """How sure the curve is of what it says."""
    return "predicted" if settings.sketching.independent else "approximate"


def tiles_of(result: Result) -> list[Tile]:
    settings, clusters = result.settings, result.clusters
    candidates, accepted = len(result.pairs), int(result.accepted.sum())
    t = decimal(settings.threshold / 10_000, 2)
    names = {"exact": f"pairs ≥ {t}", "estimate": f"est. ≥ {t}", "none": "pairs"}
    exact = settings.verify == "exact"
    found = summary.chance_at_threshold(result)
    inside = int((clusters.label >= 0).sum())
    number = int((clusters.label == np.arange(len(clusters.label))).sum())  # a label is its cluster's smallest row
    return [
        Tile("candidates", count(candidates), "documents"),
        Tile(names[settings.verify], f"{count(result.row_pairs.total)} of rows", f"{count(accepted)} of docs"),
        # Pairs that were never looked at, since their bucket was too large, make the prediction too good.
        Tile("recall at t", percent(found), predicted(settings) if not result.buckets_unlisted else "at most"),
        Tile("precision", percent(accepted / candidates) if exact and candidates else "-",
             "candidates" if exact else "unverified"),
        Tile("clusters", count(number), f"of {count(inside)} rows"),
        Tile("removed", count(result.removed), percent(result.removed / max(1, result.corpus.rows))),
    ]


def pair_words(table: PairTable, index: int) -> str:
    result, pair = table.result, int(table.result.row_pairs.pair[index])
    if pair < 0:
        return "J 1.000 · the same text, normalised"
    estimate = float(table.estimate[index])
    hashes = result.settings.sketching.num_perm
    overlap, union = int(result.pairs.overlap[pair]), int(result.pairs.union[pair])
    if not union:
        return f"J not verified · est. {decimal(estimate)} ± {_error(estimate, hashes)}"
    j = overlap / union
    return (f"J {decimal(j, 4)} ({count(overlap)} of {count(union)} shingles) · est. {decimal(estimate)} "
            f"± {_error(j, hashes)}")


def _error(j: float, hashes: int) -> str:
    """The standard error of the estimate, √(J(1 − J)/num_perm); of the family `fast` it is at most that."""
    return f"{math.sqrt(j * (1 - j) / hashes):.3f}"


def side_words(result: Result, row: int, text: str) -> str:
    removed = result.clusters.kept[row] != row
    return f"row {count(row)}  {'removed' if removed else 'kept'} · {count(len(text))} characters"


class Similarity(Widget, can_focus=True):
    """The candidates by J: one bar a band, accepted ones full, others hatched."""

    DEFAULT_CSS = """
    Similarity {
        height: 1fr; border-left: none;
        & .alike--accepted { color: $primary; }
        & .alike--other { color: $text-muted; }
        & .alike--words { color: $text-muted; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"alike--accepted", "alike--other", "alike--words"}

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._bands: Sequence[Band] = ()
        self._result: Result | None = None

    def show(self, bands: Sequence[Band], result: Result) -> None:
        self._bands, self._result = bands, result
        self.refresh()

    def render(self) -> Text:
        full, hatched, words = (
            self.get_component_rich_style(f"alike--{name}") for name in ("accepted", "other", "words")
        )
        text = Text(no_wrap=True, end="", overflow="ellipsis")
        if self._result is None:
            return text
        if self._result.settings.verify != "exact":
            return text.append("   J was not verified: 3 Bands, verify ‹ exact ›", words)
        text.append("  candidates by J   ", words).append("█", full).append(" accepted   ", words)
        text.append("▒", hatched).append(" below t", words)
        # What is under .50 can be many times the rest: its bar is cut, not theirs.
        most = max(1, *(band.accepted + band.others for band in self._bands[:-1]))
        figures = 1 + max(len(count(band.accepted + band.others)) for band in self._bands)
        room = max(1, self.size.width - 12 - figures)
        for band in self._bands:
            name = "under .50" if band.low == 0 else f"{_short(band.low)}-{_short(band.high)}"
            all_of_it = band.accepted + band.others
            cells = math.ceil(room * min(1, all_of_it / most))
            accepted = round(cells * band.accepted / all_of_it) if all_of_it else 0
            accepted = max(accepted, min(1, band.accepted))
            text.append(f"\n  {name:<9} ", words).append("█" * accepted, full)
            others = "▒" * (cells - accepted)
            if all_of_it > most:
                others = others[:-1] + "…"
            text.append(others, hatched).append(f" {count(all_of_it)}")
        above = sum(band.accepted for band in self._bands)
        below = sum(band.others for band in self._bands)
        t = decimal(self._result.settings.threshold / 10_000, 2)
        text.append(f"\n  documents: {count(above)} at or above {t}, {count(below)} below", words)
        return text


def _short(edge: float) -> str:
    return "1.00" if edge == 1 else f"{edge:.2f}"[1:]


STAGE_WORDS = {
    "read": "the records are found and cut into slices",
    "signatures": "texts normalised, shingled, hashed; copies grouped",
    "shingles": "texts normalised and shingled; copies grouped",
    "bands": "documents that share a band become candidates",
    "join": "all that may be similar enough are candidates",
    "verify": "the exact J of each candidate",
    "clusters": "what belongs together, and what is kept",
}


class Waiting(Panel):
    """Before there is a result: what to do, or how far the first run is."""

    DEFAULT_CSS = """
    Waiting > Static { padding: 0 1; }
    """

    loaded: var[bool] = var(False)
    stages: tuple[str, ...] = STAGES
    nothing: str = "No documents yet: press o and type a path, or go to 1 Documents."
    running: var[Progress | None] = var[Progress | None](None)

    def __init__(self, id: str | None = None) -> None:
        self._words = Static()
        super().__init__(self._words, title=ResultsTab.views, right="no pairs yet", id=id)
        self._done: dict[str, Progress] = {}

    def watch_loaded(self) -> None:
        self._draw()

    def watch_running(self, running: Progress | None) -> None:
        if running is None:
            self._done.clear()
        else:
            self._done[running.stage] = running
        self._draw()

    def _draw(self) -> None:
        if self.running is not None:
            self._words.update(self._stages(self.running))
        elif self.loaded:
            self._words.update(Text(
                "No results yet: press r to run.\n\n3 Bands shows what these settings will miss before you do."))
        else:
            self._words.update(Text(self.nothing))

    def _stages(self, running: Progress) -> Text:
        text = Text("They come here by themselves after the last stage. What can be seen already:\n\n", no_wrap=True)
        text.append(f" {'stage':<16}{'done':>13}    {'in all':>13} {'':9}{'time':>7}\n", "dim")
        for number, stage in enumerate(self.stages, start=1):
            words = STAGE_WORDS[stage]
            seen = self._done.get(stage)
            if stage == running.stage:
                mark, style = "◌", "bold"
            elif number < running.number:
                mark, style = "●", ""
            else:
                mark, style = "○", "dim"
            line = f"{mark} {number} {stage:<13}"
            if seen is None:
                line += f" {'done' if number < running.number else words}"
            else:
                finished = mark == "●"
                done = seen.total if finished else seen.done
                line += f"{count(done):>12} of {count(seen.total):>13} {seen.unit:<9}{seconds(seen.seconds):>7}"
            text.append(line + "\n", style)
        text.append("\nFinished stages are kept when you stop, quit or lose the connection.\n"
                    "3 Bands shows what these settings will miss.", "dim")
        return text


__all__ = ["ResultsTab"]
