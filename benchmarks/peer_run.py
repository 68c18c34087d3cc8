"""One peer, by its fastest natural path, from a JSON-lines file to duplicates. Runs in the peer's own environment.

    python -P peer_run.py PEER FILE OUT      (-P: the modules beside this file are not for the peer to find)

Knows nothing of neardup. Writes into the folder OUT what the peer found, as one of
pairs.npy      int64[pairs, 2]: the pairs of rows that the peer gives (its candidates, where it does not verify)
flagged.npy    bool[rows]: whether a row has a duplicate, where it gives no pairs
kept           the rows that stay, in the peer's own format, where it goes from file to file
and prints CPU seconds a step as JSON. Everywhere: 128 hashes, 16 bands of 8 rows.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HASHES, BANDS, ROWS = 128, 16, 8
CHUNK = 5_000
STEPS: dict[str, float] = {}


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    began = time.process_time()
    yield
    STEPS[name] = STEPS.get(name, 0.0) + time.process_time() - began


def texts_of(path: Path) -> list[str]:
    with step("reading"), path.open(encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def normalised(text: str) -> str:
    return " ".join(text.lower().split())


def windows(text: str) -> list[str]:
    return [text[at : at + 5] for at in range(len(text) - 4)]


def chunks(texts: list[str]) -> Iterator[list[str]]:
    for first in range(0, len(texts), CHUNK):
        yield texts[first : first + CHUNK]


def hashed_windows(texts: list[str]) -> tuple[Any, Any]:
    """What a careful user writes with NumPy: hashes of all 5-byte windows, uint64[n], and offsets uint64[rows + 1].

    For ASCII texts, in chunks that stay in the processor's cache.
    """
    import numpy as np

    with step("shingles"):
        joined = [normalised(text).encode("ascii") for text in texts]
        counts = np.maximum(np.fromiter(map(len, joined), np.int64, len(joined)) - 4, 0)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        hashes = np.empty(offsets[-1], np.uint64)
        for first in range(0, len(joined), 500):
            some = joined[first : first + 500]
            codes = np.frombuffer(b"".join(some), np.uint8)
            window = codes[:-4].astype(np.uint64)
            for place in range(1, 5):
                window <<= np.uint64(8)
                window |= codes[place : len(codes) - 4 + place]
            window *= np.uint64(0x9E3779B97F4A7C15)
            window ^= window >> np.uint64(29)
            whole = np.ones(len(window), bool)  # not over the border of two texts
            ends = np.cumsum([len(text) for text in some])[:-1]
            for place in range(1, 5):
                whole[ends - place] = False
            hashes[offsets[first] : offsets[min(first + 500, len(joined))]] = window[whole]
        return hashes, offsets.astype(np.uint64)


def pairs_of(neighbours: Iterable[Iterable[int]]) -> set[tuple[int, int]]:
    with step("pairs"):
        return {
            (row, other) if row < other else (other, row)
            for row, others in enumerate(neighbours)
            for other in others
            if other != row
        }


def kept_rows(count: int, pairs: Iterable[tuple[int, int]]) -> int:
    """How many rows stay when one of each connected component does."""
    with step("clusters"):
        parent = list(range(count))

        def root(row: int) -> int:
            while parent[row] != row:
                parent[row] = parent[parent[row]]
                row = parent[row]
            return row

        for left, right in pairs:
            first, second = sorted((root(left), root(right)))
            parent[second] = first
        return sum(parent[row] == row for row in range(count))


def save_pairs(out: Path, count: int, pairs: set[tuple[int, int]]) -> None:
    import numpy as np

    kept_rows(count, pairs)
    np.save(out / "pairs.npy", np.array(sorted(pairs), np.int64).reshape(-1, 2))


def _datasketch(path: Path, out: Path, **how: Any) -> None:
    from datasketch import MinHash, MinHashLSH

    texts = texts_of(path)
    index = MinHashLSH(num_perm=HASHES, params=(BANDS, ROWS))
    sketches: list[Any] = []
    for some in chunks(texts):
        with step("shingles"):
            sets = [{window.encode() for window in windows(normalised(text))} for text in some]
        with step("sketches"):
            sketches += MinHash.bulk(sets, num_perm=HASHES, **how)
    with step("index"), index.insertion_session() as session:
        for row, sketch in enumerate(sketches):
            session.insert(row, sketch, check_duplication=False)
    save_pairs(out, len(texts), pairs_of(index.query(sketch) for sketch in sketches))


def datasketch_sha1(path: Path, out: Path) -> None:
    _datasketch(path, out)


def datasketch_xxhash(path: Path, out: Path) -> None:
    import xxhash

    _datasketch(path, out, hashfunc=xxhash.xxh32_intdigest)


def rensa_lists(path: Path, out: Path) -> None:
    from rensa import RMinHash, RMinHashLSH

    texts = texts_of(path)
    index = RMinHashLSH(threshold=0.8, num_perm=HASHES, num_bands=BANDS)
    sketches: list[Any] = []
    for some in chunks(texts):
        with step("shingles"):
            lists = [windows(normalised(text)) for text in some]
        with step("sketches"):
            sketches += RMinHash.from_token_sets(lists, HASHES, 42)
    with step("index"):
        index.insert_many(sketches)
        neighbours = index.query_all(sketches)
    save_pairs(out, len(texts), pairs_of(neighbours))


def rensa_flat(path: Path, out: Path) -> None:
    import numpy as np
    from rensa import RMinHash, RMinHashLSH

    texts = texts_of(path)
    hashes, offsets = hashed_windows(texts)
    with step("sketches"):
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, HASHES, 42)
    with step("index"):
        index = RMinHashLSH(threshold=0.8, num_perm=HASHES, num_bands=BANDS)
        flags = index.query_duplicate_flags_matrix_one_shot(matrix)
    np.save(out / "flagged.npy", np.array(flags, bool))


def gaoya(path: Path, out: Path) -> None:
    from gaoya.minhash import MinHashStringIndex

    texts = texts_of(path)
    with step("shingles"):
        texts = [normalised(text) for text in texts]
    with step("index"):
        index = MinHashStringIndex(
            hash_size=32, jaccard_threshold=0.8, num_bands=BANDS, band_size=ROWS,
            analyzer="char", lowercase=True, ngram_range=(5, 5), id_container="vec",
        )  # fmt: skip
        index.par_bulk_insert_docs(list(range(len(texts))), texts)
        neighbours = index.par_bulk_query(texts)
    save_pairs(out, len(texts), pairs_of(neighbours))


def _fastsketch(path: Path, out: Path, flat: bool) -> None:
    import numpy as np
    from FastSketchLSH import LSH, FastSimilaritySketch

    texts = texts_of(path)
    sketcher = FastSimilaritySketch(size=HASHES, seed=42)
    parts: list[Any] = []
    for some in chunks(texts):
        if flat:
            hashes, offsets = hashed_windows(some)
            with step("sketches"):
                parts.append(sketcher.batch_csr(hashes, offsets, prehashed=True, num_threads=0))
        else:
            with step("shingles"):
                lists = [windows(normalised(text)) for text in some]
            with step("sketches"):
                parts.append(np.asarray(sketcher.batch(lists, num_threads=0)))
    with step("index"):
        sketches = np.concatenate(parts)
        index = LSH(num_perm=HASHES, num_bands=BANDS, num_threads=0)
        index.insert(sketches)
        neighbours, offsets = (np.asarray(part).astype(np.int64) for part in index.query(sketches, format="csr"))
    with step("pairs"):
        rows = np.repeat(np.arange(len(texts)), np.diff(offsets))
        once = rows < neighbours
        pairs = set(zip(rows[once].tolist(), neighbours[once].tolist(), strict=True))
    save_pairs(out, len(texts), pairs)


def fastsketch_lists(path: Path, out: Path) -> None:
    _fastsketch(path, out, flat=False)


def fastsketch_flat(path: Path, out: Path) -> None:
    _fastsketch(path, out, flat=True)


def text_dedup(path: Path, out: Path) -> None:
    """Becomes text-dedup's own command."""
    (out / "config.toml").write_text(
        f"""
        [input]
        input_type = "local_files"
        file_type = "json"
        [input.read_arguments]
        path = "json"
        data_files = {json.dumps(str(path))}
        split = "train"
        [algorithm]
        algorithm_name = "minhash"
        text_column = "text"
        num_perm = {HASHES}
        bands = {BANDS}
        rows = {ROWS}
        threshold = 0.8
        hash_bits = 32
        ngram_size = 3
        num_proc = 2
        batch_size = 10000
        check_false_positive = true
        [output]
        output_dir = {json.dumps(str(out / "kept"))}
        clean_cache = false
        save_clusters = false
        [debug]
        enable_profiling = false
        """
    )
    os.chdir(out)
    os.environ.update(HF_HOME=str(out / "cache"), HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1")
    os.execv(sys.executable, [sys.executable, "-m", "text_dedup.minhash"])


def datatrove(path: Path, out: Path) -> None:
    """Its four steps, on two processes; the input is cut in two for that, which is not counted against it."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from datatrove.executor.local import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
    )
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter
    from datatrove.utils.hashing import HashConfig

    folder = {name: str(out / name) for name in ("halves", "signatures", "buckets", "removed", "kept", "logs")}
    os.mkdir(folder["halves"])
    lines = path.read_bytes().splitlines(keepends=True)
    for number, half in enumerate((lines[: len(lines) // 2], lines[len(lines) // 2 :])):
        (out / "halves" / f"{number}.jsonl").write_bytes(b"".join(half))
    config = MinhashConfig(
        n_grams=3, num_buckets=BANDS, hashes_per_bucket=ROWS, hash_config=HashConfig(precision=64)
    )

    def run(name: str, tasks: int, *pipeline: Any) -> None:
        LocalPipelineExecutor(
            pipeline=list(pipeline), tasks=tasks, workers=min(2, tasks), logging_dir=f"{folder['logs']}/{name}"
        ).run()

    run("1", 2, JsonlReader(folder["halves"]), MinhashDedupSignature(folder["signatures"], config=config))
    run("2", BANDS, MinhashDedupBuckets(folder["signatures"], folder["buckets"], config=config))
    run("3", 1, MinhashDedupCluster(folder["buckets"], folder["removed"], config=config))
    run("4", 2, JsonlReader(folder["halves"]), MinhashDedupFilter(folder["removed"]), JsonlWriter(folder["kept"]))


PEERS = {
    run.__name__.strip("_"): run
    for run in (
        datasketch_sha1, datasketch_xxhash, rensa_lists, rensa_flat, gaoya,
        fastsketch_lists, fastsketch_flat, text_dedup, datatrove,
    )
}  # fmt: skip

if __name__ == "__main__":
    PEERS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
    print(json.dumps(STEPS))
