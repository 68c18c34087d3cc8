from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from neardup import Settings, Sketching
from neardup.budget import Budget, memory_left
from neardup.errors import OutputError, SettingsError
from neardup.needs import Needs, check, check_sets, needs_of
from neardup.sizes import parse_size, size
from neardup.sources.corpus import Corpus, Input

GB = 10**9


def corpus_of(rows: int, characters: int = 480) -> Corpus:
    one = Input(path="x", real="/x", format="lines", body="/x", rows=rows, size=rows * characters)
    return Corpus(inputs=(one,), slices=(), rows=rows)


@pytest.mark.parametrize(
    ("text", "count"), [("4GB", 4 * GB), ("4g", 4 * GB), ("1.5 MB", 1_500_000), ("700", 700), ("2T", 2_000 * GB)]
)
def test_a_size_is_read_as_people_write_it(text: str, count: int) -> None:
    assert parse_size(text, "--memory") == count


@pytest.mark.parametrize("text", ["", "much", "-4GB", "0", "4 apples", "4GBs", "٣GB"])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SettingsError, match=r"--memory .* is no size: give one such as 500MB or 4GB"):
        parse_size(text, "--memory")


@pytest.mark.parametrize(
    ("count", "text"), [(980, "980 B"), (689_400, "689.4 kB"), (999_960, "1.0 MB"), (GB, "1.0 GB")]
)
def test_a_size_is_told_by_thousands(count: int, text: str) -> None:
    assert size(count) == text


def test_what_a_run_needs_grows_with_rows_and_hashes_and_not_with_the_memory_allowed() -> None:
    small, large = Budget(1 * GB, 2), Budget(16 * GB, 2)
    settings = Settings()

    one, ten = (needs_of(corpus_of(rows), settings, 16, large) for rows in (100_000, 1_000_000))
    longer = needs_of(corpus_of(100_000), Settings(sketching=Sketching(num_perm=256)), 16, large)

    assert 9 < ten.disk / one.disk < 11 and 9 < ten.seconds / one.seconds < 11
    assert longer.certain > one.certain and longer.seconds > one.seconds
    assert needs_of(corpus_of(100_000), settings, 16, small) == one
    # Signatures of 128 hashes are 512 bytes, so a run keeps more than that a row.
    assert one.disk > one.certain > 100_000 * 512


def test_the_family_fast_is_expected_to_be_faster_whatever_the_hashes() -> None:
    budget = Budget(8 * GB, 0)

    def seconds(**sketching: object) -> float:
        return needs_of(corpus_of(1_000_000), Settings(sketching=Sketching(**sketching)), 16, budget).seconds  # type: ignore[arg-type]

    assert seconds(family="fast") < seconds()
    assert seconds(family="fast", num_perm=256) == seconds(family="fast") and seconds(num_perm=256) > seconds()


def test_two_workers_take_half_the_time_and_the_memory_of_one_process_more() -> None:
    one, two = (needs_of(corpus_of(1_000_000), Settings(), 16, Budget(8 * GB, workers)) for workers in (1, 2))

    assert two.seconds == pytest.approx(one.seconds / 2)
    assert two.memory > one.memory


NEEDS = Needs(disk=9 * GB, certain=5 * GB, memory=2 * GB, seconds=60)  # on two workers


def test_a_run_that_fits_is_not_refused() -> None:
    check(NEEDS, Budget(2 * GB, 2), 5 * GB, "/runs/1")
    check_sets(5, 1, 5, "/runs/1")


def test_a_run_that_the_disk_does_not_hold_is_refused_with_figures_and_ways_out() -> None:
    with pytest.raises(OutputError) as refused:
        check(NEEDS, Budget(8 * GB, 2), 4 * GB, "/runs/1")

    assert str(refused.value) == (
        "the run needs 5.0 GB in /runs/1 at the least, and 4.0 GB are free there: make room, name another directory "
        "with --run-dir, or ask for shorter signatures with --num-perm"
    )


def test_a_run_that_the_memory_does_not_hold_is_refused_with_figures_and_ways_out() -> None:
    with pytest.raises(SettingsError) as refused:
        check(NEEDS, Budget(1 * GB, 2), 50 * GB, "/runs/1")

    assert str(refused.value) == (
        "the run needs about 2.0 GB of memory on 2 workers, and 1.0 GB are allowed: allow more with --memory"
    )


def test_where_fewer_workers_fit_the_memory_the_refusal_says_how_many() -> None:
    with pytest.raises(SettingsError, match=r"allow more with --memory, or ask for --workers 1, which needs 1\.8 GB$"):
        check(NEEDS, Budget(1_900_000_000, 2), 50 * GB, "/runs/1")


def test_sets_that_the_disk_does_not_hold_are_refused_before_they_are_made() -> None:
    with pytest.raises(OutputError, match=r"1,000 documents that .* need 6\.0 GB in /runs/1, and 5\.0 GB are free"):
        check_sets(6 * GB, 1_000, 5 * GB, "/runs/1")


def test_a_smaller_memory_makes_smaller_parts_down_to_a_least_one() -> None:
    sizes = [Budget(memory, 2).part_bytes for memory in (GB // 10, GB, 64 * GB)]

    assert sizes == sorted(sizes) and sizes[0] == 1 << 20 and sizes[2] == 16 << 20


def test_the_memory_that_is_left_is_what_this_machine_and_its_cgroup_say() -> None:
    # The kernel's own account, by another way: what a process here could still allocate is at most what is available.
    available = next(
        int(line.split()[1]) * 1024
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemAvailable")
    )
    assert 0 < memory_left() <= available * 1.1


def test_the_disk_is_looked_at_before_any_work(tmp_path: Path) -> None:
    # given: 60,000 lines, whose signatures are 40 MB, and a disk of 8 MB
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(small)], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        text = tmp_path / "lines.txt"
        text.write_text("".join(f"this is the line number {number}\n" for number in range(60_000)))
        program = [sys.executable, "-m", "neardup_tui", "run", str(text), "--workers", "0"]
        done = subprocess.run([*program, "--run-dir", str(small / "run")], capture_output=True, text=True)
        left = list((small / "run").rglob("*.npy"))
    finally:
        subprocess.run(["umount", str(small)], check=True)

    # then: one line, and nothing was begun
    assert done.returncode == 1 and left == []
    assert done.stderr.startswith("neardup: the run needs ") and "--run-dir" in done.stderr
    assert done.stderr.count("\n") == 1


def test_work_is_cut_so_that_every_worker_has_a_part_where_that_pays() -> None:
    one, four = Budget(16 * GB, 0), Budget(16 * GB, 4)

    assert [one.parts(held) for held in (0, 1 << 20, 10 << 20, 64 << 20)] == [1, 1, 1, 4]
    assert [four.parts(held) for held in (0, 1 << 20, 10 << 20, 640 << 20)] == [1, 1, 4, 40]
    assert [four.records_a_part(count, 1 << 17) for count in (10, 80_000, 10**7)] == [1 << 12, 10_000, 1 << 17]
