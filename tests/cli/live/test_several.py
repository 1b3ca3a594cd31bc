"""Commands over several things against a real service: one request each, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from fairlead.wire.jobs import Cancelled
from tests.cli.live.place import Terminal

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


def test_tenants_of_a_file_are_made_all_or_none(shell: Terminal, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(
        "tenants:\n  - {name: one, weight: 3}\n  - {name: two, parent: one}\n"
        "  - {name: research, parent: two}\n",
        encoding="utf-8",
    )
    assert "a tenant stays below its parent" in shell.refused("tenants", "--apply", "two.yaml")
    assert "one" not in [each["name"] for each in shell.json("tenants")["tenants"]]
