"""What the commands of the service draw: pictures of any size, tables, times in words."""

from __future__ import annotations

import io
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from fairlead.cli.commands import audit_live, jobs
from fairlead.cli.commands.job import demand_text, ending
from fairlead.cli.commands.job import lines as job_lines
from fairlead.cli.commands.logs import start_of_tail
from fairlead.cli.common.remote import ago, lasting
from fairlead.cli.common.screen import Screen, columns
from fairlead.cli.text import machines, shares
from fairlead.cli.text.top import Look, picture
from fairlead.client import Client, Output
from fairlead.wire.fairness import BelowFair, JobShareNow, LiveAudit, Shares, TenantShare
from fairlead.wire.jobs import JobDetail, JobRow, TaskAttempt, TaskCounts
from fairlead.wire.kinds import JobState
from fairlead.wire.machines import MachineRow, MachineState, Quarantine

NOW = time.time_ns() // 1000
MINUTE = 60_000_000


def row(number: int, name: str = "train") -> JobRow:
    return JobRow(
        name=f"{name}-{number}",
        id=number,
        tenant="vision",
        state=JobState.RUNNING,
        tasks=TaskCounts(waiting=3, running=1, finished=2),
        submitted=NOW - number * MINUTE,
    )


def machine(number: int) -> MachineRow:
    return MachineRow(
        name=f"m{number}",
        state=MachineState.UP,
        capacity={"cpu": "4", "memory": "8589934592"},
        free={"cpu": "1.5", "memory": "-1"},
        labels={"zone": "east"},
        tasks=2,
    )


def sharing(tenants: int) -> Shares:
    return Shares(
        time=NOW,
        policy="tsf",
        tenants=[
            TenantShare(
                name=f"tenant-{number}",
                weight=1,
                running=1,
                waiting=2,
                share=0.1 * number,
                fair=0.3,
            )
            for number in range(tenants)
        ],
        jobs=[JobShareNow(name="own", tenant="own", running=3, waiting=4, share=0.5, fair=0.25)],
    )


def drawn(seen: Look | None, width: int, height: int | None, trouble: str = "") -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height or 100, force_terminal=False)
    console.print(picture(seen, "http://127.0.0.1:7370", trouble, width, height))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", range(72, 140, 3))
def test_the_first_line_says_how_it_ends_wherever_there_is_room(width: int) -> None:
    first = drawn(Look(sharing(3), tuple(map(machine, range(9))), (), False, {}), width, 40)[0]
    assert first.endswith("q quits") or width < 90
    assert ("policy tsf" in first) == (width >= 102)


@given(
    width=st.integers(20, 200),
    height=st.integers(40, 80),
    tenants=st.integers(0, 30),
    many_machines=st.integers(0, 50),
    many_jobs=st.integers(0, 50),
    name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
)
def test_a_picture_fits_its_terminal(
    width: int, height: int, tenants: int, many_machines: int, many_jobs: int, name: str
) -> None:
    seen = Look(
        sharing(tenants),
        tuple(map(machine, range(many_machines))),
        tuple(row(number, name) for number in range(many_jobs)),
        False,
        {f"{name}-0": "it waits for a very long reason " * 10},
    )
    lines = drawn(seen, width, height)
    assert max(map(columns, lines)) <= width
    assert len(lines) <= height


@pytest.mark.parametrize("width", [50, 72, 80, 120])
@pytest.mark.parametrize("letter", ["n", "\N{FOX FACE}"])
def test_a_long_name_takes_no_column_from_the_numbers(width: int, letter: str) -> None:
    shares = sharing(3)
    named = shares.tenants[1].model_copy(update={"name": letter * 200})
    shares = shares.model_copy(update={"tenants": [shares.tenants[0], named]})
    long = machine(1).model_copy(update={"name": letter * 200})
    lines = drawn(Look(shares, (machine(0), long), (), False, {}), width, 40)
    header = next(line for line in lines if line.startswith("tenant"))
    assert header.split()[:5] == ["tenant", "running", "waiting", "share", "fair"]
    (tenant,) = [line for line in lines if line.startswith(letter * 3) and "0.3" in line]
    assert tenant.split()[1:5] == ["1", "2", "0.1", "0.3"]
    (of,) = [line for line in lines if line.startswith(letter * 3) and "2.5/4" in line]
    assert "up" in of.split()
    assert max(map(columns, lines)) <= width


def test_what_does_not_fit_is_counted() -> None:
    seen = Look(sharing(2), tuple(map(machine, range(99))), tuple(map(row, range(99))), False, {})
    lines = [line.strip() for line in drawn(seen, 120, 30)]
    assert len([line for line in lines if re.match(r"m\d", line)]) == 8
    assert "... and 91 more" in lines
    shown = len([line for line in lines if line.startswith("train-")])
    assert f"... and {99 - shown} more (`fairlead jobs` lists all)" in lines


def test_a_picture_counts_the_tasks_of_all_and_shows_the_jobs_that_are_their_own_tenants() -> None:
    seen = Look(sharing(2), tuple(map(machine, range(3))), (row(1),), False, {})
    lines = drawn(seen, 140, None)
    assert "3 of 3 machines up  tasks: 6 running, 8 waiting" in lines[0]
    assert any(line.split()[:3] == ["own", "3", "4"] for line in lines)


def test_a_service_that_went_away_is_said_above_what_was_last_seen() -> None:
    seen = Look(sharing(1), (), (), False, {})
    lines = drawn(seen, 80, 24, "nothing listens there; trying again")
    assert lines[1] == "nothing listens there; trying again"
    assert any("tenant-0" in line for line in lines)
    assert drawn(None, 80, 24, "nothing yet")[1] == "nothing yet"


def test_a_service_that_is_not_ready_says_why() -> None:
    why = "not ready: the driver does not answer"
    seen = Look(sharing(1), (), (), False, {}, why)
    assert drawn(seen, 80, 24)[1] == why
    assert drawn(seen, 80, 24, "nothing listens there")[1] == "nothing listens there"


def test_tables_of_a_pipe_are_plain_and_those_of_a_terminal_fit() -> None:
    plain, narrow = Screen(), Screen(width=60, colour=False, blocks=True)
    for lines in (
        jobs.lines([row(1)], plain),
        machines.lines([machine(1)], plain),
        shares.lines(sharing(2), plain, jobs=True),
    ):
        assert "\x1b" not in "".join(lines)
    assert max(columns(line) for line in machines.lines([machine(1)], narrow)) <= 60


def test_a_tenant_below_another_stands_below_it() -> None:
    found = [
        TenantShare(name="b", parent="a", weight=1, running=0),
        TenantShare(name="c", weight=1, running=0),
        TenantShare(name="a", weight=1, running=0),
        TenantShare(name="d", parent="b", weight=1, running=0),
    ]
    order = [(tenant.name, depth) for tenant, depth in shares.tree(found)]
    assert order == [("c", 0), ("a", 0), ("b", 1), ("d", 2)]


def test_a_machine_that_rests_says_until_when_and_why() -> None:
    rests = machine(1).model_copy(
        update={
            "state": MachineState.QUARANTINED,
            "quarantine": Quarantine(until=NOW, failures=2, why="two tasks could not be started"),
        }
    )
    text = "\n".join(machines.lines([rests], Screen()))
    assert "quarantined until " in text
    assert "m1: two tasks could not be started" in text
    assert "8Gi/8Gi" in text


def test_a_demand_is_said_as_it_is_written() -> None:
    demand = {"cpu": "1.5", "memory": "104857600", "share": "1/3"}
    assert demand_text(demand) == "cpu: 1.5, memory: 100Mi, share: 1/3"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0s"),
        (0.9, "0s"),
        (59, "59s"),
        (60, "1m"),
        (61, "1m1s"),
        (3600, "1h"),
        (3661, "1h1m"),
        (86400, "1d"),
        (90000 + 59, "1d1h"),
    ],
)
def test_a_time_is_said_in_two_units_at_most(seconds: float, words: str) -> None:
    assert lasting(seconds) == words
    assert ago(0, seconds) == words


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (TaskAttempt(number=1), ""),
        (TaskAttempt(number=1, cause="exited", code=3), "exit code 3"),
        (TaskAttempt(number=1, cause="signalled", code=9), "signal 9"),
        (TaskAttempt(number=1, cause="lost", message="m1 left"), "lost with its machine: m1 left"),
        (TaskAttempt(number=1, cause="of_the_future"), "of_the_future"),
    ],
)
def test_an_end_is_said_in_words(attempt: TaskAttempt, words: str) -> None:
    assert ending(attempt) == words


class Written(Client):
    """An output, without a service."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def output(
        self,
        job: str,
        task: int = 0,
        *,
        stream: str = "stdout",
        attempt: int | None = None,
        offset: int = 0,
        limit: int = 1,
    ) -> Output:
        del job, task, stream, attempt
        return Output(self.data[offset : offset + limit], offset, len(self.data), True)


@given(
    lines=st.lists(st.sampled_from([b"", b"a", b"bc"]), max_size=8),
    ended=st.booleans(),
    wanted=st.integers(0, 10),
)
def test_a_tail_begins_where_so_many_lines_are_left(
    lines: list[bytes], ended: bool, wanted: int
) -> None:
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    start = start_of_tail(Written(data), "j", 0, 1, "stdout", wanted)
    pieces = data.splitlines(keepends=True)
    assert data[start:] == b"".join(pieces[len(pieces) - min(wanted, len(pieces)) :])


def test_the_gap_to_the_fair_share_is_shown_though_nothing_is_lacking_of_what_is_guaranteed() -> (
    None
):
    found = Shares(
        time=NOW,
        policy="tsf",
        exact=NOW,
        tenants=[
            TenantShare(
                name="language", weight=1, running=8, share=0.208, fair=1 / 3, shortfall=0.0
            ),
            TenantShare(
                name="vision", weight=1, running=9, share=0.1 + 0.2, fair=0.3, shortfall=0.0
            ),
            TenantShare(name="nobody", weight=1, running=0),
        ],
    )
    header, *rows = list(shares.lines(found, Screen(), jobs=False))[2:]
    assert header.split()[-4:] == ["below", "fair", "short", "of"]
    assert [row.split()[-2:] for row in rows] == [["0.1253", "-"], ["-", "-"], ["-", "-"]]


def test_the_audit_says_who_is_below_the_fair_share_with_all_that_is_guaranteed() -> None:
    below = BelowFair(
        tenant="language",
        fair=0.333,
        has=0.208,
        gap=0.125,
        fair_tasks=13.3,
        guaranteed=8,
        job="j1",
        cause="pieces",
        sentence="language has a share of 0.208, 0.125 below its fair share",
    )
    found = LiveAudit(
        time=NOW, exact=NOW, policy="tsf", tenants=9, shortfalls=[], below_fair=[below],
        below_fair_more=2,
    )  # fmt: skip
    assert list(audit_live.lines(found, Screen()))[2:] == [
        "Everybody has what the exact allocation of the present demand guarantees.",
        "",
        "language has a share of 0.208, 0.125 below its fair share.",
        "",
        "2 tenants more below the fair share, by less",
    ]


@pytest.mark.parametrize(("name", "number"), [("train", True), ("4711", False)])
def test_the_number_of_a_job_is_told_but_not_beside_one_that_is_its_name(
    name: str, number: bool
) -> None:
    """Slurm's jobs are called by theirs: "6 (number 2)" said that one of the two was wrong."""
    job = JobDetail.model_validate(row(2).model_dump() | {"name": name})
    told = list(job_lines(job, [], Screen()))
    assert told[0].split() == ["job", name]
    assert any("(its FAIRLEAD_JOB_ID" in line for line in told) is number
