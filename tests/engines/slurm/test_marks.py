"""The words on a released job: what its user asked for is known however often it runs."""

from __future__ import annotations

from dataclasses import replace

from fairlead.engines.slurm.placing.marks import as_asked, mark_of, pin, put_back
from tests.engines.slurm.test_viewing import job

ENGINE = "00000000000a"


def value(line: str, name: str) -> str:
    (found,) = [word for word in line.split() if word.startswith(f"{name}=")]
    return found.partition("=")[2]


def test_a_most_is_known_after_slurm_has_forgotten_it() -> None:
    """22.05 says no `max_nodes` of a job that has run."""
    waits = job(7, priority=0, reason="JobHeldUser", nodes=1, most_nodes=4, required="c1")
    for restarts in range(3):
        line = pin((7, ""), as_asked(waits), ["c2", "c2", "c3"], ENGINE)
        assert (value(line, "ReqNodeList"), value(line, "NumNodes")) == ("c2,c3", "2-2")
        remark = value(line, "AdminComment")
        assert remark == f"fairlead:{ENGINE}:{restarts}:asked=c1/1-4"
        back = replace(
            waits, required="c2,c3", remark=remark, restarts=restarts + 1, most_nodes=0, nodes=2
        )
        (line,) = put_back((7, ""), back)
        assert line == "update JobId=7 ReqNodeList=c1 NumNodes=1-4"
        waits = replace(back, required="c1")
        assert put_back((7, ""), waits) == []
        assert as_asked(waits).most_nodes == 4
    let_go = replace(waits, priority=1)
    assert put_back((7, ""), let_go) == ["uhold 7", "update JobId=7 ReqNodeList=c1 NumNodes=1-4"]


def test_without_a_most_nothing_of_ours_stays() -> None:
    waits = job(7, priority=0, reason="JobHeldUser", remark="mine")
    line = pin((7, ""), waits, ["c2"], ENGINE)
    back = replace(waits, required="c2", remark=value(line, "AdminComment"))
    assert put_back((7, ""), back) == ["update JobId=7 ReqNodeList= AdminComment=mine"]
    assert mark_of(waits) is None
    assert as_asked(back) == waits
