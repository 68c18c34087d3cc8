"""The manifest: one JSON object that tells how the outputs came about, enough to make them again and to check them."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from neardup import summary
from neardup.exports.command import command_for, reading_of
from neardup.exports.outputs import Outputs, Written
from neardup.results import Result

FORMAT = 1  # of the manifest itself; grows when a key changes its meaning
LIBRARIES = ("neardup", "numpy", "numba", "mmh3", "pyarrow", "msgspec", "selectolax", "charset-normalizer")


def of(result: Result, outputs: Outputs, written: Sequence[Written]) -> bytes:
    """The same bytes for the same run, but for `seconds`, `machine` and `peak_memory_bytes`."""
    told = summary.as_json(result)
    by_input = zip(told.pop("inputs"), result.corpus.inputs, strict=True)
    manifest: dict[str, Any] = {
        "manifest": FORMAT,
        "command": command_for(
            [one.path for one in result.corpus.inputs], reading_of(result.corpus), result.settings, outputs
        ),
        "inputs": [{**shown, "bytes": one.size, "checksum": one.checksum} for shown, one in by_input],
        # Thresholds and recalls are whole ten-thousandths, as every decision takes them.
        "settings": msgspec.to_builtins(result.settings),
        **told,
        "outputs": [msgspec.to_builtins(one) for one in written],
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "machine": {"system": platform.platform(), "processors": os.cpu_count(), "byteorder": sys.byteorder},
    }
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
