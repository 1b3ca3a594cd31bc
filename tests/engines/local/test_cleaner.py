"""Working folders are removed whatever is in them and whatever goes on in them."""

from __future__ import annotations

import os
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.engines.interface import Attempt, Ended, Lost, Stream
from fairlead.engines.local.cleaner import STEP, remove
from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.local.processes import children
from tests.engines.contract import PATIENCE, collect, end_of, wait
from tests.engines.local.bed import LocalBed, assign, fixture_bed, fixture_root

__all__ = ["fixture_bed", "fixture_root"]

A, B = Attempt(1, 0, 1), Attempt(2, 0, 1)

OUTSIDE = "outside"

NAMES = st.sampled_from(["a", "b", ".hidden", "-rf", "two words", "new\nline", "\udcff", "ä" * 100])

LEAVES = st.sampled_from(["file", "shut file", "link", "link to a folder", "dead link", "pipe"])

TREES = st.recursive(
    LEAVES,
    lambda below: st.tuples(st.sampled_from([0o700, 0o500, 0o000]), st.dictionaries(NAMES, below)),
    max_leaves=30,
)

Tree = str | tuple[int, dict[str, "Tree"]]


def grow(place: Path, tree: Tree, outside: Path) -> None:
    """Make the tree there."""
    if isinstance(tree, tuple):
        mode, below = tree
        place.mkdir()
        for name, each in below.items():
            grow(place / name, each, outside)
        place.chmod(mode)
    elif tree == "pipe":
        os.mkfifo(place)
    elif "link" in tree:
        to = {"link": outside / "file", "link to a folder": outside}.get(tree, outside / "none")
        place.symlink_to(to)
    else:
        place.touch(mode=0o600 if tree == "file" else 0o000)


@pytest.fixture(scope="module")
def ground() -> Iterator[Path]:
    """A folder where trees grow; beside it one that is nobody's business."""
    with tempfile.TemporaryDirectory(prefix="fairlead-cleaner-") as folder:
        Path(folder).chmod(0o777)
        outside = Path(folder) / OUTSIDE
        outside.mkdir()
        (outside / "file").write_text("kept")
        (outside / "file").chmod(0o644)
        yield Path(folder)


def cleaned(ground: Path, tree: Tree, most: int, uid: int) -> tuple[int, bool]:
    """How many steps it took to remove a tree as this user, and whether nothing is left; -1 where
    it failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(uid, uid, uid)
            place = ground / f"tree-{uid}"
            grow(place, tree, ground / OUTSIDE)
            folder = os.open(ground, os.O_RDONLY)
            steps = 1
            while not remove(folder, place.name, most):
                steps += 1
            os.write(
                writing, f"{steps} {int(not place.is_symlink() and not place.exists())}".encode()
            )
        finally:
            os._exit(0)
    os.close(writing)
    said = os.read(reading, 100).decode() or "-1 0"
    os.close(reading)
    os.waitpid(child, 0)
    return int(said.split()[0]), said.endswith(" 1")


def size(tree: Tree) -> int:
    """Files and folders of a tree."""
    return 1 + (sum(map(size, tree[1].values())) if isinstance(tree, tuple) else 0)


@given(TREES, st.integers(1, 5), st.booleans())
def test_any_tree_is_removed_in_steps_and_nothing_outside_of_it(
    ground: Path, tree: Tree, most: int, root: bool
) -> None:
    uid = os.geteuid() if root or os.geteuid() != 0 else 65534
    steps, gone = cleaned(ground, tree, most, uid)
    assert gone
    # A step does something: a folder is met at most once where it is, and once at the top.
    assert 1 <= steps <= 2 + 2 * size(tree)
    outside = ground / OUTSIDE
    assert (outside / "file").read_text() == "kept"
    assert stat.S_IMODE((outside / "file").stat().st_mode) == 0o644
    assert [path.name for path in ground.iterdir()] == [OUTSIDE]


def test_a_folder_may_be_deep_and_wide(tmp_path: Path) -> None:
    """What ended the one that removes, for good."""
    (tmp_path / "tree").mkdir()
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(tmp_path / "tree")
        for depth in range(3000):
            Path(f"file {depth}").touch()
            Path("d" * 200).mkdir()
            os.chdir("d" * 200)
    finally:
        os.fchdir(before)
        os.close(before)
    (tmp_path / "tree" / "wide").mkdir()
    for number in range(700):
        (tmp_path / "tree" / "wide" / str(number)).mkdir()
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        while not remove(folder, "tree", 500):
            pass
    finally:
        os.close(folder)
    assert list(tmp_path.iterdir()) == []


def left(bed: LocalBed, engine: LocalEngine, attempt: Attempt, command: str) -> Path:
    """The working folder of an attempt that ended."""
    engine.launch([assign(attempt, command)])
    engine.acknowledge([end_of(bed, engine, attempt)])
    return Path(engine._records.folder(attempt))  # noqa: SLF001 (where it lies)


def removed(bed: LocalBed, folder: Path) -> bool:
    """Whether nothing is left of a working folder, under whatever name."""
    bed.settle()
    return not any(folder.name in each.name for each in folder.parent.iterdir())


def test_a_deep_folder_that_a_task_left_holds_up_no_other(bed: LocalBed) -> None:
    program = 'import os\nfor _ in range(1200): os.mkdir("d"); os.chdir("d")'
    engine = bed.ready()
    deep = left(bed, engine, A, f"python3 -S -c '{program}'")
    engine.forget([A])
    wait(bed, lambda: removed(bed, deep))
    other = left(bed, engine, B, "mkdir folder; touch folder/file")
    engine.forget([B])
    wait(bed, lambda: removed(bed, other))


def test_a_folder_that_never_ends_holds_up_no_other(bed: LocalBed) -> None:
    """Somebody who has it open goes on writing into it, though never much more than is removed in
    a step or two: what is left has to be removed in the end, by a process that gives way to all."""
    engine = bed.ready()
    endless = left(bed, engine, A, "touch file")
    other = left(bed, engine, B, "touch file")
    folder = os.open(endless, os.O_RDONLY)
    full, stop = threading.Event(), threading.Event()

    def fill() -> None:
        number = 0
        while not stop.is_set():
            if number % 100 == 0:
                with os.scandir(folder) as entries:
                    if sum(1 for _ in entries) > STEP:
                        full.set()
                        stop.wait(0.01)
                        continue
            number += 1
            try:
                os.mkdir(f"{number}", dir_fd=folder)
                os.mkdir(f"{number}/more", dir_fd=folder)
            except FileNotFoundError:  # it was removed under us
                continue

    filling = threading.Thread(target=fill)
    filling.start()
    try:
        assert full.wait(PATIENCE)
        engine.forget([A, B])
        wait(bed, lambda: removed(bed, other))
    finally:
        stop.set()
        filling.join()
        os.close(folder)
    wait(bed, lambda: removed(bed, endless))


def cleaner_of(engine: LocalEngine) -> int:
    """The process that removes folders: where nothing runs, the only child of the spawner."""
    (pid,) = children(engine._spawner.pid)  # type: ignore[union-attr]  # noqa: SLF001 (whom to kill)
    return pid


def test_who_removes_folders_may_be_killed(bed: LocalBed) -> None:
    engine = bed.ready()
    wide = "mkdir $(seq 200); file=$(seq -s - 20); for one in *; do : >$one/$file; done"
    folders = [left(bed, engine, one, wide) for one in (A, B)]
    first = cleaner_of(engine)
    os.kill(first, signal.SIGSTOP)
    engine.forget([A, B])
    os.kill(first, signal.SIGKILL)
    wait(bed, lambda: children(engine._spawner.pid) not in ([], [first]))  # type: ignore[union-attr]  # noqa: SLF001
    wait(bed, lambda: all(removed(bed, one) for one in folders))
    engine.poll()


def test_a_folder_is_not_taken_away_from_who_has_its_name_next(bed: LocalBed) -> None:
    """A journal that is restored gives names again. Whatever the one before left is gone at once,
    and what removes it may come to it as late as it likes."""
    engine = bed.ready()
    folder = left(bed, engine, A, "mkdir folder; echo old >file; echo old")
    cleaner = cleaner_of(engine)
    os.kill(cleaner, signal.SIGSTOP)
    try:
        engine.forget([A])
        sign = bed.folder / "sign"
        engine.launch([assign(A, f"ls; touch new; until test -e {sign}; do sleep 0.05; done; ls")])
        collect(bed, engine, lambda _: (folder / "new").exists())
        assert [each.name for each in folder.iterdir()] == ["new"]
    finally:
        os.kill(cleaner, signal.SIGCONT)
    wait(bed, lambda: [each.name for each in folder.parent.iterdir()] == [folder.name])
    sign.touch()
    assert isinstance(end_of(bed, engine, A), Ended)
    assert engine.output(A, Stream.OUT, 0, 100).data == b"new\n"


@pytest.mark.parametrize("again", [False, True])
def test_what_has_the_name_of_another_one_finds_nothing_of_it(bed: LocalBed, again: bool) -> None:
    """Nobody forgot outputs and folder of the other one, whose journal is gone. `again`: the launch
    is durable, and the service is killed before the engine hears of it."""
    folder = left(bed, bed.ready(), A, "echo old >file; echo old; echo old >&2")
    assert (folder / "file").exists()
    new = assign(A, "ls; echo new >&2")
    engine = bed.ready(*([new] if again else []))
    engine.launch([new])
    assert isinstance(end_of(bed, engine, A), Ended)
    assert engine.output(A, Stream.OUT, 0, 100).data == b""
    assert engine.output(A, Stream.ERR, 0, 100).data == b"new\n"
    wait(bed, lambda: [each.name for each in folder.parent.iterdir()] == [folder.name])


def test_what_is_cancelled_before_its_start_has_no_outputs_of_another_one(bed: LocalBed) -> None:
    left(bed, bed.ready(), A, "echo old >file; echo old")
    engine = bed.ready(assign(A, "true"))
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Lost)
    assert (end.started, end.output) == (False, 0)
    assert engine.output(A, Stream.OUT, 0, 100).data == b""


def test_what_nobody_got_round_to_removing_is_removed_by_the_next_one(bed: LocalBed) -> None:
    """What removes folders and who asked it to are killed once one has a name of nobody's."""
    engine = bed.ready()
    folder = left(bed, engine, A, "mkdir folder; touch folder/file")
    other = left(bed, engine, B, "mkdir folder; touch folder/file")
    cleaner = cleaner_of(engine)
    os.kill(cleaner, signal.SIGSTOP)
    engine.forget([A])
    wait(bed, lambda: not folder.exists())
    assert not removed(bed, folder)
    os.kill(engine._spawner.pid, signal.SIGKILL)  # type: ignore[union-attr]  # noqa: SLF001 (whom to kill)
    os.kill(cleaner, signal.SIGKILL)
    engine = bed.ready()
    wait(bed, lambda: removed(bed, folder))
    assert (other / "folder" / "file").exists()


def test_what_cannot_be_removed_is_told_and_holds_up_no_other(root: LocalBed) -> None:
    engine = root.ready()
    stuck = left(root, engine, A, "mkdir mounted")
    other = left(root, engine, B, "touch file")
    if os.system(f"mount -t tmpfs none '{stuck}/mounted' 2>/dev/null"):
        pytest.skip("mounting is not allowed here")
    told: list[str] = []
    there: list[Path] = []
    try:
        engine.forget([A, B])

        def heard() -> bool:
            engine.poll()
            told.extend(engine.take_faults())
            return bool(told) and removed(root, other)

        wait(root, heard)
    finally:
        there += stuck.parent.glob("*/mounted")
        os.system(f"umount '{there[0]}'")
    (line,) = told
    assert str(there[0].parent) in line
    assert "busy" in line
    engine = root.ready()  # the next one tries again
    wait(root, lambda: removed(root, stuck))
