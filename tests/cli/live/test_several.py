"""Commands over several things against a real service: one request each, whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fairlead.cli.commands import cancel
from fairlead.wire.jobs import Cancelled
from tests.cli.live.place import Terminal, until

ENDLESS = ("--", "sleep", "1000")


def test_each_job_is_told_of_and_one_that_is_over_stops_none(shell: Terminal) -> None:
    shell("submit", "--name", "slow", "--wait", "--", "true")
    for name in ("ticker", "d1"):
        shell.good("submit", "--name", name, *ENDLESS)
    wrong = shell.refused("cancel", "ticker", "slow", "dd1")
    assert wrong == 'error: there is no job "dd1"; it may have been forgotten\n'
    said = shell.good("cancel", "ticker", "slow", "d1")
    assert said == "ticker: cancelled\nslow: finished, and was before\nd1: cancelled\n"
    again = Cancelled.model_validate(shell.json("cancel", "ticker", "d1"))
    assert [job.changed for job in again.jobs] == [False, False]


def test_all_of_a_tenant_is_one_request(shell: Terminal) -> None:
    for name in ("v1", "v2"):
        shell.good("submit", "--name", name, "--tenant", "vision", *ENDLESS)
    said = shell.good("cancel", "--all", "--tenant", "research")
    assert said == "v1: cancelled\nv2: cancelled\n"


def test_jobs_are_chosen_by_state_prefix_and_whose_they_are(
    shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.good("submit", "--name", "run-1", "--tenant", "vision", *ENDLESS)
    until(lambda: shell.json("jobs", "--state", "running")["jobs"])
    shell.good("submit", "--name", "wait-1", "--tenant", "vision", "--cpu", "8", *ENDLESS)
    shell.good("submit", "--name", "wait-2", "--tenant", "sales", "--cpu", "8", *ENDLESS)
    made = shell.json("token", "create", "vera", "--tenant", "vision")
    with monkeypatch.context() as vera:
        vera.setenv("FAIRLEAD_TOKEN", made["token"])
        assert shell.good("cancel", "--state", "pending") == "wait-1: cancelled\n"
        assert shell.good("cancel", "--prefix", "wait-") == "no job is of that kind\n"
        assert shell.good("cancel", "--all") == "run-1: cancelled\n"
    assert "wait-2: cancelled" in shell.good("cancel", "--all", "--yes")
    until(lambda: not shell.json("jobs")["jobs"])
    assert shell.good("cancel", "--all", "--yes") == "no job waits or runs\n"


@pytest.mark.parametrize("word", ["n", "", "no", "y", "YES"])
def test_who_sits_at_a_terminal_is_asked_first(
    word: str, shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (f"s{word}", f"t{word}"):
        shell.good("submit", "--name", name, "--tenant", "vision", *ENDLESS)
    monkeypatch.setattr(cancel, "is_asked", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{word}\n"))
    code, out, err = shell("cancel", "--all", "--tenant", "research")
    assert "2 jobs of vision, " in err
    assert f"running: s{word} and t{word}\ncancel all of them? [y/N] " in err
    if word.lower().startswith("y"):
        assert (code, out) == (0, f"s{word}: cancelled\nt{word}: cancelled\n")
        return
    assert (code, out) == (2, "")
    assert err.endswith("nothing was cancelled\n")
    assert len(shell.json("jobs")["jobs"]) == 2
    assert f"t{word}: cancelled" in shell.good("cancel", "--all", "--tenant", "research", "--yes")


def test_tenants_of_a_file_are_made_all_or_none(shell: Terminal, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(
        "tenants:\n  - {name: one, weight: 3}\n  - {name: two, parent: one}\n"
        "  - {name: research, parent: two}\n",
        encoding="utf-8",
    )
    assert "a tenant stays below its parent" in shell.refused("tenants", "--apply", "two.yaml")
    assert "one" not in [each["name"] for each in shell.json("tenants")["tenants"]]


def test_what_the_service_refuses_of_a_file_of_tenants_has_its_place(
    shell: Terminal, tmp_path: Path
) -> None:
    for last, wrong in (
        ("parent: nobody", '3:23: tenant "b", parent: there is no tenant "nobody"; add it first'),
        (
            "limit: {gpuu: 4}",
            '3:29: tenant "b", limit, gpuu: nothing counts this resource; did you mean "gpu"?',
        ),
    ):
        text = f"tenants:\n  - {{name: a}}\n  - {{name: b, {last}}}\n"
        (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
        assert shell.refused("tenants", "--apply", "t.yaml") == f"error: t.yaml:{wrong}\n"


def _jobs(count: int, last: str = "") -> str:
    """A file of so many jobs, each on a line; the last one has this besides."""
    lines = [
        f"  - {{name: n{number}, demand: {{cpu: 1}}, tasks: 1, tenant: sales, command: sleep 9"
        f"{last if number == count - 1 else ''}}}\n"
        for number in range(count)
    ]
    return "jobs:\n" + "".join(lines)


def test_strictly_very_many_jobs_are_submitted_all_or_none(shell: Terminal, tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(_jobs(1500, ", machines: [a1, b11]"), encoding="utf-8")
    wrong = shell.refused("submit", "--strict", "jobs.yaml")
    assert wrong == (
        'error: jobs.yaml:1501:5: job "n1499": there is no machine "b11"; did you mean "b1"?\n'
    )
    assert shell.json("jobs", "--prefix", "n")["jobs"] == []


def test_all_mistakes_of_a_submitted_file_have_their_places(
    shell: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "one.yaml").write_text(
        """\
machines: [{name: x, capacity: {cpu: 1}}]
jobs:
  - {name: silent, demand: {cpu: 1}}
  - {name: two, demand: {cpu: -1}, tasks: 1, command: "true", where: "zone => 5"}
""",
        encoding="utf-8",
    )
    said = shell.refused("submit", "one.yaml").splitlines()
    assert [line.split(": ")[1] for line in said if line.startswith("error")] == [
        "one.yaml:1:11",  # machines
        "one.yaml:3:5",  # runs nothing
        "one.yaml:3:5",  # has no tasks
        "one.yaml:4:31",  # -1
        "one.yaml:4:70",  # =>
    ]
    (tmp_path / "two.yaml").write_text(
        """\
jobs:
  - {name: a, demand: {cpus: 1}, tasks: 1, command: "true", where: "zone > 5"}
  - {name: b, demand: {cpu: 1}, tasks: 1, command: "true", tenant: vison}
""",
        encoding="utf-8",
    )
    asked = '`zone > 5` compares the label zone of machine "a1" (and 2 more)'
    order = "neither a whole number nor a version, so it has no order"
    right = 'compare with = or in, or give the machine a label such as "5.10"'
    said = shell.refused("submit", "two.yaml").splitlines()
    assert [line.removeprefix("error: two.yaml:") for line in said] == [
        '2:30: job "a", demand, cpus: nothing counts this resource; did you mean "cpu"?',
        f'2:68: job "a", where: {asked}: "east" is {order}; {right}',
        '3:68: job "b", tenant: there is no tenant "vison"; did you mean "vision"?',
    ]
    assert "two.yaml:3:68" in shell.refused("submit", "--again", "two.yaml")


def test_machines_of_a_command_that_are_not_there_are_warned_of(shell: Terminal) -> None:
    words = ("submit", "--name", "here", "--machine", "a1", "--machine", "b11")
    assert 'there is no machine "b11"' in shell.refused(*words, "--strict", *ENDLESS)
    code, out, err = shell(*words, *ENDLESS)
    assert (code, out) == (0, "here: submitted, 1 task\n")
    assert err == 'warning: here: there is no machine "b11"; did you mean "b1"?\n'
