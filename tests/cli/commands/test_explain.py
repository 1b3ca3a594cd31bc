"""`fairlead explain`: well-formed sentences for every situation, and the JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from fairlead.cli.commands import explain as explain_command
from fairlead.cli.main import Exit, main
from tests.cli.commands.test_allocate import EXAMPLE_INPUTS, run, schema
from tests.transcripts import EXAMPLES

MACHINES = """\
machines:
  - {name: "m[1-2]", capacity: {cpu: 4, memory: 64GiB}, labels: {zone: east}}
  - {name: m3, capacity: {cpu: 4, memory: 64GiB, gpu: 1}, labels: {zone: west}}
"""


@pytest.fixture
def write(tmp_path: Path) -> Path:
    return tmp_path / "cluster.yaml"


def explained(
    write: Path, jobs: str, name: str, capsys: pytest.CaptureFixture[str], *words: str
) -> str:
    """The explanation on one line, so that a test need not know where lines break."""
    write.write_text(MACHINES + jobs, encoding="utf-8")
    return " ".join(run(capsys, "explain", name, str(write), *words).split())


def test_stopped_by_a_resource(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1}}, {name: b, demand: {cpu: 3}, where: zone = east}]"
    text = explained(write, jobs, "a", capsys)
    assert "a runs 6 tasks under tsf." in text
    assert "it could run 12. That many make a share of 1; its share is 0.5." in text
    assert "It can use all 3 machines." in text
    assert "It froze at level 0, at a share of 0.5, together with b." in text
    assert "- No cpu is left on m[1-2] and m3: " in text or "- No cpu is left on m[1-2]: " in text


def test_a_job_on_one_machine_is_in_the_singular(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 4, gpu: 1}, spread: true}]"
    text = explained(write, jobs, "a", capsys)
    assert "a runs 1 task under tsf." in text
    assert "1 task makes a share of 1" in text or "That many make a share of 1" in text
    assert "It can use 1 of 3 machines: m3. Of the others, 2 have no gpu." in text
    assert "It froze at level 0, at a share of 1." in text


def test_has_all_its_tasks(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1}, tasks: 1}, {name: b, demand: {cpu: 1}}]"
    text = explained(write, jobs, "a", capsys)
    assert "a runs 1 of its 1 task under tsf." in text
    assert "Nothing: it runs all the tasks that it has." in text
    assert "What would raise it" not in text


def test_stopped_by_a_limit(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = (
        "tenants: [{name: t, limit: {cpu: 2, memory: 100GiB}}]\n"
        "jobs: [{name: a, tenant: t, demand: {cpu: 1}}, {name: b, tenant: t, demand: {cpu: 1}}]"
    )
    text = explained(write, jobs, "a", capsys)
    assert "a runs 1 task for tenant t under tsf." in text
    assert (
        "Tenant t has reached its limit of cpu: of 2, a holds 1 (50%) and b holds 1 (50%)" in text
    )
    assert "One more cpu in the limit of t: 1.5 tasks, 0.5 more." in text


def test_stopped_by_spread(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1}, spread: true, exclude: [m2]}]"
    text = explained(write, jobs, "a", capsys)
    assert "Of the others, 1 is in its list of `exclude`." in text
    assert "`spread` allows no second one there." in text
    assert (
        "Without its list of `exclude` (which alone keeps it from 1 machine: m2): 3 tasks" in text
    )


def test_can_run_nowhere(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1, gpu: 1}, where: zone = east}]"
    text = explained(write, jobs, "a", capsys)
    assert text.startswith(
        "a can never run, so it gets no tasks: of 3 machines, 1 is excluded by `zone = east`"
        " and 2 have no gpu."
    )
    assert "Without `zone = east` (which alone keeps it from 1 machine: m3): 1 task, 1 more" in text
    assert "What stopped it" not in text


def test_a_pooled_policy_ignores_machines(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1}, where: zone = east}, {name: b, demand: {cpu: 1}}]"
    text = explained(write, jobs, "a", capsys, "--policy", "drf")
    assert "It can use 2 of 3 machines: m[1-2]." in text
    assert "drf ignores that: it sees one machine with everything." in text
    assert (
        "No cpu is left in the whole cluster: of 12, a holds 6 (50%) and b holds 6 (50%)." in text
    )
    assert "One more cpu in the cluster" in text
    assert "warning: drf looks at one machine that holds everything" in text


@pytest.mark.parametrize("finite", ["", ", tasks: 9"])
def test_a_pooled_policy_bounds_a_job_that_spreads_by_the_number_of_machines(
    finite: str, write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = f"jobs: [{{name: a, demand: {{cpu: 1}}, spread: true{finite}}}]"
    text = explained(write, jobs, "a", capsys, "--policy", "drf")
    assert (
        "- It may have at most one task on a machine (`spread`), and the cluster has 3 machines."
        in text
    )
    assert "None is left" not in text
    (stop,) = json.loads(run(capsys, "explain", "a", str(write), "--policy", "drf", "--json"))[
        "stopped_by"
    ]
    assert stop["total"] == 3
    table = run(capsys, "allocate", str(write), "--policy", "drf")
    assert table.count("spread of a\n") == 2
    assert "tasks of a" not in table


def test_the_only_machine_is_not_counted(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write.write_text(
        "machines: [{name: m, capacity: {cpu: 1}}]\njobs: [{name: a, demand: {cpu: 1}}]",
        encoding="utf-8",
    )
    assert "  It can use the only machine.\n" in run(capsys, "explain", "a", str(write))


def test_a_limit_of_nothing_has_no_holders(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "tenants: [{name: t, limit: {cpu: 0}}]\njobs: [{name: a, tenant: t, demand: {cpu: 1}}]"
    text = explained(write, jobs, "a", capsys)
    assert "a can never run, so it gets no tasks: a task needs 1 cpu, and tenant t may hold" in text
    assert "- One more cpu in the limit of t: 1 task, 1 more." in text


def test_a_limit_over_machines_filled_by_themselves_is_told_once(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = (
        "tenants: [{name: t, limit: {cpu: 2}}]\n"
        "jobs: [{name: a, tenant: t, demand: {cpu: 1}}, {name: b, demand: {gpu: 1}}]"
    )
    text = explained(write, jobs, "a", capsys, "--policy", "per-machine-drf")
    assert text.count("Tenant t has reached its limit of cpu: of 2, a holds 2 (100%).") == 1
    assert text.count("One more cpu in the limit of t: 3 tasks, 1 more.") == 1
    table = run(capsys, "allocate", str(write), "--policy", "per-machine-drf")
    (row,) = (line for line in table.splitlines() if line.startswith("  a "))
    assert row.endswith("  limit of t (cpu)")
    assert row.count("limit of t") == 1


def test_a_change_that_the_policy_refuses_is_left_out(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1}}, {name: b, demand: {gpu: 1}, where: zone = east}]"
    text = explained(write, jobs, "b", capsys, "--policy", "cmmf(cpu)")
    assert text.startswith("b can never run")
    assert "What would raise it" not in text


def test_a_mechanism_has_no_level(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1}}, {name: b, demand: {cpu: 1}}]"
    text = explained(write, jobs, "a", capsys, "--policy", "independent")
    assert "independent fills no levels, so nothing stopped it at a share" in text
    assert "What would raise it" not in text


def test_every_machine_filled_by_itself(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1}}, {name: b, demand: {cpu: 1, gpu: 0.1}}]"
    text = explained(write, jobs, "a", capsys, "--policy", "per-machine-drf")
    assert "per-machine-drf fills every machine by itself" in text
    assert "No cpu is left on m3: of 4, a holds 2 (50%) and b holds 2 (50%)." in text


def test_many_holders_are_counted(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"j{index}" for index in range(8)]
    jobs = "jobs: [" + ", ".join(f"{{name: {name}, demand: {{cpu: 1}}}}" for name in names) + "]"
    text = explained(write, jobs, "j7", capsys)
    assert "of 8, j7 holds" in text or "of 12, j7 holds" in text or "of 4, j7 holds" in text
    assert "together with j0, j1, j2, j3 and 3 more." in text


def test_what_was_tried_without_effect_is_named(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # a has m1 and m2 to itself; memory is never scarce, so the machine of the west brings it a
    # third of its cpu, while its other part excludes nothing.
    jobs = 'jobs: [{name: a, demand: {cpu: 1}, where: "zone = east, !rack"}]'
    text = explained(write, jobs, "a", capsys)
    assert "Without `zone = east` (which alone keeps it from 1 machine: m3): 12 tasks" in text
    assert "Without its whole constraint (which keeps it from 1 machine): 12 tasks, 4 more" in text
    assert "With 0.9 cpu a task instead of 1: 8.889 tasks" in text or "8.88889 tasks" in text
    assert "Tried without effect: dropping `!rack`." in text
    tree = json.loads(run(capsys, "explain", "a", str(write), "--json"))
    assert [(c["change"], c["subject"]) for c in tree["without_effect"]] == [
        ("constraint", "!rack")
    ]


TWO_KINDS = """\
machines:
  - {name: "p[01-16]", capacity: {cpu: 56, memory: 512GiB, gpu: 4}, labels: {gen: p}}
  - {name: "a[01-10]", capacity: {cpu: 128, memory: 1TiB, gpu: 8}, labels: {gen: a}}
  - {name: "h[1-4]", capacity: {cpu: 192, memory: 2TiB, gpu: 8}, labels: {gen: h}}
devices: [gpu]
tenants:
  - {name: nlp, pool: ["h[1-4]", "a[01-02]"], limit: {gpu: 60}}
  - {name: vision, pool: "a[03-07]"}
  - {name: bio, pool: "a[08-10]"}
  - {name: others, pool: "p[01-16]"}
jobs:
  - {name: llm, tenant: nlp, demand: {cpu: 96, memory: 1000GiB, gpu: 8}, where: gen = h}
  - {name: ft, tenant: nlp, demand: {cpu: 12, memory: 100GiB, gpu: 1}, where: gen != p}
  - {name: det, tenant: vision, demand: {cpu: 8, memory: 60GiB, gpu: 1}, where: gen != p}
  - {name: fold, tenant: bio, demand: {cpu: 16, gpu: 1}, where: gen != p, spread: true}
"""


def test_a_change_is_told_with_its_amount_and_the_limit_at_which_it_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # More gpus where ft runs raise llm, which gets the room; then both meet the limit of nlp, and
    # ft's part of it is the greater.
    source = tmp_path / "input.yaml"
    source.write_text(TWO_KINDS, encoding="utf-8")
    text = run(capsys, "explain", "llm", str(source)).replace("\n    ", " ").replace("\n  ", " ")
    assert "- One more gpu, spread over a[01-10]: 3.71224 tasks, 0.01993 more." in text
    assert (
        "Tried, with fewer tasks: 8 gpu more on a[01-10] (3.687 tasks, 0.005305 fewer; there llm"
        " meets the limit of nlp (gpu))." in text
    )
    assert "- 8 gpu more, spread over h[1-4]: 3.75 tasks, 0.05769 more; there llm meets" in text
    tree = json.loads(run(capsys, "explain", "llm", str(source), "--json"))
    less = [c for c in tree["without_effect"] if c["tasks"] < tree["tasks"]]
    assert [(c["amount"], c["meets"]) for c in less] == [
        (8.0, [{"tenant": "nlp", "resource": "gpu"}])
    ]
    whole = run(capsys, "explain", "nlp", str(source)).replace("\n    ", " ")
    assert "ft +0.9655 and llm -0.005305); there llm meets the limit of nlp (gpu)." in whole


def test_a_large_input_gets_the_prices_and_no_promise(
    write: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain_command, "SMALL", 0)
    jobs = "jobs: [{name: a, demand: {cpu: 1}, where: zone = east}, {name: b, demand: {cpu: 1}}]"
    text = explained(write, jobs, "a", capsys)
    assert ": initially about " in text
    assert " tasks more, by the prices." in text
    assert "none was tried: `fairlead whatif` shares again with one." in text
    tree = json.loads(run(capsys, "explain", "a", str(write), "--json"))
    assert {change["tasks"] for change in tree["changes"]} == {None}
    assert (tree["tried"], tree["without_effect"]) == (False, [])
    assert any(change["gain_by_price"] for change in tree["changes"])


def in_turn(examples: Sequence[str], *policies: str) -> list[tuple[str, str]]:
    """Each example under TSF, and under every other one of the other policies in turn."""
    return [
        (example, policy)
        for i, example in enumerate(examples)
        for j, policy in enumerate(("tsf", *policies))
        if j == 0 or (i + j) % 2
    ]


@pytest.mark.parametrize(
    ("example", "policy"), in_turn(EXAMPLE_INPUTS, "drf", "per-machine-drf", "independent")
)
def test_json_keeps_to_its_schema(
    example: str, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(EXAMPLES / example)
    jobs = json.loads(run(capsys, "allocate", source, "--json"))["jobs"]
    validator = schema("explanation-1.json")
    for job in jobs[:2] if policy == "tsf" else jobs[:1]:
        words = ("explain", job["name"], source, "--json", "--policy", policy)
        validator.validate(json.loads(run(capsys, *words)))


def test_the_policy_may_be_mistyped(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write.write_text(MACHINES + "jobs: [{name: a, demand: {cpu: 1}}]", encoding="utf-8")
    assert main(["explain", "a", str(write), "--policy", "drff"]) == Exit.BAD_INPUT
    assert "did you mean `drf`?" in capsys.readouterr().err


def test_machines_of_a_spread_are_told_together(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = explained(write, "jobs: [{name: a, demand: {cpu: 1}, spread: true}]", "a", capsys)
    assert text.count("It has a task on") == 1
    assert "- It has a task on each of m[1-3], and `spread` allows no second one there." in text


def test_like_machines_are_advised_once(write: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = "{name: b, demand: {cpu: 1}, tasks: 1, machines: [m1]}"
    jobs = f"jobs: [{{name: a, demand: {{cpu: 1}}, spread: true}}, {other}]"
    text = explained(write, jobs, "a", capsys)
    assert "One more machine like m1 (4 cpu and 64Gi memory): 4 tasks, 1 more." in text
    assert "One more machine like m2" not in text


def test_a_slip_in_what_runs_nowhere_has_a_hint(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = "jobs: [{name: a, demand: {cpu: 1}, where: 'zoen = east'}]"
    text = explained(write, jobs, "a", capsys)
    assert 'hint: job a: no machine has the label zoen; did you mean "zone"?' in text


TWO_JOBS = """\
tenants: [{name: t, limit: {cpu: 6}}, {name: u, weight: 2}, {name: idle}]
jobs:
  - {name: a, tenant: t, demand: {cpu: 1}}
  - {name: b, tenant: t, demand: {cpu: 1}, tasks: 1}
  - {name: t, tenant: u, demand: {cpu: 1}, where: zone = east}
"""


def test_a_tenant_is_explained_with_all_its_jobs(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = explained(write, TWO_JOBS, "t", capsys, "--tenant")
    assert "Tenant t runs 3 tasks of a and 1 task of b under tsf." in text
    assert "Its share is 0.333333 (weight 1)" in text
    assert re.search(r"job tasks of alone stopped by a 3 12 cpu on \S+ b 1 1 12 has all", text)
    assert "With no more than its part of each machine, by the weights, it could have no" in text
    assert "- With weight 2 instead of 1: 50% more (tasks: a +2)." in text
    assert (
        "- One more machine like m1 (4 cpu and 64Gi memory): 33.3% more (tasks: a +1.333)" in text
    )


def test_a_tenant_stopped_by_its_limit_is_raised_by_the_limit_alone(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = (
        "tenants: [{name: t, limit: {cpu: 2}}]\n"
        "jobs: [{name: a, tenant: t, demand: {cpu: 1}}, {name: b, demand: {cpu: 1}}]"
    )
    text = explained(write, jobs, "t", capsys)
    assert "a 2 12 limit of t (cpu)" in text
    assert "- One more cpu in the limit of t: 50% more (tasks: a +1)." in text
    assert "Tried without effect: weight 2" in text


def test_a_tenant_in_a_tree_has_the_jobs_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    source = str(EXAMPLES / "tenant-tree")
    text = run(capsys, "explain", "science", source)
    assert "(physics)" in text
    assert "(biology)" in text
    below = run(capsys, "explain", "physics", source)
    assert below.startswith("Tenant physics below science runs ")


def test_a_pool_is_what_a_tenant_is_compared_with(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(run(capsys, "explain", "students", str(EXAMPLES / "pools")).split())
    assert "its pool" in text
    assert "With weight" not in text


def test_a_tenant_without_jobs_has_a_share_of_0(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = explained(write, TWO_JOBS, "idle", capsys)
    assert text == "Tenant idle has no jobs, so its share is 0."


def test_of_a_job_and_a_tenant_of_one_name_the_job_is_explained(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = explained(write, TWO_JOBS, "t", capsys)
    assert text.startswith("t runs ")
    assert text.endswith("A tenant has this name, too: `fairlead explain --tenant t …`.")


TENANTS = ("gpu-generations", "tenant-tree", "pools", "split-rates")


@pytest.mark.parametrize(
    ("example", "policy"), in_turn(TENANTS, "drf", "per-machine-drf", "independent", "market")
)
def test_json_of_a_tenant_keeps_to_its_schema(
    example: str, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(EXAMPLES / example)
    if main(["allocate", source, "--json", "--policy", policy]) != Exit.OK:
        pytest.skip(f"{policy} refuses {example}")
    tenants = json.loads(capsys.readouterr().out)["tenants"]
    validator = schema("tenant-explanation-1.json")
    for tenant in tenants[:2] if policy == "tsf" else tenants[:1]:
        words = ("explain", tenant["name"], "--tenant", source, "--json", "--policy", policy)
        validator.validate(json.loads(run(capsys, *words)))


def test_a_large_input_names_changes_of_a_tenant_by_their_prices(
    write: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain_command, "SMALL", 0)
    text = explained(write, TWO_JOBS, "t", capsys, "--tenant")
    assert ": initially about " in text
    assert " tasks more of a, by the prices." in text
    assert "none was tried" in text


def test_a_job_behind_the_files_is_told_its_place(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write.write_text(MACHINES + "jobs: [{name: a, demand: {cpu: 1}}]", encoding="utf-8")
    assert main(["explain", str(write), "a"]) == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert f"no such file: a; a job's name comes first: `fairlead explain a {write}`" in told
