"""The generated example."""

from __future__ import annotations

import io
import json
import random

import mmh3
import numpy as np
import pytest

from neardup.errors import SettingsError
from neardup.sources import example as made
from neardup.sources import write_example


def generated(count: int, **recipe: float) -> bytes:
    target = io.BytesIO()
    write_example(target, count, **recipe)  # type: ignore[arg-type]
    return target.getvalue()


def texts(content: bytes) -> list[str]:
    records = [json.loads(line) for line in content.splitlines()]
    assert [record["id"] for record in records] == list(range(len(records)))
    return [record["text"] for record in records]


def shingles(text: str) -> set[str]:
    text = " ".join(text.lower().split())
    return {text[at : at + 5] for at in range(len(text) - 4)}


def jaccard(left: str, right: str) -> float:
    a, b = shingles(left), shingles(right)
    return len(a & b) / len(a | b)


def splitmix64(bits: int) -> int:
    mask = 2**64 - 1
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & mask
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & mask
    return bits ^ (bits >> 31)


def test_the_hash_equals_whole_numbers_of_any_size() -> None:
    numbers = [0, 1, 2**63, 2**64 - 1, 0x9E3779B97F4A7C15]
    assert made._mixed(np.array(numbers, np.uint64)).tolist() == [splitmix64(number) for number in numbers]


def test_the_same_recipe_gives_the_same_bytes_everywhere() -> None:
    assert mmh3.hash_bytes(generated(3000)).hex() == "db1ebedbcbe52b740c5d4ebdc9280cd2"


def test_more_documents_begin_with_the_same_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    longer = generated(1000)
    assert longer.startswith(generated(300))
    monkeypatch.setattr(made, "_BLOCK", 240 * 7)
    assert generated(1000) == longer, "the size of the blocks does not matter"


def test_another_seed_gives_other_documents() -> None:
    assert not {*texts(generated(200, seed=1))} & {*texts(generated(200, seed=2))}


@pytest.mark.parametrize("characters", [60, 80, 240, 1000, 5000])
def test_the_mean_length_is_the_one_asked_for(characters: int) -> None:
    found = texts(generated(2000, characters=characters))
    assert np.mean([*map(len, found)]) == pytest.approx(characters, rel=0.05)


def test_a_document_is_readable_sentences() -> None:
    for text in texts(generated(500)):
        assert text.endswith(".") and "  " not in text and text.isascii()
        for sentence in text[:-1].split(". "):
            assert sentence[0].isupper() or sentence[0].isdigit()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7])
def test_the_share_of_copies_is_the_one_asked_for_and_they_are_alike_enough(share: float) -> None:
    found = texts(generated(2000, share=share))
    origins = made._origins(np.arange(2000, dtype=np.uint64), share, 1)
    copies = np.flatnonzero(origins != np.arange(2000))
    assert abs(len(copies) - 2000 * share) <= 4 * (2000 * share * (1 - share)) ** 0.5
    assert (origins[copies] < copies).all()
    if share == 0.0:
        assert len({*found}) == 2000
        return
    similar = np.array([jaccard(found[copy], found[int(origins[copy])]) for copy in copies])
    exact = np.mean([found[copy] == found[int(origins[copy])] for copy in copies])
    assert 0.1 < exact < 0.25, "one in six is a copy to the letter"
    assert (similar >= 0.5).mean() > 0.98 and (similar < 0.8).mean() > 0.1 and (similar > 0.9).mean() > 0.2


def test_unrelated_documents_are_unlike_and_the_vocabulary_grows() -> None:
    found = texts(generated(20_000, share=0.0))
    draw = random.Random(1)
    pairs = [jaccard(*draw.sample(found, 2)) for _ in range(500)]
    assert np.quantile(pairs, 0.9) < 0.1
    sizes = [len({word for text in found[:count] for word in text.split()}) for count in (200, 2_000, 20_000)]
    assert 3 < sizes[1] / sizes[0] < 7 and 3 < sizes[2] / sizes[1] < 7, "about n to the ⅔ (Heaps' law)"


@pytest.mark.parametrize("recipe", [{"share": 1.5}, {"seed": -1}, {"characters": 59}, {"characters": 10**6}])
def test_a_recipe_that_cannot_be_is_refused(recipe: dict[str, float]) -> None:
    with pytest.raises(SettingsError):
        generated(1, **recipe)
    with pytest.raises(SettingsError, match="1 or more"):
        generated(0)
