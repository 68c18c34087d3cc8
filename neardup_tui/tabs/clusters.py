"""5 Clusters: the groups of duplicates, the rows of the one that is marked, and why each of them is there."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.reactive import var
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from neardup import NeardupError, Result
from neardup_tui.keys import Hint, hint
from neardup_tui.messages import ClusterHighlighted, TabWanted, Told
from neardup_tui.tables import CLUSTER_COLUMNS, DESCENDING, ClusterTable, Integers
from neardup_tui.tabs.base import Tab
from neardup_tui.tabs.results import (
    RESTED,
    SHORT,
    focus_if_free,
    known,
    list_bindings,
    place_of,
    read_previews,
    read_texts,
    side_words,
)
from neardup_tui.texts import Fetched
from neardup_tui.widgets.cells import count, decimal
from neardup_tui.widgets.long_list import Cell, Column, LongList
from neardup_tui.widgets.panel import Panel
from neardup_tui.widgets.side_by_side import Side, SideBySide

BESIDE = 100  # from here on both texts stand side by side
MEMBERS = (
    Column("row", 10, "right"), Column("J to kept", 9, "right"), Column(" why it is here", 28), Column("text"),
)


class ClustersTab(Tab):
    number = 5
    title = "Clusters"

    DEFAULT_CSS = """
    ClustersTab {
        layout: vertical;
        & #sum { height: 1; padding: 0 1; text-style: bold; }
        & #clusters { height: 6fr; }
        & #members { height: 5fr; }
        & #text { height: 5fr; }
        & #none { display: none; height: 1fr; padding: 0 1; }
        &.-none > Panel, &.-none #sum { display: none; }
        &.-none #none { display: block; }
        &.-short #text { display: none; }
        &.-short.-reading #text { display: block; }
        &.-members #sum, &.-members #clusters { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = list_bindings("scroll_texts", "sort", "reverse", "cluster")

    sort_by: var[int] = var(0, init=False)
    reversed: var[bool] = var(False, init=False)

    def __init__(self) -> None:
        super().__init__()
        self._sum = Static(id="sum", markup=False)
        self._list = LongList(self._columns(), id="list", empty="no row has a near duplicate")
        self._clusters = Panel(self._list, title="Clusters", id="clusters")
        self._rows = LongList(MEMBERS, id="rows")
        self._members = Panel(self._rows, title="Members", id="members")
        self._side = SideBySide(alone=True, heads=False)
        self._text = Panel(self._side, title="", id="text")
        self._none = Static(id="none", markup=False)
        self._table: ClusterTable | None = None
        self._order: Integers | None = None
        self._inside: Integers | None = None  # the rows of the marked cluster
        self._links: dict[int, tuple[int, float] | None] = {}
        self._previews: Fetched[str] | None = None  # one for each list: it forgets what the last frame asked for
        self._row_previews: Fetched[str] | None = None
        self._rest: Timer | None = None
        self._kept_shown = False  # the kept row is marked: there is no other to stand beside it

    def compose(self) -> ComposeResult:
        yield self._sum
        yield self._clusters
        yield self._members
        yield self._text
        yield self._none

    def panels(self) -> list[Widget]:
        return [self._list, self._rows, self._side] if self.result is not None else []

    # What comes down

    def watch_result(self, result: Result | None) -> None:
        for previews in (self._previews, self._row_previews):
            if previews is not None:
                previews.end()
        self._table = self._order = self._inside = None
        self._links.clear()
        self.set_class(result is None, "-none")
        if result is None:
            return
        self._previews = Fetched(lambda rows: read_previews(result, rows), self._list.arrived, self._failed)
        self._row_previews = Fetched(lambda rows: read_previews(result, rows), self._rows.arrived, self._failed)
        self._table = ClusterTable(result)
        for one in (self._list, self._rows):
            one.show(0, lambda rows: ())
        self._side.clear()
        self._rearrange()
        self.call_after_refresh(focus_if_free, self)

    def watch_corpus(self) -> None:
        if self.running is not None:
            words = "The run is on: the clusters come here by themselves. 4 Results shows how far it is."
        elif self.corpus is not None:
            words = "No clusters yet: press r to run."
        else:
            words = self.nothing_read()
        self._none.update(words)

    watch_running = watch_corpus

    def on_resize(self) -> None:
        self.set_class(self.size.height < SHORT, "-short")
        self._set_sides()

    def watch_choice(self) -> None:
        """Another tab asked for a cluster: mark it. What this tab itself reports comes back late, while keys go on."""
        if self._order is not None and not self.has_focus_within:
            self._list.cursor = self._place(self._order)

    def _failed(self, why: str) -> None:
        self.post_message(Told(why, "error"))

    # The clusters

    def _columns(self) -> tuple[Column, ...]:
        by = CLUSTER_COLUMNS[self.sort_by]
        title = {name: name + ("↓" if self._descending else "↑") if name == by else name for name in CLUSTER_COLUMNS}
        return (
            Column(title["cluster"], 9, "right"), Column(title["rows"], 7, "right"),
            Column(title["removed"], 8, "right"), Column(title["chained"], 8, "right"),
            Column(title["weakest"], 8, "right"), Column("kept", 10, "right"), Column(" text of the kept row"),
        )

    @property
    def _descending(self) -> bool:
        return (CLUSTER_COLUMNS[self.sort_by] in DESCENDING) != self.reversed

    @property
    def _label(self) -> int | None:
        """The label of the marked cluster."""
        if self._table is None or self._order is None or not len(self._order):
            return None
        return int(self._table.label[self._order[self._list.cursor]])

    def _place(self, order: Integers) -> int:
        wished = self.choice.cluster
        at = self._table.at(wished) if self._table is not None and wished is not None else None
        return place_of(order, at)

    def _rearrange(self) -> None:
        self.run_worker(self._arrange(), group="arrange", exclusive=True, exit_on_error=False)

    watch_sort_by = watch_reversed = _rearrange

    async def _arrange(self) -> None:
        table = self._table
        if table is None:
            return
        by, descending = CLUSTER_COLUMNS[self.sort_by], self._descending
        order, words = await asyncio.to_thread(lambda: (table.listed(by, descending), sum_words(table)))
        if table is not self._table:
            return
        self._order = order
        self._sum.update(words)
        self._list.columns = self._columns()
        self._list.show(len(order), self._cells, cursor=self._place(order))

    def _cells(self, sight: range) -> list[tuple[Cell, ...]]:
        assert self._table is not None and self._order is not None and self._previews is not None
        table, at = self._table, self._order[sight.start : sight.stop]
        kept = table.kept[at].tolist()
        columns = (table.label[at].tolist(), table.rows[at].tolist(), table.removed[at].tolist(),
                   table.chained[at].tolist(), table.weakest[at].tolist(), table.keeps[at].tolist())
        return [
            (count(label), count(rows), count(removed), count(chained), known(weakest),
             count(row) if keeps == 1 else f"{count(row)} +{keeps - 1}", None if text is None else f" {text}")
            for label, rows, removed, chained, weakest, keeps, row, text in zip(
                *columns, kept, self._previews.get(kept), strict=True)
        ]

    def action_sort(self) -> None:
        self.set_reactive(ClustersTab.reversed, False)
        self.sort_by = (self.sort_by + 1) % len(CLUSTER_COLUMNS)

    def action_reverse(self) -> None:
        self.reversed = not self.reversed

    @on(LongList.Highlighted, "#list")
    def _cluster_marked(self, message: LongList.Highlighted) -> None:
        message.stop()
        table, label = self._table, self._label
        if table is None or self._order is None or label is None or message.index != self._list.cursor:
            return
        self.post_message(ClusterHighlighted(label))
        cluster = int(self._order[message.index])
        self._inside = inside = table.members(cluster)
        self._members.title = f"Members of cluster {count(label)}"
        self._clusters.right = f"{count(message.index + 1)} of {count(len(table))}"
        self._members.right = f"{count(len(inside))} rows · weakest {known(float(table.weakest[cluster]))}"
        removed = table.result.clusters.removed[inside]
        self._rows.show(len(inside), self._member_cells, cursor=int(removed.argmax()))

    @on(LongList.Chosen, "#list")
    def _cluster_taken(self, message: LongList.Chosen) -> None:
        message.stop()
        self._rows.focus()

    # Its members

    def _member_cells(self, sight: range) -> list[tuple[Cell, ...]]:
        assert self._table is not None and self._inside is not None and self._row_previews is not None
        rows = self._inside[sight.start : sight.stop].tolist()
        removed = self._table.result.clusters.removed[rows].tolist()
        return [
            (count(row), known(float(self._table.to_kept[row])) if gone else "kept", f" {self._why(row)}", text)
            for row, gone, text in zip(rows, removed, self._row_previews.get(rows), strict=True)
        ]

    def _why(self, row: int) -> str:
        """Why a row is in its cluster, and is kept or not."""
        assert self._table is not None and self._inside is not None
        table, result = self._table, self._table.result
        kept = int(result.clusters.kept[row])
        if kept == row:
            return "first row of the cluster" if row == self._inside[0] else "kept: a pair with no other"
        if result.documents.document_of_row[row] == result.documents.document_of_row[kept]:
            return "the same text"
        if table.chained_row[row]:
            if row not in self._links:
                self._links[row] = table.link(row)
            link = self._links[row]
            return f"chained: {decimal(link[1])} to {count(link[0])}" if link is not None else "chained"
        return f"{count(int(result.clusters.overlap[row]))} of {count(int(result.clusters.union[row]))} shingles"

    @on(LongList.Highlighted, "#rows")
    def _member_marked(self, message: LongList.Highlighted) -> None:
        message.stop()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(RESTED, self._follow)

    @on(LongList.Chosen, "#rows")
    def _member_taken(self, message: LongList.Chosen) -> None:
        message.stop()
        self._read_texts()

    def _read_texts(self) -> None:
        self.zoomed = self._side
        self._side.focus()

    # The text of the marked member

    def _follow(self) -> None:
        if self._table is not None and self._inside is not None and self._rows.cursor < len(self._inside):
            self.run_worker(self._show_text(self._table, int(self._inside[self._rows.cursor])), group="text",
                            exclusive=True, exit_on_error=False)

    async def _show_text(self, table: ClusterTable, row: int) -> None:
        result, kept = table.result, int(table.result.clusters.kept[row])
        try:
            texts = await asyncio.to_thread(read_texts, result, [kept, row])
        except NeardupError as error:
            self._failed(str(error))
            self._side.clear("these texts cannot be read now")
            return
        if table is not self._table:
            return
        words = f"row {count(row)}" if row == kept else f"row {count(row)} beside the kept row {count(kept)}"
        self._text.title = words[0].upper() + words[1:]
        self._kept_shown = row == kept
        self._set_sides()
        self._text.right = side_words(result, row, texts[1]).partition("  ")[2]
        left, right = (Side(side_words(result, at, text), text) for at, text in zip([kept, row], texts, strict=True))
        self._side.compare(left, right)

    def watch_zoomed(self, zoomed: Widget | None) -> None:
        """With the members zoomed, the list stays as long as they are, and the texts get the room."""
        members = zoomed is self._rows
        self.set_class(members, "-members")
        self.set_class(members or zoomed is self._side, "-reading")
        self._members.styles.max_height = len(self._inside) + 2 if members and self._inside is not None else None
        super().watch_zoomed(None if members else zoomed)
        self._set_sides()

    def _set_sides(self) -> None:
        """Both texts stand side by side where there is room: in a wide terminal, or zoomed."""
        zoomed = self.zoomed is not None
        self._side.alone = self._kept_shown or not (zoomed or self.size.width >= BESIDE)
        self._side.heads = not self._side.alone

    def action_scroll_texts(self, lines: int) -> None:
        self._side.action_scroll_lines(lines)

    def action_step_difference(self, step: int) -> None:
        self._side.action_step_difference(step)

    @property
    def _texts_seen(self) -> bool:
        return self.result is not None and self._is_shown(self._side)

    def action_zoom(self) -> None:
        self.toggle_zoom()

    def close(self) -> bool:
        if super().close():
            return True
        if self.result is not None and self.focused_panel() in (self._rows, self._side):
            self._list.focus()
            return True
        return False

    def action_cluster(self) -> None:
        self.post_message(TabWanted(4))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("sort", "reverse"):
            return self.result is not None and self.focused_panel() is self._list
        if action in ("scroll_texts", "step_difference"):
            return self._texts_seen
        return self.result is not None or action != "cluster"

    # Words

    def hints(self) -> list[Hint]:
        if self.result is None:
            return []
        panel = self.focused_panel()
        if panel is self._side:
            return [hint("scroll_lines", "line"), hint("step_difference", key="nN"), hint("zoom"),
                    hint("step_panel", "clusters", key="tab")]
        texts = [hint("scroll_texts", "texts"), hint("step_difference", key="nN")] if self._texts_seen else []
        if panel is self._rows:
            return [hint("step_row", "member"), hint("take_row", "both texts"), hint("back", "clusters"), *texts,
                    hint("zoom"), hint("cluster", "pairs")]
        return [hint("step_row", "cluster"), hint("take_row", "members"), hint("sort"), *texts,
                hint("cluster", "pairs"), hint("zoom")]

    def about(self) -> str:
        panel = self.focused_panel()
        if panel is self._side:
            return ("The marked row beside the row that is kept for it: what differs from the kept row is reversed "
                    "(in braces where there is no colour). z shows both texts.")
        if panel is self._rows:
            return ("The rows of the cluster, and why each is in it. J to kept is always exact. A chained row is like "
                    "another member, but under the threshold to the row that is kept.")
        return ("Rows that are near duplicates of each other, directly or through others; a cluster is named by its "
                "smallest row. One row of each is kept (with star clusters perhaps more), the others are removed. "
                "weakest is the least J of a removed row to the kept one.")


def sum_words(table: ClusterTable) -> str:
    if not len(table):
        return "no clusters: no row has a near duplicate"
    rows, removed, chained = int(table.rows.sum()), int(table.removed.sum()), int(table.chained.sum())
    clusters = "1 cluster" if len(table) == 1 else f"{count(len(table))} clusters"
    kept = f"{count(rows - removed)} kept, {count(removed)} removed"
    return f"{clusters} of {count(rows)} rows: {kept} · {count(chained)} chained"
