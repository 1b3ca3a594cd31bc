"""How functions are compiled, and kept between runs."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fairlead import compiled, compiler_cache
from fairlead.compiling import report_compiling
from tests.zygote.forked import finished

CALLED = """
from fairlead.compiling import kernel

@kernel
def plus_one(number):
    return number + 1

@kernel
def twice(number):
    return 2 * plus_one(number)

def library():
    [compiled] = plus_one.overloads.values()
    return compiled.library
"""
LOADED = """
import called
from fairlead.compiling import report_compiling

def told(done, total):
    raise AssertionError("it was not kept")

with report_compiling(told):
    assert called.twice(3) == 8
"""

ONE = """
import numba
for _ in range(9):  # Numba counts what it compiles
    numba.njit(lambda number: number)(3)
import called
from fairlead.compiling import report_compiling

told = []
with report_compiling(lambda *numbers: told.append(numbers)):
    assert called.twice(3) == 8
assert len(told) == 2, told  # before and after the other kernel
"""


START = """
from fairlead import compiled
compiled.folder.cache_clear()  # where it was kept for who is forked from
"""


def run(folder: Path, *programs: str) -> None:
    """Runs programs that import `called` in processes of their own, one after the other. They are
    forked from one that has Numba, and has never seen `called`."""
    places = {compiled.VARIABLE: str(folder / "kept")}
    for program in programs:
        done = finished(["-c", START + program], folder, os.environ | places)
        assert done.returncode == 0, done.stderr


def test_a_kernel_that_calls_another_one_is_kept_apart_from_it(tmp_path: Path) -> None:
    (tmp_path / "called.py").write_text(CALLED, encoding="utf-8")
    run(tmp_path, "import called; called.twice(3)", LOADED)
    [file] = tmp_path.glob("kept/*/called.plus_one.*")
    file.unlink()
    run(tmp_path, ONE)
    assert file.exists()


OTHER = """
from called import plus_one
from fairlead.compiling import inner, kernel

@inner
def both(number):
    return number + plus_one(number)

@kernel
def three_times(number):
    return both(number) + plus_one(number)
"""


def test_a_kernel_is_compiled_anew_where_what_it_calls_is_another_one(tmp_path: Path) -> None:
    (tmp_path / "called.py").write_text(CALLED, encoding="utf-8")
    (tmp_path / "other.py").write_text(OTHER, encoding="utf-8")
    run(tmp_path, "import other; assert other.three_times(3) == 11")
    edited = CALLED.replace("number + 1", "number + 1 + 1")  # of another size, too, for Python
    (tmp_path / "called.py").write_text(edited, encoding="utf-8")
    run(tmp_path, "import other; assert other.three_times(3) == 13")


FOREIGN = """
import numba
import called

@numba.njit(cache=True)
def three_times(number):
    return number + called.twice(number) - 2

assert three_times(3) == 9
"""


def test_what_is_not_ours_calls_kernels_and_is_not_kept_by_numba(tmp_path: Path) -> None:
    (tmp_path / "called.py").write_text(CALLED, encoding="utf-8")
    (tmp_path / "foreign.py").write_text(FOREIGN, encoding="utf-8")
    # The second process would be ended by LLVM, which looks for a kernel that is not there.
    run(tmp_path, *["import foreign"] * 2)
    assert not list(tmp_path.glob("__pycache__/foreign.*.nb?"))


ADDRESSED = """
import numpy as np
from fairlead.compiling import kernel

TABLE = np.arange(200_000.0)  # too large for a copy of it in the code

@kernel
def plus_one(number):
    return int(TABLE[number]) + 1
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where what is compiled is kept: an empty folder, made when something is."""
    monkeypatch.setenv(compiled.VARIABLE, str(tmp_path / "cache"))
    compiled.folder.cache_clear()
    yield compiled.folder()
    compiled.folder.cache_clear()


def begun(source: Path, text: str = CALLED) -> ModuleType:
    """The module of this text, as another process has it that has called nothing of it yet."""
    source.parent.mkdir(exist_ok=True)
    source.write_text(text, encoding="utf-8")
    compiler_cache._digest.cache_clear()  # noqa: SLF001  a process reads each source once
    spec = importlib.util.spec_from_file_location("called", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["called"] = module
    spec.loader.exec_module(module)
    return module


def compiles(module: ModuleType, number: int = 3) -> bool:
    """Whether the first function is compiled when it is called."""
    told: list[tuple[int, int]] = []
    with report_compiling(lambda *numbers: told.append(numbers)):
        assert module.plus_one(number) == number + 1
    return bool(told)


@pytest.fixture(autouse=True)
def _no_module() -> Iterator[None]:
    yield
    sys.modules.pop("called", None)


def test_what_was_compiled_is_kept_wherever_the_same_source_is(kept: Path, tmp_path: Path) -> None:
    assert compiles(begun(tmp_path / "here" / "called.py"))
    assert not compiles(begun(tmp_path / "here" / "called.py"))
    assert not compiles(begun(tmp_path / "there" / "called.py"))
    [file] = kept.iterdir()
    assert file.suffix == compiled.KERNEL
    assert compiles(begun(tmp_path / "there" / "called.py", CALLED + "# edited\n"))


def cut_short(file: Path) -> None:
    """As after a loss of power."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def emptied(file: Path) -> None:
    """As on a disk that was full."""
    file.write_bytes(b"")


def zeroed(file: Path) -> None:
    """As where its name was written before its content."""
    file.write_bytes(bytes(file.stat().st_size))


def changed(file: Path) -> None:
    """Changes one bit in the midst of it, where the machine code is."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def piped(file: Path) -> None:
    """Who reads it, or writes it, waits for ever."""
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("damage", [cut_short, emptied, zeroed, changed, piped])
def test_a_damaged_file_is_as_if_it_were_not_there(
    kept: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    source = tmp_path / "called.py"
    assert compiles(begun(source))
    [file] = kept.iterdir()
    whole = len(file.read_bytes())
    damage(file)
    assert compiles(begun(source))
    assert [file] == list(kept.iterdir())
    assert file.stat().st_size == pytest.approx(whole, rel=0.1)
    assert not compiles(begun(source))


class Planted:
    """What it is unpickled for makes a file."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.sign,)


def planted(file: Path, sign: Path) -> None:
    """Writes there what the file's name says that it holds: whoever may write there can do so."""
    content = pickle.dumps(Planted(sign))
    key = bytes.fromhex(file.name.split(".")[-2])
    file.write_bytes(hashlib.blake2b(content, digest_size=16, key=key).digest() + content)


def given_away(path: Path, patch: pytest.MonkeyPatch) -> None:
    """It is another user's from now on."""
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    else:
        other = os.geteuid() + 1
        patch.setattr(os, "geteuid", lambda: other)


def open_to_all(path: Path, _: pytest.MonkeyPatch) -> None:
    """Everybody may write there."""
    path.chmod(path.stat().st_mode | 0o002)


def open_to_a_group(path: Path, _: pytest.MonkeyPatch) -> None:
    path.chmod(path.stat().st_mode | 0o020)


@pytest.mark.parametrize("whose", [given_away, open_to_all, open_to_a_group])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_others_can_have_put_there_is_not_run(
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    whose: Callable[[Path, pytest.MonkeyPatch], None],
    what: str,
) -> None:
    source, sign = tmp_path / "called.py", tmp_path / "sign"
    assert compiles(begun(source))
    [file] = kept.iterdir()
    planted(file, sign)
    before = file.read_bytes()
    with monkeypatch.context() as patch:
        whose(file if what == "file" else kept, patch)
        assert compiles(begun(source))
        assert not sign.exists()
        if what == "folder":
            assert file.read_bytes() == before  # nor is something written there
            [said] = caplog.messages
            assert said.startswith("what is compiled cannot be kept, so each start compiles it: ")
            assert str(kept) in said
            assert said.endswith(f"; {compiled.VARIABLE} names another folder")


@pytest.mark.parametrize("mask", [0o002, 0o000])
def test_what_is_kept_is_kept_for_oneself_whatever_others_may_do_with_new_files(
    kept: Path, tmp_path: Path, mask: int
) -> None:
    mask = os.umask(mask)
    try:
        assert compiles(begun(tmp_path / "called.py"))
        assert not compiles(begun(tmp_path / "called.py"))
    finally:
        os.umask(mask)
    [file] = kept.iterdir()
    assert file.stat().st_mode & 0o777 == 0o644
    assert kept.stat().st_mode & 0o777 == 0o755


def test_a_link_in_its_place_is_no_file(kept: Path, tmp_path: Path) -> None:
    source = tmp_path / "called.py"
    assert compiles(begun(source))
    [file] = kept.iterdir()
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    assert compiles(begun(source))
    assert not file.is_symlink()
    assert not compiles(begun(source))


PARTS = """
from fairlead.compiling import inner

@inner
def more(number):
    return number + 1
"""
WHOLE = """
from fairlead.compiling import kernel
from parts import more

@kernel
def plus_one(number):
    return more(number)
"""
EDITED = """
import sys
from pathlib import Path
from fairlead import compiled, compiler_cache
compiled.PACKAGE = Path(sys.path[0])
parts = compiled.PACKAGE / "parts.py"
compiled.sources = lambda: (parts, compiled.PACKAGE / "whole.py")
compiler_cache._AT_FIRST = compiled.stamp()
import whole
text = parts.read_text()
parts.write_text(text.replace("number + 1", "number + 1 + 1"))  # of another size, too, for Python
assert whole.plus_one(3) == 4  # as it was when this process began
"""
AFTER = """
import sys
from pathlib import Path
from fairlead import compiled, compiler_cache
compiled.PACKAGE = Path(sys.path[0])
compiled.sources = lambda: (compiled.PACKAGE / "parts.py", compiled.PACKAGE / "whole.py")
compiler_cache._AT_FIRST = compiled.stamp()
import whole
assert whole.plus_one(3) == 5, "what was kept is of the source before"
"""


def test_what_is_compiled_of_sources_that_were_changed_meanwhile_is_not_kept(
    tmp_path: Path,
) -> None:
    """As where an installation is brought up to date under a service that runs, or a checkout under
    a command: all later ones ran the part as it had been."""
    (tmp_path / "parts.py").write_text(PARTS, encoding="utf-8")
    (tmp_path / "whole.py").write_text(WHOLE, encoding="utf-8")
    run(tmp_path, EDITED, AFTER, AFTER)


def test_a_file_of_another_function_is_not_believed(kept: Path, tmp_path: Path) -> None:
    source = tmp_path / "called.py"
    module = begun(source)
    assert compiles(module)
    [one] = kept.iterdir()
    assert module.twice(3) == 8
    [other] = set(kept.iterdir()) - {one}
    one.write_bytes(other.read_bytes())
    assert compiles(begun(source))


def test_what_holds_addresses_of_its_process_is_not_kept(kept: Path, tmp_path: Path) -> None:
    source = tmp_path / "called.py"
    assert compiles(begun(source, ADDRESSED))
    assert not kept.exists()
    assert compiles(begun(source, ADDRESSED))


def test_who_has_another_compiler_compiles(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "called.py"
    assert compiles(begun(source))
    monkeypatch.setattr(compiler_cache, "compiler", lambda: "another")
    assert compiles(begun(source))
    assert len(list(kept.iterdir())) == 2


def test_where_nothing_can_be_kept_it_is_compiled_and_said_once(
    kept: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept.parent.write_text("a file\n", encoding="utf-8")  # root may write to any folder
    module = begun(tmp_path / "called.py")
    assert compiles(module)
    assert module.twice(3) == 8
    [said] = caplog.messages
    assert said.startswith("what is compiled cannot be kept, so each start compiles it: ")
    assert "Not a directory" in said


def test_what_is_kept_can_be_read_by_others(kept: Path, tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        assert compiles(begun(tmp_path / "called.py"))
    finally:
        os.umask(mask)
    [file] = kept.iterdir()
    assert file.stat().st_mode & 0o777 == 0o644


def test_the_folder_follows_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiled.VARIABLE, str(tmp_path))
    found = []
    source = tmp_path / "kernel.py"
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path)
    monkeypatch.setattr(compiled, "sources", lambda: (source,))
    for text in ("one", "two", "one"):
        source.write_text(text, encoding="utf-8")
        compiled.folder.cache_clear()
        found.append(compiled.folder())
    compiled.folder.cache_clear()
    assert found[0] == found[2] != found[1]


def test_nothing_is_compiled_at_first(kept: Path) -> None:
    kept.mkdir(parents=True)
    (kept / f"one{compiled.KERNEL}").touch()  # one is not all
    assert compiled.first_time(compiled.SIMULATION)
    compiled.note(compiled.SIMULATION)
    assert not compiled.first_time(compiled.SIMULATION)


def test_what_a_killed_writer_left_is_removed_once_it_is_old(kept: Path) -> None:
    kept.mkdir(parents=True)
    names = (f".f.1{compiled.KERNEL}.abc", f".g.2{compiled.KERNEL}.def", f"f.1{compiled.KERNEL}")
    for name in names:
        (kept / name).touch()
    for name in names[1:]:
        os.utime(kept / name, (0, 0))
    os.utime(kept, (0, 0))
    compiled.tidy()
    assert {each.name for each in kept.iterdir()} == {names[0], names[2]}
    assert kept.stat().st_mtime > time.time() - 600  # it is used
    assert compiled.of_other_versions() == ([], 0, 0.0)


def test_where_nothing_is_kept_there_is_nothing_to_tidy(kept: Path) -> None:
    compiled.tidy()
    assert not kept.exists()
