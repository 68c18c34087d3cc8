"""What a run tells while it goes on. The engine tells, it does not draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from neardup.results import Result
    from neardup.settings import Settings

STAGES = ("read", "signatures", "bands", "verify", "clusters")
STAGES_OF_EXACT = ("read", "shingles", "join", "verify", "clusters")  # where the exact join finds the pairs


def stages_of(settings: Settings) -> tuple[str, ...]:
    return STAGES_OF_EXACT if settings.find == "exact" else STAGES


def number_of(stage: str) -> int:
    """Which of its run's stages this is, counted from 1; 0 where there is none of this name."""
    return next((stages.index(stage) + 1 for stages in (STAGES, STAGES_OF_EXACT) if stage in stages), 0)


class StageStarted(msgspec.Struct, frozen=True):
    """`total` units ("rows", "bands", "pairs") are to be done in stage number `number`, counted from 1, of `of`."""

    stage: str
    number: int
    of: int
    total: int
    unit: str


class Advanced(msgspec.Struct, frozen=True):
    """`done` of the stage's units are finished, `seconds` after the stage began; sent about ten times a second."""

    stage: str
    done: int
    total: int
    seconds: float


class Planned(msgspec.Struct, frozen=True):
    """About what the run will take: bytes of disk in the directory `where`, bytes of memory, seconds on the workers."""

    disk: int
    memory: int
    seconds: float
    where: str


class Preparing(msgspec.Struct, frozen=True):
    """Something that has to be done once on this machine, takes a while and is no stage; `text` says what."""

    text: str


class Warned(msgspec.Struct, frozen=True):
    text: str


class Finished(msgspec.Struct, frozen=True):
    result: Result


Event = Planned | StageStarted | Advanced | Preparing | Warned | Finished
