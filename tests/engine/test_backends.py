from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

import worker_tasks
from neardup.backends.base import Backend
from neardup.backends.inline import Inline
from neardup.backends.processes import NoWorkers, Processes, _named
from neardup.errors import Cancelled, NeardupError, SourceError, WorkerError
from neardup.launcher import Launcher
from neardup.store import LocalStore, Stored

# Workers find the tasks of the tests, and the neardup that is tested, wherever it was put first.
TESTS = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
HANG = 60  # seconds until a test gives up; ten times and more what anything here may take


@pytest_asyncio.fixture(params=["inline", "processes"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path, workers: Processes) -> AsyncIterator[Backend]:
    store = LocalStore(tmp_path)
    if request.param == "inline":
        here = Inline(store)
        yield here
        await here.close()
    else:
        workers.store = store
        yield workers


@pytest_asyncio.fixture
async def workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Processes]:
    monkeypatch.setenv("PYTHONPATH", TESTS)
    pool = Processes(2, Launcher.start())
    pool.store = LocalStore(tmp_path)
    await pool.start()
    yield pool
    await pool.close()


def alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


async def all_of(backend: Backend, task: object, chunks: list[object]) -> dict[int, object]:
    async with asyncio.timeout(HANG):
        return {index: result async for index, result in backend.map(task, chunks)}  # type: ignore[arg-type]


async def test_every_chunk_is_done_once_and_told_with_its_index(backend: Backend) -> None:
    assert await all_of(backend, worker_tasks.square, list(range(20))) == {i: i * i for i in range(20)}
    assert backend.units() == 20


async def test_two_workers_share_the_chunks(workers: Processes) -> None:
    await workers.ready()
    await all_of(workers, worker_tasks.square, [0, 1])
    pids = await all_of(workers, worker_tasks.process_number, list(range(30)))
    assert set(pids.values()) == set(workers.pids)
    assert len(set(pids.values())) == 2
    assert os.getpid() not in pids.values()


async def test_an_error_in_a_task_reaches_the_caller_and_the_workers_live_on(backend: Backend) -> None:
    with pytest.raises(SourceError, match=r"tickets\.jsonl:3"):
        await all_of(backend, worker_tasks.refuses, [1, 2, 3])
    assert await all_of(backend, worker_tasks.square, [3]) == {0: 9}


async def test_a_crash_in_a_worker_is_told_without_what_it_was_about(workers: Processes) -> None:
    with pytest.raises(NeardupError, match=r"ValueError in worker_tasks\.py, line \d+") as caught:
        await all_of(workers, worker_tasks.secret_crash, [1])
    assert "private" not in str(caught.value)


@pytest.mark.parametrize("task", [worker_tasks.endless, worker_tasks.deaf])
async def test_stopping_ends_the_work_and_the_next_map_runs(workers: Processes, task: object) -> None:
    await workers.ready()
    await all_of(workers, worker_tasks.square, [1, 2])
    running = asyncio.create_task(all_of(workers, task, [1, 2, 3]))
    await asyncio.sleep(0.2)
    before = time.perf_counter()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.perf_counter() - before < 2  # 0.2 s is the promise; a test only guards against a hang
    assert await all_of(workers, worker_tasks.square, [5]) == {0: 25}


async def test_stopping_kills_a_worker_that_does_not_listen_and_only_it(workers: Processes) -> None:
    await workers.ready()
    before = set(workers.pids)
    running = asyncio.create_task(all_of(workers, worker_tasks.deaf, [1]))
    await asyncio.sleep(0.3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await all_of(workers, worker_tasks.square, [2]) == {0: 4}
    assert len(before & set(workers.pids)) == 1


async def test_stopping_work_here_raises_no_noise(tmp_path: Path) -> None:
    here = Inline(LocalStore(tmp_path))
    running = asyncio.create_task(all_of(here, worker_tasks.endless, [1]))
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises((asyncio.CancelledError, Cancelled)):
        await running
    assert await all_of(here, worker_tasks.square, [4]) == {0: 16}
    await here.close()


async def test_a_worker_that_dies_is_replaced_and_its_chunk_done_again(workers: Processes, tmp_path: Path) -> None:
    mark = str(tmp_path / "died")
    assert await all_of(workers, worker_tasks.dies_once, [mark]) == {0: "done"}
    assert Path(mark).exists()


async def test_a_chunk_that_kills_every_worker_ends_the_map_with_one_line(workers: Processes) -> None:
    with pytest.raises(WorkerError, match="a worker was killed 3 times over rows 2,000 to 2,999, as the system does"):
        await all_of(workers, worker_tasks.always_dies, [(7, worker_tasks.Rows())])
    with pytest.raises(WorkerError, match=r"a worker crashed 3 times \(Segmentation fault\) over rows 2,000 to 2,999"):
        await all_of(workers, worker_tasks.crashes, [(7, worker_tasks.Rows())])
    assert await all_of(workers, worker_tasks.square, [6]) == {0: 36}


def test_a_chunk_that_holds_no_rows_is_named_by_its_stage() -> None:
    task = worker_tasks.Merge("bands-0f/scratch/entries")
    assert _named(task, (7, "a part")) == "part 8 of bands"
    assert _named(task, None) == "the bands"
    assert _named(object(), None) == "the object"


async def test_a_worker_that_dies_with_nothing_to_do_is_replaced_before_the_next_chunk(workers: Processes) -> None:
    await both_at_work(workers)
    before = workers.pids
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    await gone(before)
    assert await all_of(workers, worker_tasks.square, list(range(5))) == {i: i * i for i in range(5)}
    assert workers.pids and not set(workers.pids) & set(before)


async def both_at_work(workers: Processes) -> None:
    while len(set((await all_of(workers, worker_tasks.process_number, list(range(4)))).values())) < 2:
        pass


async def test_workers_that_nobody_can_start_again_end_the_map_with_one_line(workers: Processes) -> None:
    await both_at_work(workers)
    pids = workers.pids
    workers.launcher.process.kill()
    workers.launcher.process.wait()
    async with asyncio.timeout(HANG):
        while workers.pids:
            await asyncio.sleep(0.02)
    with pytest.raises(NoWorkers):
        await all_of(workers, worker_tasks.square, [3, 4])
    await gone(pids)


async def test_workers_are_paused_and_go_on(workers: Processes) -> None:
    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    async def until(wished: str) -> None:
        async with asyncio.timeout(HANG):
            while {state(pid) == "T" for pid in workers.pids} != {wished == "T"}:
                await asyncio.sleep(0.02)

    await both_at_work(workers)
    workers.launcher.pause(True)
    await until("T")
    running = asyncio.create_task(all_of(workers, worker_tasks.square, list(range(9))))
    await asyncio.sleep(0.3)
    assert not running.done()
    workers.launcher.pause(False)
    assert await running == {i: i * i for i in range(9)}
    await until("S")


async def test_closing_leaves_no_process_and_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", TESTS)
    launcher = Launcher.start()
    pool = Processes(2, launcher)
    await pool.start()
    await pool.ready()
    pids = [*pool.pids, launcher.process.pid]
    await pool.close()
    await gone(pids)
    assert not launcher.folder.exists()


async def test_workers_end_when_their_owner_is_killed(tmp_path: Path) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c",
        "import asyncio, sys\n"
        "from neardup.backends.processes import Processes\n"
        "from neardup.launcher import Launcher\n"
        "async def main():\n"
        "    pool = Processes(2, Launcher.start())\n"
        "    await pool.start(); await pool.ready()\n"
        "    print(*pool.pids, pool.launcher.process.pid, pool.launcher.folder, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert owner.stdout is not None
    *pids, folder = (await asyncio.wait_for(owner.stdout.readline(), HANG)).split()
    owner.kill()
    await owner.wait()
    await gone([int(pid) for pid in pids])
    assert not Path(os.fsdecode(folder)).exists()


@pytest.mark.parametrize("_", range(4))  # its end may be told with its beginning, or later
async def test_where_no_worker_can_start_the_pool_says_so(_: int) -> None:
    pool = Processes(2, Launcher.start(), interpreter="/bin/false")
    await pool.start()
    with pytest.raises(NoWorkers):
        async with asyncio.timeout(HANG):
            await pool.ready()
    await pool.close()


async def test_an_interpreter_that_is_not_there_is_no_worker_either() -> None:
    pool = Processes(1, Launcher.start(), interpreter="/nowhere/python")
    await pool.start()
    with pytest.raises(NoWorkers):
        async with asyncio.timeout(HANG):
            await pool.ready()
    await pool.close()


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("consume", [False, True])
async def test_an_exchange_sorts_by_key_then_part_then_position(backend: Backend, parts: int, consume: bool) -> None:
    # Given records in three parts, with keys from the whole range and many equal ones
    rng = np.random.default_rng(5)
    pieces = []
    for number, size in enumerate([500, 0, 300]):
        keys = rng.choice(rng.integers(0, 2**64, 200, np.uint64), size)
        pieces.append(np.column_stack((keys, np.arange(size, dtype=np.uint64) + np.uint64(1000 * number))))
    stored = Stored(tuple(backend.store.write("rows", i, piece) for i, piece in enumerate(pieces)))
    borders = np.array([part * 2**64 // parts for part in range(parts)], np.uint64)
    # When they change hands
    async with asyncio.timeout(HANG):
        merged = {index: part async for index, part in backend.exchange("merged", stored, borders, consume)}
    # Then all parts together are the plain stable sort, whatever their number
    found = np.concatenate([backend.store.part(merged[index]) for index in range(parts)])
    expected = sorted((row for piece in pieces for row in piece.tolist()), key=lambda row: row[0])
    assert found.tolist() == expected
    # And what was read is still there, unless it might be consumed
    assert all(backend.store.intact(part) is not consume for part in stored.parts)


async def gone(pids: list[int]) -> None:
    async with asyncio.timeout(HANG):
        while any(alive(pid) for pid in pids):
            await asyncio.sleep(0.02)
