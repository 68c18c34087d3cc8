"""`neardup run`: the whole job without a screen, from the inputs to the outputs on disk."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from neardup import (
    Engine,
    Event,
    Finished,
    NeardupError,
    OutputError,
    Reading,
    Result,
    Settings,
    SettingsError,
    Warned,
    chosen,
    exports,
    single,
    summary,
)
from neardup_tui.progress import Progress, tell
from neardup_tui.signals import signals_cancel, signals_raise, suspends

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Job:
    """What `neardup run` was asked for."""

    paths: tuple[str, ...]
    reading: Reading
    settings: Settings
    outputs: exports.Outputs
    workers: int | None
    memory: int | None
    run_dir: str | None
    force: bool
    as_json: bool
    quiet: bool
    began: float  # by time.monotonic()


def run(job: Job) -> None:
    """Do the job; raises what goes wrong, and Stopped when a signal ends it. Refuses first, works then."""
    exports.check(job.outputs, force=job.force)
    if job.settings.find == "lsh":
        chosen(job.settings)  # a recall out of reach is told before the inputs are read
    single.prepare_kernels()
    with _stdin_in_a_file(job) as (paths, run_dir):
        # Not asyncio.run: stopped by a signal, it would wait for a thread that is still importing. All that matters
        # is cleaned up inside, and then the process ends.
        loop = asyncio.new_event_loop()
        loop.run_until_complete(signals_cancel(_find_and_write(job, paths, run_dir)))
        loop.close()


async def _find_and_write(job: Job, paths: Sequence[str], run_dir: Path | None) -> None:
    progress = Progress(job.quiet)
    names = {path: name for path, name in zip(paths, job.paths, strict=True) if path != name}
    try:
        async with Engine(workers=job.workers, run_dir=run_dir, memory=job.memory) as engine:

            def pause(paused: bool) -> None:
                progress.clear()
                engine.pause(paused)

            with suspends(pause):
                corpus = await engine.load(paths, job.reading, lambda event: progress(_event_as_given(event, names)))
                exports.check(job.outputs, corpus, force=job.force)
                result = None
                async with aclosing(engine.run(corpus, job.settings)) as events:
                    async for event in events:
                        progress(_event_as_given(event, names))
                        if isinstance(event, Finished):
                            result = _result_as_given(event.result, names)
                assert result is not None
            # Inside the engine: the records of compressed inputs are read from its spool. And not in a thread, since
            # a thread that writes to a pipe nobody reads cannot be stopped; nothing else wants the loop by now.
            ended = time.monotonic()
            with signals_raise():
                written = exports.write(result, job.outputs, force=job.force)
            writing = time.monotonic() - ended
    except NeardupError as error:
        error.args = (_as_given(str(error), names), *error.args[1:])
        raise
    except asyncio.CancelledError:
        progress.stopped(kept=STDIN not in job.paths)
        raise
    finally:
        progress.clear()
    for warning in result.warnings:
        progress.warn(warning)
    if job.as_json:
        print(json.dumps(summary.as_json(result), indent=2, ensure_ascii=False), flush=True)
    if not job.quiet:
        starting = time.monotonic() - job.began - writing - sum(result.seconds.values())
        beside = {"writing": writing if written else 0.0, "starting": max(0.0, starting)}
        for line in summary.lines(result, written, beside):
            tell(line)


def _ending(head: bytes) -> str:
    """What came through a pipe has no name: compressed bytes are known by how they begin."""
    if head.startswith(b"\x1f\x8b"):
        return ".gz"
    return ".zst" if head == b"\x28\xb5\x2f\xfd" else ""


def _as_given(text: str, names: Mapping[str, str]) -> str:
    """Standard input by its name in all that is told, not by the file it is kept in."""
    for path, name in names.items():
        text = text.replace(path, name)
    return text


def _event_as_given(event: Event, names: Mapping[str, str]) -> Event:
    return Warned(_as_given(event.text, names)) if isinstance(event, Warned) else event


def _result_as_given(result: Result, names: Mapping[str, str]) -> Result:
    inputs = tuple(msgspec.structs.replace(one, path=_as_given(one.path, names)) for one in result.corpus.inputs)
    return replace(
        result,
        corpus=msgspec.structs.replace(result.corpus, inputs=inputs),
        warnings=tuple(_as_given(warning, names) for warning in result.warnings),
    )


@contextmanager
def _stdin_in_a_file(job: Job) -> Iterator[tuple[tuple[str, ...], Path | None]]:
    """The paths with `-` as a private file that lasts as long as the job, and where the run keeps its steps.

    What came through a pipe does not come again, so the steps of such a run go with the file, unless --run-dir
    says where they are wanted.
    """
    run_dir = Path(job.run_dir) if job.run_dir is not None else None
    if STDIN not in job.paths:
        yield job.paths, run_dir
        return
    if job.paths.count(STDIN) > 1:
        raise SettingsError("- stands for standard input, which can be read once: name it once")
    with tempfile.TemporaryDirectory(prefix="neardup-", ignore_cleanup_errors=True) as folder:
        head = sys.stdin.buffer.read(4)
        kept = Path(folder) / f"standard-input{_ending(head)}"
        try:
            with open(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(head)
                shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        except OSError as error:
            raise OutputError(
                f"standard input cannot be kept in {folder} ({error.strerror}): make room there, or name another place "
                "with TMPDIR"
            ) from error
        yield tuple(str(kept) if path == STDIN else path for path in job.paths), run_dir or Path(folder) / "run"
