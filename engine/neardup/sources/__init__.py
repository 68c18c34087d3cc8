"""From paths to texts: find the inputs, scan them once for record borders, read any slice or row, write records back.

    corpus = scan(paths, reading, spool)              # one sequential pass
    texts = texts_of(corpus, corpus.slices[0])        # in a worker: one read of the slice gives borders and texts

The names below are loaded when first asked for: numba and pyarrow take half a second, and whoever only wants the types
of `corpus` shall not wait for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neardup.sources.example import write_example as write_example
    from neardup.sources.previews import ColumnPreview as ColumnPreview
    from neardup.sources.previews import Preview as Preview
    from neardup.sources.previews import preview as preview
    from neardup.sources.reading import Location as Location
    from neardup.sources.reading import cells_of as cells_of
    from neardup.sources.reading import locations_at as locations_at
    from neardup.sources.reading import original_columns as original_columns
    from neardup.sources.reading import records_of as records_of
    from neardup.sources.reading import texts_at as texts_at
    from neardup.sources.reading import texts_of as texts_of
    from neardup.sources.scanning import plan_bytes as plan_bytes
    from neardup.sources.scanning import scan as scan
    from neardup.sources.writing import write_records as write_records

_HOMES = {
    "write_example": "example",
    "preview": "previews",
    "Preview": "previews",
    "ColumnPreview": "previews",
    "Location": "reading",
    "cells_of": "reading",
    "locations_at": "reading",
    "original_columns": "reading",
    "records_of": "reading",
    "texts_at": "reading",
    "texts_of": "reading",
    "plan_bytes": "scanning",
    "scan": "scanning",
    "write_records": "writing",
}
__all__ = [*_HOMES]  # the keys are names


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
