"""A journal that older versions began is whole: what they did not write down is no damage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main
from fairlead.service.journal.entry import CorruptJournalError, Entry
from fairlead.service.journal.places import open_store
from fairlead.service.recovery.recover import Recovery
from fairlead.service.recovery.snapshots import START, load, take
from fairlead.service.recovery.verify import verify
from tests.service.journal.lived import lived, snapshot_of
from tests.service.older import VERSIONS, older


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return lived()


def of_version(entries: Sequence[Entry], version: int) -> bytes:
    """The snapshot of these entries that such a version kept."""
    with pytest.MonkeyPatch.context() as patch:
        if version == 3:
            patch.setattr(
                "fairlead.service.records.fold._give_back_rows", lambda _records, _job: None
            )
        data = snapshot_of(entries)
    begin = len(START) + 8
    end = begin + int.from_bytes(data[len(START) : begin], "little")
    return data[:end] + older(data[end:], version)


def last_of_a_step(entries: Sequence[Entry], about: int) -> int:
    """The first entry from there on after which a step begins."""
    pairs = pairwise(entries)
    return next(one.seq for one, two in pairs if one.seq >= about and one.step != two.step)


def on_top(data: bytes, entries: Sequence[Entry]) -> bytes:
    """The snapshot of a service of today that began with that one, after these entries."""
    core, records = load(data)
    recovery = Recovery(core, records)
    for entry in entries:
        recovery.take(entry)
    recovery.finish()
    assert recovery.core is not None
    return take(recovery.core, recovery.records).encode()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_snapshot_of_an_older_version_says_the_same(entries: list[Entry], version: int) -> None:
    for part in (3, 2):
        seq = last_of_a_step(entries, len(entries) // part)
        found = verify(entries, [(seq, of_version(entries[:seq], version))])
        assert (found.snapshot, found.digest) == (seq, verify(entries).digest)


@pytest.mark.parametrize("says", [True, False], ids=["of today", "of before it said so"])
@pytest.mark.parametrize("version", VERSIONS)
def test_so_does_one_on_top_of_it(entries: list[Entry], version: int, *, says: bool) -> None:
    first = last_of_a_step(entries, len(entries) // 3)
    last = last_of_a_step(entries, 2 * len(entries) // 3)
    data = on_top(of_version(entries[:first], version), entries[first:last])
    said = b'"oldest":3'  # a snapshot that does not say so may have come through any
    assert data.count(said) == 1
    if not says:
        data = data.replace(b"," + said, b" " * (len(said) + 1))
    assert verify(entries, [(last, data)]).snapshot == last


@pytest.mark.parametrize("version", VERSIONS)
def test_what_every_version_knew_is_compared(entries: list[Entry], version: int) -> None:
    seq = last_of_a_step(entries, len(entries) // 2)
    data = of_version(entries[:seq], version)
    forged = data.replace(b'"weight": "3"', b'"weight": "4"')
    assert forged != data
    with pytest.raises(CorruptJournalError, match="another state"):
        verify(entries, [(seq, forged)])


def test_what_this_version_wrote_is_compared_whole(entries: list[Entry]) -> None:
    seq = last_of_a_step(entries, len(entries) // 2)
    data = snapshot_of(entries[:seq])
    forged = data.replace(b'"machines_joined"', b'"machines_left"  ')
    assert forged != data
    with pytest.raises(CorruptJournalError, match="another state"):
        verify(entries, [(seq, forged)])


@pytest.mark.parametrize(
    ("snapshots", "way"),
    [
        (0, ""),
        (1, "once there is a second snapshot, `fairlead journal prune` ends this"),
        (2, "`fairlead journal prune`, while none runs, ends this"),
    ],
)
def test_what_another_version_decided_is_told_with_what_ends_it(
    entries: list[Entry],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    snapshots: int,
    way: str,
) -> None:
    place = next(at for at, entry in enumerate(entries) if entry.kind == "launch")
    launch = entries[place]
    other = next(name for name in "abc" if name != launch.body["machine"])
    wrong = replace(launch, body={**launch.body, "machine": other})
    journal = tmp_path / "journal.db"
    store = open_store(journal)
    store.append([*entries[:place], wrong, *entries[place + 1 :]])
    for part in range(snapshots):
        seq = last_of_a_step(entries, len(entries) * (part + 1) // 3)
        store.keep(seq, snapshot_of(entries[:seq]))
    store.close()
    for action in ("check", "replay"):
        assert main(["journal", action, str(journal)]) == Exit.REFUTED
        (line,) = capsys.readouterr().err.splitlines()
        assert f"entry {launch.seq} " in line
        assert line.endswith(way)
        assert ("another version" in line) == bool(snapshots)
    assert main(["journal", "prune", str(journal)]) == Exit.OK
    ended = snapshots == 2
    for action in ("check", "replay"):
        assert main(["journal", action, str(journal)]) == (Exit.OK if ended else Exit.REFUTED)


def test_a_service_does_not_begin_with_what_another_version_decided(
    entries: list[Entry], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = next(at for at, entry in enumerate(entries) if entry.kind == "launch")
    launch = entries[place]
    other = next(name for name in "abc" if name != launch.body["machine"])
    journal, cluster = tmp_path / "journal.db", tmp_path / "cluster.yaml"
    store = open_store(journal)
    wrong = replace(launch, body={**launch.body, "machine": other})
    store.append([*entries[:place], wrong, *entries[place + 1 :]])
    store.close()
    cluster.write_text("machines: [{name: a, capacity: {cpu: 1}}]\n", encoding="utf-8")
    words = ["serve", "--cluster", str(cluster), "--state", str(tmp_path / "state")]
    words += ["--journal", str(journal), "--listen", "127.0.0.1:0", "--clock-is-right"]
    assert main(words) == Exit.BAD_INPUT
    line = capsys.readouterr().err.splitlines()[-1]
    assert f"entry {launch.seq} of the journal says" in line
    assert line.endswith(
        "start the version that wrote it, and stop it, which leaves a snapshot:"
        " from that this one goes on"
    )
