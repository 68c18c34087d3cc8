"""What a run leaves for others: kept records, removed rows, pairs, clusters, and the manifest that tells how.

`check` before the run, `plan` to see what would be written, `write` at the end. All outputs are written under
temporary names first and take their own names together, the manifest last; an error, a full disk or a stop
leaves none of them. The same run gives the same bytes, but for the manifest's `seconds`, `machine` and
`peak_memory_bytes`.

    --out           the kept records' own bytes in row order; compressed where the name ends in .gz or .zst
    --removed       CSV: row, kept, jaccard, cluster, id, kept_id and the columns of the input; `id` and `kept_id`
                    are empty as long as no column is known to hold an id, so that a script finds its columns always
    --pairs         left, right, estimate, jaccard; CSV, JSON lines or Parquet by the name's ending. jaccard is empty
                    where it was not verified; two copies of one text have 1.000000 and 1.000000
    --clusters-out  row, cluster, kept, jaccard_to_kept, chained; rows in clusters of two or more; CSV, JSON lines
                    or Parquet
    --manifest      JSON

Rows count from 0. Parquet holds the estimate and the Jaccard as doubles; text has them with six decimals.
"""

from __future__ import annotations

import stat
from contextlib import ExitStack
from pathlib import Path
from typing import get_args

from neardup import sources
from neardup.exports import manifest, tables
from neardup.exports.command import command_for, reading_of
from neardup.exports.dryrun import DryRun, Planned, plan
from neardup.exports.names import STDOUT, form_of
from neardup.exports.outputs import OPTIONS, Name, Outputs, Written, check
from neardup.exports.rendering import compressed, write_table
from neardup.exports.wholefile import WholeFile
from neardup.pulse import Pulse, unwatched
from neardup.results import Result
from neardup.sources.corpus import Corpus

__all__ = [
    "OPTIONS",
    "DryRun",
    "Name",
    "Outputs",
    "Planned",
    "Written",
    "check",
    "command_for",
    "plan",
    "reading_of",
    "write",
]


def write(result: Result, outputs: Outputs, *, force: bool = False, pulse: Pulse = unwatched) -> list[Written]:
    """Write all outputs, or none; told in the order of the options. `pulse` is asked at every megabyte.

    Raises as `check` does, OutputError when writing fails, and what the pulse raises.
    """
    check(outputs, result.corpus, force=force)
    mode = _mode(result.corpus)
    files: list[WholeFile] = []
    written: list[Written] = []
    with ExitStack() as leaving:
        # What goes to standard output cannot be taken back, so it goes when the files are on disk.
        for name, path in sorted(outputs.items(), key=lambda item: (item[0] == "manifest", item[1] == STDOUT)):
            file = WholeFile(path, mode, pulse, hashed=outputs.manifest is not None and name != "manifest")
            leaving.callback(file.discard)
            rows = _fill(file, name, result, outputs, written)
            file.finish()
            files.append(file)
            written.append(Written(name, path, rows, file.size, file.sha256))
        for file in files:
            file.appear()
    return sorted(written, key=lambda one: get_args(Name).index(one.name))


def _fill(file: WholeFile, name: Name, result: Result, outputs: Outputs, written: list[Written]) -> int:
    with compressed(file) as stream:
        if name == "manifest":
            stream.write(manifest.of(result, outputs, written))
            return 0
        if name == "out":
            sources.write_records(result.corpus, ~result.clusters.removed, stream, pulse=file.pulse)
            return result.kept
        schema, batches = tables.OF[name](result)
        return write_table(schema, batches, form_of(file.path), stream)


def _mode(corpus: Corpus) -> int:
    """As with `cp`: who may not read every input may not read an output either, but its owner always may."""
    mode = 0o666
    for one in corpus.inputs:
        try:
            mode &= 0o600 | stat.S_IMODE(Path(one.real).stat().st_mode)
        except OSError:
            mode &= 0o600
    return mode
