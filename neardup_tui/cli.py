"""The command line: `neardup [PATH…]` opens the app, `neardup run PATH…` does the same work headless.

Nothing heavy is imported at the top: `neardup --version` and an error in an option answer at once.
stdout carries data only; what a person reads goes to stderr. The exit codes are those of `neardup.errors`,
128 + its number for a signal, and 1 where stdout was closed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from neardup_tui.progress import tell
from neardup_tui.signals import Stopped, ignore_signals, signals_raise

if TYPE_CHECKING:
    from neardup.settings import ByHand, ByRecall, ByWeights, Settings
    from neardup.sources.corpus import Reading

Function = TypeVar("Function", bound=Callable[..., Any])
BEGAN = time.monotonic()


def main() -> NoReturn:
    """The edge: every error becomes one line on stderr and an exit code."""
    _open_what_is_closed()
    with signals_raise():
        try:
            code = neardup.main(prog_name="neardup", standalone_mode=False) or 0
            sys.stdout.flush()
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "neardup"
            tell(f"neardup: {_one_line(error.format_message())} (see {command} --help)")
            code = error.exit_code
        except click.ClickException as error:
            tell(f"neardup: {_one_line(error.format_message())}")
            code = error.exit_code
        except click.exceptions.Exit as error:
            code = error.exit_code
        except (KeyboardInterrupt, click.Abort):
            code = 128 + signal.SIGINT
        except Stopped as stop:
            code = stop.code
        except BrokenPipeError:
            code = 1
        except Exception as error:  # nobody's traceback, and no local variable that may hold a document
            code = _told(error)
    ignore_signals()
    _leave(code)


CLOSED: set[str] = set()


def _open_what_is_closed() -> None:
    """A stream that the caller closed (`>&-`): what is opened next would take its number, and be written to."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            CLOSED.add(name)
            file = open(os.devnull, "r" if name == "stdin" else "w")  # noqa: SIM115
            if file.fileno() != number:
                os.dup2(file.fileno(), number)
            setattr(sys, name, file)


def _need_stdout() -> None:
    if "stdout" in CLOSED:
        from neardup.errors import OutputError

        raise OutputError("standard output is closed, and what was asked for is written there: open it, or name a file")


def _told(error: Exception) -> int:
    import traceback
    from pathlib import Path

    from neardup.errors import NeardupError

    if isinstance(error, NeardupError):
        tell(f"neardup: {_one_line(str(error))}")
        return error.exit_code
    where = traceback.extract_tb(error.__traceback__)[-1]
    if isinstance(error, OSError):
        tell(f"neardup: {error.filename or 'standard output'}: {error.strerror or type(error).__name__}")
    elif isinstance(error, MemoryError):
        tell("neardup: out of memory: give --workers a smaller number")
    else:
        tell(f"neardup: internal error: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}")
    return 1


def _one_line(message: str) -> str:
    return " ".join(message.split()).rstrip(".")


def _leave(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Python would try again at exit, and make 120 of the code: a closed pipe, a terminal that is gone.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            code = code or 1
    # Everything is written and closed by now; taking the interpreter apart with numba in it costs 0.3 s more.
    os._exit(code)


class Whole(click.IntRange):
    """A whole number; its range is said also where the text is no number at all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            int(value)
        except ValueError:
            self.fail(f"{value!r} is no whole number: give one from {self.min:,} up", param, ctx)
        return super().convert(value, param, ctx)


class PathsOrCommand(click.Group):
    """`neardup FILE` beside `neardup run FILE`: what is no command is a path for the app."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.commands, "--version", "--help"}:
            args = ["open", *args]
        return super().parse_args(ctx, args)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from neardup import __version__

        click.echo(f"neardup {__version__}")
        ctx.exit()


@click.group(cls=PathsOrCommand, options_metavar="", subcommand_metavar="[PATH…] | COMMAND …")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def neardup() -> None:
    """Find near-duplicate documents, and know what was missed.

    `neardup PATH…` opens files and folders in the terminal app; `neardup run PATH…` does the same work without it.
    """


def _options(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


INPUT = _options(
    click.option(
        "--format", "form", metavar="FORMAT", default="auto",
        help="auto (by the name), lines, blank-lines, csv, jsonl, parquet or files.",
    ),
    click.option(
        "--text-column", metavar="NAME|N",
        help="The column that holds the text: its name, or its number from 1. Default: `text`, or the only one.",
    ),
)  # fmt: skip
MEANING = _options(
    click.option(
        "--shingle", metavar="KIND:K", default="char:5",
        help="Compare runs of K characters (char:5) or of K words (word:3). Default: char:5.",
    ),
    click.option(
        "--unicode", "unicode_form", metavar="FORM", default="nfc", help="none, nfc or nfkc. Default: nfc.",
    ),
    click.option("--keep-case", is_flag=True, help="Do not lower-case."),
    click.option("--keep-invisible", is_flag=True, help="Do not drop soft hyphens, joiners, zero-width spaces."),
    click.option("--fold-accents", is_flag=True, help="Take é for e."),
    click.option("--strip-punctuation", is_flag=True, help="Take punctuation and symbols for spaces."),
    click.option("--keep-whitespace", is_flag=True, help="Do not join white space into one space."),
    click.option("--num-perm", metavar="N", type=int, default=128, help="Hashes in a signature. Default: 128."),
    click.option("--seed", metavar="N", type=int, default=1, help="Draws the hash functions. Default: 1."),
    click.option(
        "--family", metavar="NAME", default="mersenne",
        help="mersenne: MinHash; fast: Fast Similarity Sketching, for long texts. Default: mersenne.",
    ),
    click.option(
        "--threshold", metavar="T", default="0.8",
        help="Jaccard similarity from which texts are duplicates. Default: 0.8.",
    ),
    click.option(
        "--recall", metavar="R", help="Choose bands × rows that find a pair at the threshold with R. Default: 0.99.",
    ),
    click.option(
        "--weights", metavar="FP:FN", help="Choose the least weighted area of false positives and negatives: 0.5:0.5.",
    ),
    click.option("--bands", metavar="B", type=int, help="Set the bands by hand, with --rows."),
    click.option("--rows", metavar="R", type=int, help="Set the rows of a band by hand, with --bands."),
    click.option(
        "--find", metavar="HOW", default="lsh",
        help="lsh: by bands; exact: every pair, by the exact join, which misses none and asks no bands.",
    ),
    click.option(
        "--verify", metavar="HOW", default="exact",
        help="Accept candidates by their exact similarity, by its estimate, or all: exact, estimate or none.",
    ),
    click.option(
        "--clusters", metavar="MODE", default="transitive",
        help="transitive: one row of a cluster is kept; star: only rows similar to a kept one are removed.",
    ),
    click.option("--keep", metavar="RULE", default="first", help="Which row stands for the others: first."),
)  # fmt: skip
OUTPUT = _options(
    click.option("--out", metavar="PATH|-", help="The kept records, byte for byte; .gz, .zst compress; - is stdout."),
    click.option("--removed", metavar="PATH", help="The removed rows, each with the row it repeats (CSV)."),
    click.option("--pairs", metavar="PATH", help="The similar pairs: .csv, .jsonl or .parquet."),
    click.option("--clusters-out", metavar="PATH", help="The rows of clusters, and which is kept: as --pairs."),
    click.option("--manifest", metavar="PATH", help="How it all came about (JSON)."),
    click.option("--force", is_flag=True, help="Replace outputs that exist."),
)  # fmt: skip
HOW = _options(
    click.option("--workers", metavar="N", type=Whole(0), help="Processes; 0: none. Default: by cores and size."),
    click.option("--memory", metavar="SIZE", help="Over all processes, such as 4GB. Default: 3/4 of what is left."),
    click.option("--run-dir", metavar="PATH", help="Where finished steps are kept for the next run."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
    click.option("--quiet", is_flag=True, help="No summary and no progress; warnings and errors stay."),
)  # fmt: skip


def _reading(form: str, text_column: str | None) -> Reading:
    from neardup.sources.corpus import Reading

    return Reading(format=form, text_column=text_column)  # type: ignore[arg-type]  # Reading has the rule


def _settings(given: dict[str, Any]) -> Settings:
    """What the options of MEANING say; SettingsError for what cannot be right."""
    from neardup.settings import ByRecall, Normalising, Settings, Sketching, parse_shingling, ten_thousandths

    banding = _banding(given)
    if given["find"] == "exact" and banding is not None:
        raise click.UsageError(
            "--find exact misses no pair and asks no bands: leave out --bands, --rows, --recall and --weights"
        )
    return Settings(
        normalising=Normalising(
            drop_invisible=not given["keep_invisible"],
            unicode_form=given["unicode_form"],
            fold_accents=given["fold_accents"],
            lower_case=not given["keep_case"],
            drop_punctuation=given["strip_punctuation"],
            join_whitespace=not given["keep_whitespace"],
        ),
        shingling=parse_shingling(given["shingle"]),
        sketching=Sketching(num_perm=given["num_perm"], seed=given["seed"], family=given["family"]),
        threshold=ten_thousandths(given["threshold"], "the threshold"),
        banding=banding or ByRecall(),
        find=given["find"],
        verify=given["verify"],
        clusters=given["clusters"],
        keep=given["keep"],
    )


def _banding(given: dict[str, Any]) -> ByHand | ByRecall | ByWeights | None:
    """The one way to choose b × r that was asked for; None where none was."""
    from neardup.settings import ByHand, ByRecall, parse_weights, ten_thousandths

    bands, rows, recall, weights = (given[name] for name in ("bands", "rows", "recall", "weights"))
    if (bands is None) != (rows is None):
        there, missing = ("--bands", "--rows") if rows is None else ("--rows", "--bands")
        raise click.UsageError(f"{there} needs {missing}: give both, or --recall")
    ways = (("--bands", bands), ("--recall", recall), ("--weights", weights))
    asked = [name for name, value in ways if value is not None]
    if len(asked) > 1:
        raise click.UsageError(f"{asked[0]} and {asked[1]} both say how b × r is chosen: give one or the other")
    if bands is not None:
        return ByHand(bands, rows)
    if weights is not None:
        return parse_weights(weights)
    return None if recall is None else ByRecall(ten_thousandths(recall, "the recall", "0.99"))


class NoTerminal(click.ClickException):
    exit_code = 2


@neardup.command("open", hidden=True)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@INPUT
@MEANING
def open_(paths: tuple[str, ...], form: str, text_column: str | None, **meaning: Any) -> None:
    """Open the paths in the terminal app."""
    reading, settings = _reading(form, text_column), _settings(meaning)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NoTerminal("the app needs a terminal, and there is none here: `neardup run PATH…` does the same without")
    from neardup_tui.app import open_app

    raise click.exceptions.Exit(open_app(paths, reading, settings) or 0)


@neardup.command(short_help="Find the near duplicates, write the clean files.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@INPUT
@MEANING
@OUTPUT
@HOW
def run(
    paths: tuple[str, ...],
    form: str,
    text_column: str | None,
    out: str | None,
    removed: str | None,
    pairs: str | None,
    clusters_out: str | None,
    manifest: str | None,
    force: bool,
    workers: int | None,
    memory: str | None,
    run_dir: str | None,
    as_json: bool,
    quiet: bool,
    **meaning: Any,
) -> None:
    """Find the near duplicates in files or folders and write what is asked for.

    PATH is a file or a folder, also .gz or .zst; - is standard input. Inputs are never changed, and outputs
    appear whole or not at all.
    """
    reading, settings = _reading(form, text_column), _settings(meaning)
    if out == "-" and as_json:
        raise click.UsageError("--out - and --json both want standard output: give --out a file")
    if out == "-" or as_json:
        _need_stdout()
    if run_dir == "":
        raise click.UsageError("--run-dir is empty: name a directory, or leave the option out")
    from neardup.exports import Outputs
    from neardup.sizes import parse_size
    from neardup_tui import headless

    allowed = None if memory is None else parse_size(memory, "--memory")
    outputs = Outputs(out=out, removed=removed, pairs=pairs, clusters=clusters_out, manifest=manifest)
    how = (workers, allowed, run_dir, force, as_json, quiet)
    headless.run(headless.Job(paths, reading, settings, outputs, *how, BEGAN))


@neardup.command(short_help="Print the best bands × rows, and what each misses.")
@click.option("--threshold", metavar="T", default="0.8", help="Default: 0.8.")
@click.option("--num-perm", metavar="N", type=Whole(1), default=128, help="Hashes in a signature. Default: 128.")
@click.option("--recall", metavar="R", help="Those that find a pair at the threshold with R. Default: 0.99.")
@click.option("--weights", metavar="FP:FN", help="Those with the least weighted areas beside the threshold: 0.5:0.5.")
@click.option("--bands", metavar="B", type=int, help="One choice, with --rows: what it finds at each similarity.")
@click.option("--rows", metavar="R", type=int, help="One choice, with --bands.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tune(threshold: str, num_perm: int, as_json: bool, **given: Any) -> None:
    """Print the best bands × rows for a threshold, and what each finds and misses."""
    from neardup.settings import ByRecall, Settings, Sketching, ten_thousandths
    from neardup_tui import tuning

    settings = Settings(
        threshold=ten_thousandths(threshold, "the threshold"),
        sketching=Sketching(num_perm=num_perm),
        banding=_banding(given) or ByRecall(),
    )
    _need_stdout()
    (tuning.print_json if as_json else tuning.print_table)(settings)


@neardup.command(short_help="Print N short texts, some of them edited copies.")
@click.argument("count", metavar="N", type=Whole(0))
@click.option("--share", metavar="S", type=float, default=0.2, help="Share of edited copies. Default: 0.2.")
@click.option("--seed", metavar="N", type=int, default=1, help="Default: 1.")
@click.option("--characters", metavar="N", type=int, default=240, help="Mean length of a text. Default: 240.")
def example(count: int, share: float, seed: int, characters: int) -> None:
    """Print N short news-like texts as JSON lines (id, text), a share of them edited copies of earlier ones."""
    from neardup.sources import write_example

    _need_stdout()
    write_example(sys.stdout.buffer, count, share=share, seed=seed, characters=characters)


@neardup.group(
    short_help="List and clean what is kept for the next run.", no_args_is_help=False, options_metavar="",
    subcommand_metavar="list|clean …",
)  # fmt: skip
def runs() -> None:
    """What finished steps are kept for the next run, and how much room they take.

    They lie in the cache directory, one directory for the same inputs. NEARDUP_CACHE_SIZE (as in 10GB) is what all of
    them may take; without it 20 GB, or a tenth of the disk's room if that is less. A run that begins removes what is
    above, the one used longest ago first.
    """


@runs.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> None:
    """List what is kept, the inputs used last first."""
    from neardup_tui import kept

    _need_stdout()
    (kept.print_json if as_json else kept.print_table)(sys.stdout)


@runs.command(short_help="Remove what is above the limit, or --all.")
@click.option("--all", "everything", is_flag=True, help="Remove all.")
@click.option("--older-than", metavar="DAYS", type=click.FloatRange(0), help="Remove what was not used for DAYS days.")
@click.option("--to", metavar="SIZE", help="Remove the oldest until the rest is within SIZE, as in 10GB.")
def clean(everything: bool, older_than: float | None, to: str | None) -> None:
    """Remove kept steps that no neardup is at work on; without an option, what is above the limit of the cache.

    Kernels that were compiled by another version go as well.
    """
    from neardup.sizes import parse_size
    from neardup_tui import kept

    if everything and (older_than is not None or to is not None):
        raise click.UsageError("--all leaves nothing for --older-than or --to: give one or the other")
    limit = 0 if everything else parse_size(to, "--to", zero=True) if to is not None else None
    kept.clean(limit, None if older_than is None else older_than * 86_400)
