"""neardup finds near-duplicate documents, and tells what it missed.

    from neardup import find_duplicates, Settings

    result = find_duplicates(["tickets.jsonl"], Settings(threshold=8_000))   # 0.8, in ten-thousandths
    result.row_pairs.left, result.row_pairs.right                            # pairs of rows, sorted
    result.clusters.kept                                                     # the row that stands for each row

Importing this page loads no other: each name comes from its module at first use, so that numba, pyarrow and the
workers cost nothing until they are needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from neardup.curve import areas as areas
    from neardup.curve import best_eight as best_eight
    from neardup.curve import candidate_probability as candidate_probability
    from neardup.curve import chosen as chosen
    from neardup.curve import steepest as steepest
    from neardup.engine import Engine as Engine
    from neardup.engine import find_duplicates as find_duplicates
    from neardup.errors import Cancelled as Cancelled
    from neardup.errors import ColumnError as ColumnError
    from neardup.errors import NeardupError as NeardupError
    from neardup.errors import OutputError as OutputError
    from neardup.errors import OutputExists as OutputExists
    from neardup.errors import RunInUse as RunInUse
    from neardup.errors import SettingsError as SettingsError
    from neardup.errors import SourceError as SourceError
    from neardup.errors import WorkerError as WorkerError
    from neardup.events import Advanced as Advanced
    from neardup.events import Event as Event
    from neardup.events import Finished as Finished
    from neardup.events import Planned as Planned
    from neardup.events import Preparing as Preparing
    from neardup.events import StageStarted as StageStarted
    from neardup.events import Warned as Warned
    from neardup.launcher import Launcher as Launcher
    from neardup.results import Clusters as Clusters
    from neardup.results import Documents as Documents
    from neardup.results import Pairs as Pairs
    from neardup.results import Result as Result
    from neardup.results import RowPairs as RowPairs
    from neardup.settings import ByHand as ByHand
    from neardup.settings import ByRecall as ByRecall
    from neardup.settings import ByWeights as ByWeights
    from neardup.settings import Normalising as Normalising
    from neardup.settings import Settings as Settings
    from neardup.settings import Shingling as Shingling
    from neardup.settings import Sketching as Sketching
    from neardup.sources.corpus import Corpus as Corpus
    from neardup.sources.corpus import Input as Input
    from neardup.sources.corpus import Reading as Reading

_HOMES = {
    "curve": ("areas", "best_eight", "candidate_probability", "chosen", "steepest"),
    "engine": ("Engine", "find_duplicates"),
    "errors": (
        "Cancelled", "ColumnError", "NeardupError", "OutputError", "OutputExists", "RunInUse", "SettingsError",
        "SourceError", "WorkerError",
    ),
    "events": ("Advanced", "Event", "Finished", "Planned", "Preparing", "StageStarted", "Warned"),
    "launcher": ("Launcher",),
    "results": ("Clusters", "Documents", "Pairs", "Result", "RowPairs"),
    "settings": ("ByHand", "ByRecall", "ByWeights", "Normalising", "Settings", "Shingling", "Sketching"),
    "sources.corpus": ("Corpus", "Input", "Reading"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'neardup' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"neardup.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
