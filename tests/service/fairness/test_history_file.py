"""Shares over time in a file: a restart knows them, and nothing that is wrong with the file stops
the service."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairlead.cli.common.screen import Screen
from fairlead.cli.text.shares import over_lines
from fairlead.service.fairness.history import History, Sample
from fairlead.service.fairness.history_file import START, LastingHistory
from fairlead.wire.fairness import SharePoint, SharesHistory, TenantHistory
from tests.service.fairness.test_history import sample

NAMES = (("a", "b"), ("a", "b"), ("a", "b", "ü\ud800"), ("b",), ())


def at(time: int) -> Sample:
    return sample(time, NAMES[time // 3 % len(NAMES)])


def points(history: History) -> dict[str, object]:
    return {name: repr(history.of(name)) for name in ("a", "b", "ü\ud800")}


def test_what_was_added_is_there_after_a_restart_and_goes_on(tmp_path: Path) -> None:
    plain = History(most=32)
    for time in range(300):
        history = LastingHistory(tmp_path / "shares", most=32)
        assert points(history) == points(plain)
        history.add(at(time))
        plain.add(at(time))
        if time % 2:
            history.close()  # and otherwise it is killed
        assert history.problem == ""
    assert (tmp_path / "shares").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "shares").stat().st_size < 20_000


def test_a_file_cut_anywhere_gives_the_whole_moments_before(tmp_path: Path) -> None:
    history = LastingHistory(tmp_path / "shares")
    for time in range(12):
        history.add(at(time))
    history.close()
    data, seen = (tmp_path / "shares").read_bytes(), set()
    for cut in range(len(data)):
        (tmp_path / "shares").write_bytes(data[:cut])
        found = LastingHistory(tmp_path / "shares")
        found.close()
        seen.add(len(found))
        plain = History()
        for time in range(len(found)):
            plain.add(at(time))
        assert points(found) == points(plain)
    assert seen == set(range(12))


def test_a_changed_byte_is_noticed_and_what_is_no_history_is_left_aside(tmp_path: Path) -> None:
    history = LastingHistory(tmp_path / "shares")
    for time in range(6):
        history.add(at(time))
    history.close()
    data = (tmp_path / "shares").read_bytes()
    for place in range(0, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 1
        (tmp_path / "shares").write_bytes(broken)
        found = LastingHistory(tmp_path / "shares")
        found.close()
        assert len(found) < 6
    for other in (b"", b"something else", START):
        (tmp_path / "shares").write_bytes(other)
        assert len(LastingHistory(tmp_path / "shares")) == 0


def test_without_room_it_is_in_memory_and_later_in_the_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = LastingHistory(tmp_path / "shares")
    history.add(at(1))

    def full(_file: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        history.add(at(2))
    assert history.problem.endswith("cannot be written: No space left on device")
    assert len(history) == 2
    history.add(at(3))
    assert history.problem == ""
    history.close()
    assert len(LastingHistory(tmp_path / "shares")) == 3


def test_moments_after_now_were_of_another_clock(tmp_path: Path) -> None:
    history = LastingHistory(tmp_path / "shares")
    for time in (1, 2, 50, 3):
        history.add(sample(time))
    history.close()
    found = LastingHistory(tmp_path / "shares")
    assert [point.time for point in found.of("a")] == [1, 2, 3]


def test_the_shares_over_time_as_a_table() -> None:
    minute = 60_000_000

    def one(name: str, *values: float | None) -> TenantHistory:
        told = [
            SharePoint(time=10**15 + k * minute, share=value, fair=0.5)
            for k, value in enumerate(values)
        ]
        return TenantHistory(name=name, points=told)

    found = SharesHistory(
        since=0,
        until=10**15 + 4 * minute,
        step=10,
        tenants=[one("ann", 0.0, 0.25, 1.0, 1.0), one("bob", None, 0.5, 0.5, None), one("new")],
    )
    plain = list(over_lines(found, Screen()))
    assert plain[2].split() == ["tenant", "points", "least", "mean", "most", "mean", "fair"]
    assert plain[3].split() == ["ann", "4", "0", "0.5625", "1", "0.5"]
    assert plain[4].split() == ["bob", "4", "0.5", "0.5", "0.5", "0.5"]
    assert len(plain) == 5
    drawn = list(over_lines(found, Screen(blocks=True)))
    assert drawn[3].endswith("▁▂██")
    assert drawn[4].split()[-1] == "▄▄"
    nothing = SharesHistory(since=0, until=1, step=10, tenants=[one("new")])
    (said,) = over_lines(nothing, Screen())
    assert said.startswith("no shares of new are known of that time; they are noted when something")
