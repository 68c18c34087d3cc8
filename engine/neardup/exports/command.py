"""The `neardup run …` that does the same again: what the app copies and the manifest stores."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.exports.outputs import Outputs
from neardup.settings import ByHand, ByWeights, Settings, as_decimal
from neardup.sources.corpus import Corpus, Reading


def reading_of(corpus: Corpus) -> Reading:
    """How the inputs were read in the end, as one would ask for it."""
    formats = {one.format for one in corpus.inputs}
    columns = {one.text_column for one in corpus.inputs}
    column = columns.pop() if len(columns) == 1 else None
    first = corpus.inputs[0] if corpus.inputs else None
    if column is not None and first is not None and first.columns.count(column) > 1 and first.column is not None:
        column = str(first.column + 1)
    return Reading(format=formats.pop() if len(formats) == 1 else "auto", text_column=column)


def command_for(
    paths: Sequence[str], reading: Reading, settings: Settings, outputs: Outputs | None = None, *, force: bool = False
) -> list[str]:
    """The words of the command; `shlex.join` makes a line of them. What has its default is left out."""
    words = ["neardup", "run", *(f"./{path}" if path.startswith("-") and path != "-" else path for path in paths)]
    if reading.format != "auto":
        words += ["--format", reading.format]
    if reading.text_column is not None:
        words += ["--text-column", reading.text_column]
    words += _meaning(settings)
    if outputs is not None:
        for option, path in outputs.named():
            words += [option, path]
    return [*words, "--force"] if force else words


def _meaning(settings: Settings) -> list[str]:
    usual = Settings()
    normalising, sketching = settings.normalising, settings.sketching
    words: list[str] = []
    if settings.shingling != usual.shingling:
        words += ["--shingle", str(settings.shingling)]
    if normalising.unicode_form != usual.normalising.unicode_form:
        words += ["--unicode", normalising.unicode_form]
    words += [
        flag
        for flag, given in (
            ("--keep-case", not normalising.lower_case),
            ("--keep-invisible", not normalising.drop_invisible),
            ("--fold-accents", normalising.fold_accents),
            ("--strip-punctuation", normalising.drop_punctuation),
            ("--keep-whitespace", not normalising.join_whitespace),
        )
        if given
    ]
    if sketching.num_perm != usual.sketching.num_perm:
        words += ["--num-perm", str(sketching.num_perm)]
    if sketching.seed != usual.sketching.seed:
        words += ["--seed", str(sketching.seed)]
    if sketching.family != usual.sketching.family:
        words += ["--family", sketching.family]
    if settings.threshold != usual.threshold:
        words += ["--threshold", as_decimal(settings.threshold)]
    if settings.find != usual.find:
        words += ["--find", settings.find]
    elif isinstance(settings.banding, ByHand):
        words += ["--bands", str(settings.banding.bands), "--rows", str(settings.banding.rows)]
    elif isinstance(settings.banding, ByWeights):
        words += ["--weights", str(settings.banding)]
    elif settings.banding != usual.banding:
        words += ["--recall", as_decimal(settings.banding.recall)]
    if settings.verify != usual.verify:
        words += ["--verify", settings.verify]
    if settings.clusters != usual.clusters:
        words += ["--clusters", settings.clusters]
    if settings.keep != usual.keep:
        words += ["--keep", settings.keep]
    return words
