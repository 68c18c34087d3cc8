"""The real program in a process of its own: what it prints, writes and returns."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup import Settings
from neardup.exports import command_for
from neardup.settings import ByHand, ByRecall, ByWeights, Normalising, Shingling, Sketching
from neardup.sources.corpus import Reading
from neardup_tui import cli
from neardup_tui.signals import SIGNALS

TEXTS = [
    "The quick brown fox jumps over the lazy dog, as it does every day.",
    "Order 88007 was delivered to the wrong address; please send it again.",
    "The quick brown fox jumps over the lazy dog, as it does each day.",
    "",
    "Two lines\r\nin one cell, with a \"quote\" and a comma.",
    "The quick brown fox jumps over the lazy dog, as it does every day.",
    "How do I change the language of the invoice?",
    "order 88007 was delivered to the wrong  address; please send it again.",
    "   ",
    "Två rader\r\nin one cell, with a \"quote\" and a comma.",
]
SURE = ("--threshold", "0.6", "--bands", "64", "--rows", "2", "--workers", "0")  # misses a pair at 0.6 once in 10¹²


def neardup(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "neardup_tui", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, env=os.environ | (env or {}), timeout=120)


def records() -> tuple[bytes, list[bytes]]:
    """A CSV with byte order mark, CRLF and cells of several lines: its header, and each record's own bytes."""

    def line(*cells: str) -> bytes:
        target = io.StringIO()
        csv.writer(target).writerow(cells)
        return target.getvalue().encode()

    return b"\xef\xbb\xbf" + line("id", "body"), [line(f"T-{row}", text) for row, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    header, lines = records()
    path = tmp_path_factory.mktemp("inputs") / "tickets.csv"
    path.write_bytes(header + b"".join(lines))
    return path


def shingles(text: str) -> set[str]:
    text = " ".join(text.lower().split())
    return {text[at : at + 5] for at in range(max(1, len(text) - 4))} if text else set()


def jaccard(left: str, right: str) -> float:
    one, two = shingles(left), shingles(right)
    return len(one & two) / len(one | two) if one and two else 0.0


def expected_pairs(threshold: float) -> list[tuple[int, int, str]]:
    every = itertools.combinations(enumerate(TEXTS), 2)
    return [(i, j, f"{jaccard(a, b):.6f}") for (i, a), (j, b) in every if jaccard(a, b) >= threshold]


def expected_kept(threshold: float) -> list[int]:
    """The first row of each component."""
    first = list(range(len(TEXTS)))
    for i, j, _ in expected_pairs(threshold):
        low, high = sorted((first[i], first[j]))
        first = [low if one == high else one for one in first]
    return first


def test_a_run_writes_the_kept_records_byte_for_byte_and_names_what_it_removed(tickets: Path, tmp_path: Path) -> None:
    names = {"--out": "clean.csv", "--removed": "removed.csv", "--pairs": "pairs.csv", "--clusters-out": "c.csv"}
    outputs = [word for option, name in names.items() for word in (option, tmp_path / name)]

    done = neardup(
        "run", tickets, "--text-column", "body", *SURE, *outputs, "--manifest", tmp_path / "m.json", "--json"
    )  # fmt: skip

    assert done.returncode == 0, done.stderr.decode()
    header, lines = records()
    kept = expected_kept(0.6)
    assert (tmp_path / "clean.csv").read_bytes() == header + b"".join(
        line for row, line in enumerate(lines) if kept[row] == row
    )
    pairs = [(int(p["left"]), int(p["right"]), p["jaccard"]) for p in csv.DictReader((tmp_path / "pairs.csv").open())]
    assert pairs == expected_pairs(0.6)
    removed = list(csv.reader((tmp_path / "removed.csv").open(newline="", encoding="utf-8")))
    assert removed[0] == ["row", "kept", "jaccard", "cluster", "id", "kept_id", "id", "body"]
    assert removed[1:] == [
        [str(row), str(first), f"{jaccard(TEXTS[row], TEXTS[first]):.6f}", str(first), "", "", f"T-{row}", TEXTS[row]]
        for row, first in enumerate(kept)
        if first != row
    ]
    clusters = list(csv.reader((tmp_path / "c.csv").open()))[1:]
    assert [(int(row), int(first)) for row, first, *_ in clusters] == [
        (row, first) for row, first in enumerate(kept) if kept.count(first) > 1
    ]
    told, manifest = json.loads(done.stdout), json.loads((tmp_path / "m.json").read_text())
    assert (told["rows"], told["empty"], told["kept"], told["removed"]) == (10, 2, len(set(kept)), 10 - len(set(kept)))
    assert (told["documents"], told["exact_duplicates"], told["pairs"]) == (6, 2, len(pairs))
    assert (told["bands"], told["rows_per_band"]) == (64, 2)
    for one in manifest["outputs"]:
        assert one["sha256"] == hashlib.sha256(Path(one["path"]).read_bytes()).hexdigest()


def test_the_manifests_command_does_the_same_again(tickets: Path, tmp_path: Path) -> None:
    first = neardup(
        "run", tickets, "--text-column", "2", *SURE, "--out", "a.csv.gz", "--manifest", "m.json", cwd=tmp_path
    )
    assert first.returncode == 0, first.stderr.decode()
    before = (tmp_path / "a.csv.gz").read_bytes()

    program, *words = json.loads((tmp_path / "m.json").read_text())["command"]
    again = neardup(*words, "--force", cwd=tmp_path)

    assert program == "neardup" and again.returncode == 0, again.stderr.decode()
    assert (tmp_path / "a.csv.gz").read_bytes() == before and gzip.decompress(before).startswith(b"\xef\xbb\xbfid,")


def test_every_export_has_the_same_bytes_for_any_workers_memory_and_hash_seed(
    tickets: Path, tmp_path: Path
) -> None:
    seen = []
    for workers, memory, seed in (("0", "16GB", "0"), ("1", "500MB", "1"), ("2", "700MB", "random")):
        folder = tmp_path / workers
        folder.mkdir()
        done = neardup(
            "run", tickets, "--text-column", "body", *SURE, "--workers", workers, "--memory", memory, "--run-dir",
            folder / "run",
            "--out", "o.csv.zst", "--removed", "r.csv", "--pairs", "p.parquet", "--clusters-out", "c.jsonl",
            cwd=folder, env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        seen.append({path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()})
    assert len(seen[0]) == 4 and seen[0] == seen[1] == seen[2]


def test_standard_input_and_standard_output_take_the_places_of_files(tickets: Path, tmp_path: Path) -> None:
    neardup("run", tickets, "--text-column", "body", *SURE, "--out", tmp_path / "file.csv")
    (tmp_path / "tmp").mkdir()

    done = neardup(
        "run", "-", "--format", "csv", "--text-column", "body", *SURE, "--out", "-",
        "--manifest", tmp_path / "m.json", stdin=tickets.read_bytes(), env={"TMPDIR": str(tmp_path / "tmp")},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == (tmp_path / "file.csv").read_bytes()
    manifest = json.loads((tmp_path / "m.json").read_text())
    assert manifest["command"][:3] == ["neardup", "run", "-"] and manifest["inputs"][0]["path"] == "-"
    assert not os.listdir(tmp_path / "tmp")


def test_standard_input_that_finds_no_room_is_one_line(tmp_path: Path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [sys.executable, "-m", "neardup_tui", "run", "-"], input=b"one line\n" * 100_000, capture_output=True,
        preexec_fn=little_room, env=os.environ | {"TMPDIR": str(tmp_path)}, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert done.stderr.startswith(b"neardup: standard input cannot be kept in ") and b"TMPDIR" in done.stderr
    assert not os.listdir(tmp_path)


def test_what_is_wrong_with_standard_input_is_told_by_its_name(tickets: Path) -> None:
    done = neardup("run", "-", "--format", "csv", "--workers", "0", stdin=tickets.read_bytes())
    assert done.returncode == 2 and done.stderr.startswith(b"neardup: -: which column holds the text?"), done.stderr


def test_the_summary_goes_to_stderr_and_quiet_leaves_only_what_is_wrong(tickets: Path) -> None:
    told = neardup("run", tickets, "--text-column", "body", "--workers", "0")
    quiet = neardup("run", tickets, "--text-column", "body", "--workers", "0", "--quiet")

    assert told.returncode == quiet.returncode == 0
    assert told.stdout == quiet.stdout == quiet.stderr == b""
    text = told.stderr.decode()
    assert "16 bands × 6 rows (96 of 128 hashes), chosen for a wished recall 0.99 at t = 0.8" in " ".join(text.split())
    assert "\x1b" not in text and max(map(len, text.splitlines())) <= 80


BAD: list[tuple[int, list[str], list[str]]] = [
    (3, ["run", "missing.csv"], ["missing.csv"]),
    (3, ["run", "empty"], ["empty"]),
    (3, ["run", "broken.jsonl", "--text-column", "text"], ["broken.jsonl", "2"]),
    (3, ["run", "nothing.txt"], ["nothing.txt"]),
    (2, ["run", "tickets.csv"], ["'id', 'body'", "--text-column"]),
    (2, ["run", "tickets.csv", "--text-column", "titel"], ["titel", "'id', 'body'"]),
    (2, ["run", "lines.txt", "--bands", "64", "--rows", "3"], ["192", "128", "--num-perm"]),
    (2, ["run", "lines.txt", "--threshold", "1.5"], ["1.5"]),
    (2, ["run", "lines.txt", "--threshold", "0"], ["0"]),
    (2, ["run", "lines.txt", "--threshold", "0.80001"], ["0.80001", "four decimals"]),
    (2, ["run", "lines.txt", "--threshold", "high"], ["high"]),
    (2, ["run", "lines.txt", "--threshold", "0.01"], ["0.7237", "--num-perm 459"]),
    (2, ["run", "lines.txt", "--bands", "16"], ["--bands needs --rows"]),
    (2, ["run", "lines.txt", "--rows", "6"], ["--rows needs --bands"]),
    (2, ["run", "lines.txt", "--bands", "16", "--rows", "6", "--recall", "0.9"], ["--recall"]),
    (2, ["run", "lines.txt", "--bands", "4", "--rows", "4", "--weights", "1:1"], ["--bands and --weights"]),
    (2, ["run", "lines.txt", "--weights", "1:x"], ["'1:x'", "FP:FN", "above 0"]),
    (2, ["tune", "--weights", "0:1"], ["'0:1'", "above 0 and up to 10,000"]),
    (2, ["tune", "--threshold", "1.5"], ["1.5", "(0, 1]"]),
    (2, ["tune", "--threshold", "0.01"], ["0.7237", "--num-perm 459"]),
    (2, ["tune", "--bands", "16", "--rows", "9"], ["144 hashes", "--num-perm 144"]),
    (2, ["run", "lines.txt", "--find", "guess"], ["'guess'", "--find", "lsh, exact"]),
    (2, ["run", "lines.txt", "--find", "exact", "--recall", "0.9"], ["--find exact", "--recall"]),
    (2, ["run", "lines.txt", "--find", "exact", "--verify", "none"], ["--find exact", "--verify none"]),
    (2, ["run", "lines.txt", "--out", "-", "--json"], ["--out -", "--json"]),
    (2, ["run", "lines.txt", "--shingle", "char5"], ["char5", "char:5"]),
    (2, ["run", "lines.txt", "--format", "xml"], ["xml", "jsonl"]),
    (2, ["run", "lines.txt", "--unicode", "nfd"], ["nfd"]),
    (2, ["run", "lines.txt", "--num-perm", "0"], ["65,535"]),
    (2, ["run", "lines.txt", "--num-perm", "many"], ["many"]),
    (2, ["run", "lines.txt", "--keep", "longest"], ["longest"]),
    (2, ["run", "lines.txt", "--pairs", "p.xlsx"], ["p.xlsx", ".csv, .jsonl or .parquet"]),
    (2, ["run", "lines.txt", "--clusters-out", "c.txt.gz"], ["c.txt.gz", ".csv, .jsonl or .parquet"]),
    (2, ["run", "lines.txt", "--removed", "r.json"], ["r.json", ".csv, .jsonl or .parquet"]),
    (2, ["run", "tickets.csv", "--text-column", "9"], ["'9'", "or by number 1 to 2"]),
    (2, ["run", "lines.txt", "--memory", "lots"], ["lots", "500MB or 4GB"]),
    (2, ["run", "lines.txt", "--memory", "20MB"], ["20.0 MB are allowed", "--memory"]),
    (2, ["run", "lines.txt", "--out", "there.txt"], ["there.txt", "--force"]),
    (2, ["run", "lines.txt", "--out", "lines.txt", "--force"], ["is an input"]),
    (2, ["run", "other.csv", "tickets.csv", "--text-column", "body", "--out", "o"], ["other.csv", "tickets.csv"]),
    (1, ["run", "lines.txt", "--out", "no/such/folder"], ["no/such"]),
    (2, ["run", "-", "-"], ["once"]),
    (2, ["run"], ["PATH"]),
    (2, ["run", "lines.txt", "--token", "nd1x"], ["--token"]),
    (2, ["run", "lines.txt", "--wishes", "1:1"], ["--wishes"]),
    (2, ["run", "lines.txt", "--dry-run"], ["--dry-run"]),
    (2, ["lines.txt"], ["terminal", "neardup run"]),
    (2, ["--nonsense"], ["--nonsense"]),
    (2, ["example", "-5"], ["-5"]),
]


@pytest.fixture
def place(tickets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the inputs that BAD names, as the working directory."""
    (tmp_path / "tickets.csv").write_bytes(tickets.read_bytes())
    (tmp_path / "lines.txt").write_text("one text\nanother text\n")
    (tmp_path / "other.csv").write_text("body,id\none text,1\n")
    (tmp_path / "nothing.txt").touch()
    (tmp_path / "there.txt").write_text("mine")
    (tmp_path / "broken.jsonl").write_text('{"text": "fine"}\n{"text": "secret words"\n')
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def same_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}


@pytest.mark.parametrize(("code", "arguments", "words"), BAD, ids=[" ".join(case[1]) for case in BAD])
@pytest.mark.usefixtures("same_signals")
def test_bad_input_gets_one_clear_line_and_its_code_and_nothing_is_written(
    code: int,
    arguments: list[str],
    words: list[str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = contents(place)
    in_this_process = ["--workers", "0"] if arguments[0] == "run" else []
    monkeypatch.setattr(sys, "argv", ["neardup", *arguments, *in_this_process])
    monkeypatch.setattr(os, "_exit", sys.exit)  # the process is the suite's own

    with pytest.raises(SystemExit) as left:
        cli.main()

    out, told = capfd.readouterr()
    assert (left.value.code, out) == (code, ""), told
    assert told.startswith("neardup: ") and told.count("\n") == 1
    assert all(word in told for word in words), told
    assert "Traceback" not in told and "secret" not in told
    assert contents(place) == before


@pytest.mark.parametrize("case", [2, 11, 22, -3], ids=lambda case: " ".join(BAD[case][1]))
def test_the_program_itself_says_the_same_of_bad_input(case: int, place: Path) -> None:
    code, arguments, words = BAD[case]
    before = contents(place)

    done = neardup(*arguments)

    told = done.stderr.decode()
    assert (done.returncode, done.stdout, told.count("\n")) == (code, b"", 1), told
    assert told.startswith("neardup: ") and all(word in told for word in words)
    assert contents(place) == before


def test_an_existing_output_is_replaced_with_force(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one text\none text\n")
    (tmp_path / "o.txt").write_text("old")
    done = neardup("run", "lines.txt", "--out", "o.txt", "--force", "--workers", "0", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "o.txt").read_text() == "one text\n"


def test_the_version_is_printed() -> None:
    done = neardup("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"neardup 0.1.0\n", b"")


def test_an_example_is_the_same_for_one_seed_and_json_lines_throughout() -> None:
    one, two, other = (neardup("example", "200", "--seed", seed).stdout for seed in ("7", "7", "8"))
    assert one == two != other
    told = [json.loads(line) for line in one.splitlines()]
    assert len(told) == 200 and all(set(record) == {"id", "text"} for record in told)


def test_a_reader_that_leaves_early_ends_the_program_quietly_with_1(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "neardup_tui", "example", "200000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None and program.stderr is not None
        assert program.stdout.readline().startswith(b"{")
        program.stdout.close()
        assert (program.stderr.read(), program.wait(60)) == (b"", 1)


@pytest.mark.parametrize(
    "wished",
    [
        Settings(),
        Settings(threshold=8_500, banding=ByRecall(9_500), verify="estimate", clusters="star"),
        Settings(threshold=8_500, find="exact"),
        Settings(banding=ByWeights(1, 9)),
        Settings(banding=ByWeights(1, 2)),
        Settings(shingling=Shingling(kind="word", k=3), sketching=Sketching(num_perm=96, seed=0), banding=ByHand(9, 5)),
        Settings(
            normalising=Normalising(
                drop_invisible=False, unicode_form="none", fold_accents=True, lower_case=False,
                drop_punctuation=True, join_whitespace=False,
            ),
            verify="none",
        ),
        Settings(sketching=Sketching(family="fast")),
    ],
)  # fmt: skip
def test_the_equal_command_says_every_setting(wished: Settings) -> None:
    reading = Reading(format="csv", text_column="3")

    _, _, *words = command_for(["a.csv"], reading, wished)

    given = cli.run.make_context("run", list(words)).params
    assert cli._reading(given["form"], given["text_column"]) == reading
    assert cli._settings(given) == wished


@pytest.mark.parametrize(("threshold", "bands", "rows", "count"), [("0.8", "32", "4", 678), ("0.5", "64", "2", 2_528)])
def test_the_pairs_of_a_real_corpus_are_the_exact_list(
    threshold: str, bands: str, rows: str, count: int, corpora: Path, tmp_path: Path
) -> None:
    folder = corpora / "c07_debian_descriptions"
    done = neardup(
        "run", folder / "debian_sample_multiline.csv", "--text-column", "description", "--unicode", "none",
        "--keep-invisible", "--threshold", threshold, "--bands", bands, "--rows", rows, "--pairs", tmp_path / "p.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    with (folder / "pairs_sample_j50.csv").open(newline="") as file:
        listed = [tuple(line) for line in itertools.islice(csv.reader(file), 1, None)]
    with (tmp_path / "p.csv").open(newline="") as file:
        found = [(line["left"], line["right"], line["jaccard"]) for line in csv.DictReader(file)]
    expected = sorted((int(i), int(j), s) for i, j, s in listed if float(s) >= float(threshold))
    assert len(found) == count and [(int(i), int(j), s) for i, j, s in found] == expected


@pytest.mark.parametrize(
    "arguments", [["run", "lines.txt", "--json"], ["run", "lines.txt", "--out", "-"], ["example", "5"]]
)
def test_a_standard_output_that_is_closed_is_a_failure_and_not_a_loss(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "lines.txt").write_text("one line\n")
    command = shlex.join([sys.executable, "-m", "neardup_tui", *arguments]) + " >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "standard output is closed" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_quote_that_is_never_closed_is_told_with_its_record(tmp_path: Path) -> None:
    (tmp_path / "open.csv").write_text('id,text\n1,closed\n2,"abc\n3,def\n')
    command = [sys.executable, "-m", "neardup_tui", "run", "open.csv", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "record 2, the last, is never closed" in done.stderr
    (tmp_path / "open.csv").write_text('id,text\n1,closed\n2,"abc\n3,def"')
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120).stderr == ""


def test_compressed_bytes_on_standard_input_are_read_as_what_they_hold(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "neardup_tui", "run", "-", "--out", "-", "--quiet"]
    done = subprocess.run(command, input=gzip.compress(b"a line\na line\nanother\n"), capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a line\nanother\n", b"")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", ""], 3, "empty text"),
        (["run", "lines.txt", "--run-dir", ""], 2, "--run-dir is empty"),
        (["run", "lines.txt", "--workers", "x"], 2, "no whole number"),
        (["example", "x"], 2, "no whole number"),
    ],
)
def test_an_empty_or_wordy_value_is_refused_by_its_name(
    tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    (tmp_path / "lines.txt").write_text("one line\n")
    command = [sys.executable, "-m", "neardup_tui", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == code
    assert words in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["lines.txt"]


def test_a_private_output_that_is_replaced_stays_private(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one line\n")
    (tmp_path / "kept.txt").write_text("old\n")
    (tmp_path / "kept.txt").chmod(0o600)
    command = [sys.executable, "-m", "neardup_tui", "run", "lines.txt", "--out", "kept.txt", "--force", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "kept.txt").read_text() == "one line\n"
    assert (tmp_path / "kept.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("out", "words"),
    [("kept.parquet", "named as Parquet"), ("docs/kept.txt", "lies in docs"), ("kept/", "is a folder")],
)
def test_an_output_whose_name_or_place_would_mislead_is_refused(tmp_path: Path, out: str, words: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("one document\n")
    command = [sys.executable, "-m", "neardup_tui", "run", "docs", "--out", out, "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert words in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["docs", "a.txt"]


def tuned(*arguments: str) -> str:
    command = [sys.executable, "-X", "importtime", "-m", "neardup_tui", "tune", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "numpy" in loaded and not loaded & {"numba", "pyarrow", "textual"}
    return done.stdout


def test_tune_prints_the_eight_and_the_one_below_the_wish() -> None:
    lines = tuned("--threshold", "0.8", "--num-perm", "128").splitlines()
    assert lines[0] == "bands × rows at t = 0.8 with 128 hashes, wished recall 0.99 at t = 0.8"
    choices = [line.split() for line in lines[3:12]]
    assert [choice[1] + choice[2] for choice in choices if choice[0] in "●<"] == ["16×", "18×"]
    assert lines[3] == "●   16 ×  6       32   0.9923     0.0002  0.2192"
    assert lines[11] == "<   18 ×  7        2   0.9855     0.0003  0.1841"


def test_tune_as_json_is_a_list_or_for_one_choice_an_object() -> None:
    eight = json.loads(tuned("--weights", "0.5:0.5", "--json"))
    assert len(eight) == 8
    assert eight[0] == {"bands": 9, "rows": 13, "p_at_threshold": 0.398844, "fp": 0.025312, "fn": 0.033282}
    one = json.loads(tuned("--bands", "16", "--rows", "6", "--json"))
    assert (one["bands"], one["rows"]) == (16, 6)
    assert [step["similarity"] for step in one["p"]] == pytest.approx([step / 20 for step in range(1, 21)])
    assert [step["p"] for step in one["p"]] == [
        round(1 - (1 - step["similarity"] ** 6) ** 16, 6) for step in one["p"]
    ]


def test_tune_of_one_choice_is_read_by_a_person() -> None:
    text = tuned("--bands", "9", "--rows", "13")
    assert "9 bands × 13 rows, 117 of 128 hashes, 11 unused" in text
    assert "a pair at t = 0.8 is found with 0.3988" in text and "steepest at 0.8399" in text
