"""Which outputs are wanted, and what is refused before any work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec

from neardup.errors import OutputError, OutputExists, SettingsError
from neardup.exports.names import STDOUT, form_of, is_stream, is_table
from neardup.sources.corpus import Corpus

Name = Literal["out", "removed", "pairs", "clusters", "manifest"]
OPTIONS: dict[Name, str] = {
    "out": "--out",
    "removed": "--removed",
    "pairs": "--pairs",
    "clusters": "--clusters-out",
    "manifest": "--manifest",
}


TABLES: tuple[Name, ...] = ("removed", "pairs", "clusters")


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where each output goes, or None: not wanted. `out` may be `-`, standard output."""

    out: str | None = None
    removed: str | None = None
    pairs: str | None = None
    clusters: str | None = None
    manifest: str | None = None

    def items(self) -> list[tuple[Name, str]]:
        """The wanted ones, in the order of the options."""
        every = ((name, getattr(self, name)) for name in get_args(Name))
        return [(name, path) for name, path in every if path is not None]

    def named(self, names: Mapping[Name, str] = OPTIONS) -> list[tuple[str, str]]:
        """The wanted ones by their option, or as `names` calls them."""
        return [(names[name], path) for name, path in self.items()]


class Written(msgspec.Struct, frozen=True):
    """An output as it lies on disk; `sha256` is of its bytes, compressed or not, and taken for the manifest alone."""

    name: str
    path: str
    rows: int
    bytes: int
    sha256: str | None


def check(
    outputs: Outputs, corpus: Corpus | None = None, *, force: bool = False, names: Mapping[Name, str] = OPTIONS
) -> None:
    """Refuse, before any work, what could not be written at its end. Without a corpus only the paths are looked at.
    `names` is what the outputs are called in the errors.

    Raises SettingsError: one path twice, an input as an output, inputs that cannot stand in one `--out`;
    OutputExists: it is there and `force` is not given; OutputError: its folder is missing or not to be written to.
    """
    seen: dict[str, str] = {}
    for name, path in outputs.items():
        option = names[name]
        if path == STDOUT:
            if name != "out":
                raise SettingsError(f"{option} - : only {names['out']} can go to standard output; give {option} a file")
            continue
        if name in TABLES and not is_stream(path) and not is_table(path):
            raise SettingsError(
                f"{option}: tables are written as CSV, JSON lines or Parquet, and {path} ends otherwise: "
                "give a name that ends in .csv, .jsonl or .parquet"
            )
        if name == "removed" and form_of(path) != "csv":
            raise SettingsError(f"{option}: CSV is written, and {path} ends otherwise: give a name that ends in .csv")
        if is_stream(path):
            continue
        real = os.path.realpath(path)
        if real in seen:
            raise SettingsError(f"{seen[real]} and {option} are both {path}: give each a file of its own")
        seen[real] = option
        _check_path(option, path, force)
    if corpus is not None:
        _check_inputs(seen, outputs, corpus)


def _check_path(option: str, path: str, force: bool) -> None:
    target = Path(os.path.realpath(path))
    if target.is_dir() or path.endswith(os.sep):
        raise SettingsError(f"{option} {path} is a folder: give the name of a file")
    if not target.parent.is_dir():
        raise OutputError(f"{option} {path} cannot be written: there is no folder {Path(path).parent}")
    if target.exists() and not force:
        raise OutputExists(f"{option} {path} exists: give another name, or --force to replace it")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{option} {path} cannot be written: no permission to write in {Path(path).parent}")


def _check_inputs(options: dict[str, str], outputs: Outputs, corpus: Corpus) -> None:
    for one in corpus.inputs:
        for real in (one.real, *(str(Path(one.real) / file) for file in one.files)):
            if option := options.get(real):
                raise SettingsError(f"{option} {real} is an input, and inputs are never changed: give another name")
    for real, option in options.items():
        for one in corpus.inputs:
            if one.format == "files" and os.path.isdir(one.path) and Path(real).is_relative_to(one.real):
                raise SettingsError(
                    f"{option} {real} lies in {one.path}, which is read: the next run would take it for a document; "
                    "write it elsewhere"
                )
    if outputs.out is not None and outputs.out != STDOUT:
        _check_ending(options.get(os.path.realpath(outputs.out), OPTIONS["out"]), outputs.out, corpus)
    if outputs.out is not None and len(corpus.inputs) > 1:
        from neardup.sources.writing import refuse_unlike  # loads the kernels, which one input does not need

        refuse_unlike(corpus)


def _check_ending(option: str, path: str, corpus: Corpus) -> None:
    """Kept records are written as they were read, so a name must not promise Parquet for text, or text for Parquet."""
    is_parquet = any(one.format == "parquet" for one in corpus.inputs)
    named_parquet = form_of(path) == "parquet"
    if named_parquet and not is_parquet:
        raise SettingsError(
            f"{option} {path} is named as Parquet, and the kept records are written as they were read: "
            f"{corpus.inputs[0].format}; give it the ending of the input"
        )
    if is_parquet and not named_parquet and Path(path).suffix.lower() in (".csv", ".tsv", ".jsonl", ".ndjson", ".txt"):
        raise SettingsError(
            f"{option} {path} is named as text, and the kept records are written as they were read: Parquet; "
            "give a name that ends in .parquet"
        )
