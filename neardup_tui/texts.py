"""Texts of rows, fetched in a thread when first looked at: a list asks, draws `…`, and is told when they came."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from neardup_tui.session import why

Item = TypeVar("Item")

KEPT = 2_000  # rows: some forty screens of them


class Fetched(Generic[Item]):
    """What `fetch` gives for rows; the last KEPT are kept. `arrived` is called on the loop, `failed` with why."""

    def __init__(
        self,
        fetch: Callable[[Sequence[int]], Sequence[Item]],
        arrived: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        self._fetch, self._arrived, self._failed = fetch, arrived, failed
        self._have: OrderedDict[int, Item] = OrderedDict()
        self._wanted: list[int] = []
        self._task: asyncio.Task[None] | None = None
        self._over = False

    def get(self, rows: Iterable[int]) -> list[Item | None]:
        """What is there of these rows at once; the rest is None now and on its way."""
        rows = list(rows)
        missing = [row for row in rows if row not in self._have]
        if missing and not self._over:
            # Only what is in sight now is worth fetching: rows scrolled past are forgotten.
            self._wanted = missing
            if self._task is None:
                self._task = asyncio.create_task(self._work())
        return [self._have.get(row) for row in rows]

    def end(self) -> None:
        """Other documents are loaded: nothing that is still on its way counts."""
        self._over = True
        self._wanted = []

    async def _work(self) -> None:
        try:
            while self._wanted and not self._over:
                rows, self._wanted = self._wanted, []
                items = await asyncio.to_thread(self._fetch, rows)
                if self._over:
                    return
                self._have.update(zip(rows, items, strict=True))
                while len(self._have) > max(KEPT, len(rows)):
                    self._have.popitem(last=False)
                self._arrived()
        except Exception as error:
            self._fail(why(error))
        finally:
            self._task = None

    def _fail(self, reason: str) -> None:
        """Once is enough: a file that cannot be read now will not be read at the next key either."""
        if not self._over:
            self._over = True
            self._failed(reason)
