"""Kernels are compiled once, wherever the cache lies. Each case is a process of its own, as numba is imported once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neardup import compiled

# One small kernel in place of all of them: it is the caching that is tested, and it compiles in a second.
KERNEL = """
from neardup.kernels import kernel, types, uint64s, uint64s_out

@kernel(types.void(uint64s, uint64s_out))
def copy(values, out):
    for i in range(len(values)):
        out[i] = values[i]
"""


def loaded_in_a_process(kernels: Path, cache: Path, **environment: str) -> dict[str, object]:
    script = f"""
import json, os, sys
from pathlib import Path
from neardup import compiled
compiled.KERNELS = Path({str(kernels)!r})
prepared = compiled.prepare(Path({str(cache)!r}))
assert "numba" not in sys.modules
import neardup.kernels
neardup.kernels.__path__ = [str(compiled.KERNELS)]
loaded = compiled.load(Path({str(cache)!r}) / "lock")
print(json.dumps([loaded.compiled, str(loaded.cache), str(prepared), loaded.notice, os.environ["NUMBA_CACHE_DIR"]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    names = ("compiled", "cache", "prepared", "notice", "numba")
    return dict(zip(names, json.loads(done.stdout), strict=True))


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "copying.py").write_text(KERNEL)
    return folder


def test_the_second_process_loads_what_the_first_one_compiled(kernels: Path, tmp_path: Path) -> None:
    first = loaded_in_a_process(kernels, tmp_path / "cache")
    second = loaded_in_a_process(kernels, tmp_path / "cache")

    assert first["compiled"] is True and second["compiled"] is False
    assert first["cache"] == second["cache"] == first["prepared"] == first["numba"]
    assert first["notice"] == second["notice"] == ""


def test_what_other_versions_compiled_goes_when_new_kernels_come_and_nobody_loaded_it_for_a_month(
    kernels: Path, tmp_path: Path
) -> None:
    for name, days in (("a" * 16, 31), ("b" * 16, 29), ("my-own", 99)):
        folder = tmp_path / "cache" / name
        folder.mkdir(parents=True)
        (folder / "ready").touch()
        os.utime(folder / "ready", times=(time.time() - days * 86_400,) * 2)

    loaded = loaded_in_a_process(kernels, tmp_path / "cache")

    left = {path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()}
    assert left == {Path(str(loaded["cache"])).name, "b" * 16, "my-own"}


def test_a_disk_without_room_for_kernels_is_none_for_them(tmp_path: Path) -> None:
    code = f"""if True:
        import resource
        from pathlib import Path
        from neardup import compiled
        print(compiled._usable(Path({str(tmp_path)!r})))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        print(compiled._usable(Path({str(tmp_path)!r})))
        Path({str(tmp_path / "ready")!r}).touch()
        print(compiled._usable(Path({str(tmp_path)!r})))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True"]


def test_a_kernel_that_changed_is_compiled_anew_with_all_that_may_call_it(kernels: Path, tmp_path: Path) -> None:
    before = loaded_in_a_process(kernels, tmp_path / "cache")
    (kernels / "another.py").write_text("# a helper in another module has changed\n")

    after = loaded_in_a_process(kernels, tmp_path / "cache")

    assert after["compiled"] is True and after["cache"] != before["cache"]


def test_a_cache_that_cannot_be_written_is_replaced_by_a_private_one_and_the_user_is_told(
    kernels: Path, tmp_path: Path
) -> None:
    in_the_way = tmp_path / "a file"
    in_the_way.write_text("")

    found = loaded_in_a_process(kernels, in_the_way / "cache", TMPDIR=str(tmp_path))

    cache = Path(str(found["cache"]))
    assert found["compiled"] is True and str(in_the_way) in str(found["notice"])
    assert cache.is_relative_to(tmp_path) and cache.parent.stat().st_mode & 0o077 == 0


def test_a_temporary_cache_that_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    theirs = tmp_path / f"neardup-kernels-{os.getuid()}"
    theirs.mkdir()
    theirs.chmod(0o777)

    assert compiled._private_temporary() != theirs


def test_512_bit_vectors_are_allowed_where_the_processor_has_them() -> None:
    features = compiled._cpu_features()

    assert features == "" or features.endswith(",-prefer-256-bit")
