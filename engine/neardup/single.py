"""One document on its own, as a screen shows it: through the same doors as a run.

Kernels are needed here too. A process that draws must not compile them (each would stall the screen a quarter of a
second): it calls `prepare_kernels` before anything else, and `load_kernels` in a thread once a worker has compiled.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from neardup import compiled
from neardup.ragged import Texts
from neardup.runs import kernel_cache
from neardup.settings import Normalising, Shingling

if TYPE_CHECKING:
    from neardup.stages.shingles import SpelledShingle


def prepare_kernels() -> None:
    """Before numba is imported here: the same cache and CPU as the workers', who do the compiling."""
    compiled.prepare(kernel_cache())


@lru_cache(maxsize=1)
def load_kernels() -> None:
    compiled.load(kernel_cache() / "lock")


def normalised_text(text: str, how: Normalising) -> str:
    """The text as the shingles are cut from it."""
    from neardup.stages import normalise

    return normalise.normalised(Texts.of([text]), how)[0]


def shingles_of_text(text: str, how: Shingling) -> list[SpelledShingle]:
    """The shingles of a normalised text, spelled out, in text order."""
    from neardup.stages import shingles

    return shingles.spelled(text, how)
