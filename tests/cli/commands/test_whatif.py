"""`fairlead whatif`: tables and JSON, what it refuses, and what to buy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.audit.finding import Input
from fairlead.audit.whatif.edits import Remove
from fairlead.audit.whatif.parse import read_edits
from fairlead.cli.main import Exit, main
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from tests.cli.commands.test_allocate import run, schema
from tests.transcripts import EXAMPLES

INPUT = """\
machines:
  - {name: "e[1-2]", capacity: {cpu: 4}, labels: {zone: east}}
  - {name: w1, capacity: {cpu: 4}, labels: {zone: west}}
tenants: [{name: s, limit: {cpu: 100}}, {name: t}]
jobs:
  - {name: a, tenant: s, demand: {cpu: 1}, where: "zone = east"}
  - {name: b, tenant: t, demand: {cpu: 1}, where: "zone = west", exclude: [e1]}
"""
CATALOGUE = """\
catalogue:
  - {name: west-node, price: 10, capacity: {cpu: 4}, labels: {zone: west}}
  - {name: east-node, price: 9, capacity: {cpu: 4}, labels: {zone: east}, at_most: 1}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(INPUT, encoding="utf-8")
    return str(path)


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    path = tmp_path / "catalogue.yaml"
    path.write_text(CATALOGUE, encoding="utf-8")
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said on stderr where the command line is wrong, and nothing on stdout."""
    assert main(["whatif", *words]) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    return err


CHANGES = {
    "add": ("--add", "2 x w1"),
    "remove": ("--remove", "e1"),
    "fewer": ("--remove", "1 x e1"),
    "weight": ("--weight", "s=3"),
    "drop": ("--drop-constraint", "b"),
    "part": ("--drop-constraint", "a:zone = east"),
    "demand": ("--set-demand", "a:cpu=2"),
    "limit": ("--set-limit", "s:cpu=2"),
    "several": ("--add", "e", "--remove", "w1", "--weight", "t=2"),
}


@pytest.mark.parametrize("words", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("policy", ["tsf", "drf", "per-machine-drf", "market"])
def test_json_keeps_to_its_schema(
    words: tuple[str, ...], policy: str, cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(capsys, "whatif", cluster, *words, "--policy", policy, "--json")
    schema("whatif-1.json").validate(json.loads(out))


@pytest.mark.parametrize("words", CHANGES.values(), ids=CHANGES)
def test_people_get_tables(
    words: tuple[str, ...], cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(capsys, "whatif", cluster, *words)
    assert "tasks before" in out
    assert "stops before" in out
    assert "In tasks: " in out


def test_who_gains_and_what_stops_them(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    # a runs 8 on e1 and e2, b 4 on w1; free to use all, b takes from a: 6 and 6 of 12.
    out = run(capsys, "whatif", cluster, "--drop-constraint", "b").splitlines()
    assert "a    s                  8      6  -25%" in out
    assert "b    t                  4      6  +50%" in out
    (west,) = (line for line in out if line.startswith("cpu on w1"))
    assert "t at 0.333333" in west
    assert "s and t at 0.5" in west
    assert out[-1] == "In tasks: 1 job gains (b +2) and 1 job loses (a -2)."


def test_a_second_input_is_compared_by_names(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(INPUT.replace("name: w1", 'name: "w[1-2]"'), encoding="utf-8")
    by_file = json.loads(run(capsys, "whatif", cluster, "--to", str(other), "--json"))
    by_change = json.loads(run(capsys, "whatif", cluster, "--add", "w1", "--json"))
    assert by_file["added"] == ["w2"]
    assert by_change["added"] == ["w1-2"]
    assert by_file["jobs"] == by_change["jobs"]
    schema("whatif-1.json").validate(by_file)
    assert "A second input" in run(capsys, "whatif", cluster, "--to", str(other))


def test_what_is_wrong_in_one_of_two_inputs_has_its_place_in_that_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = "machines: [{name: m, capacity: {cpu: 4, gpu: 1}}]\n"
    texts = {
        "well.yaml": f"{machine}jobs: [{{name: g, demand: {{cpu: 1}}}}]\n",
        "bad.yaml": f"{machine}jobs:\n  - name: g\n    demand: {{gpu: 1}}\n"
        "  - name: h\n    demand: {cpu: 1}\n",
        "none.yaml": f"{machine}jobs: [{{name: g, demand: {{gpu: 1}}}}]\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    well, bad, none = (str(tmp_path / name) for name in texts)
    for words in ((well, "--to", bad), (bad, "--to", well)):
        said = refused(capsys, *words, "--policy", "cmmf(cpu)")
        assert said.startswith(f'error: {bad}:4:13: job "g", demand: it demands no cpu')
    said = refused(capsys, well, "--to", none, "--policy", "cmmf(cpu)")
    assert said.startswith(f"error: --to, {none}: no job demands any `cpu`")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing is changed"),
        (("--add", "2 x e11"), 'there is no machine "e11"'),
        (("--add", "4"), '4 says how many, and not of which; write "4 x '),
        (("--add", "0 x e1"), "0 machines cannot be added"),
        (("--add", "2 x [1"), "a bracket is not closed"),
        (("--add", "2 e1"), 'write "2 x e1"'),
        (("--add", "2xe1"), 'write "2 x e1"'),
        (("--add", "2x e1"), 'write "2 x e1"'),
        (("--add", "two x e1"), 'a whole number first: "4 x h01"'),
        (("--add", "1.5 x e1"), 'a whole number first: "4 x h01"'),
        (("--remove", "e1", "--remove", "e[1-2]"), "e1 is removed twice; say it once"),
        (("--remove", "3 x e1"), "3 machines like e1 cannot be removed; there"),
        (("--remove", "0 x e1"), "0 machines like e1 cannot be removed; there"),
        (("--remove", "1 x e9"), 'there is no machine "e9"'),
        (("--remove", "e[1"), "--remove e[1: a bracket is not closed"),
        (("--set-demand", "a:cpu=x"), '--set-demand a:cpu=x, cpu: "x" is not a quantity'),
        (("--budget", "3"), "--budget without --buy"),
        (("--for", "s"), "--for without --buy"),
        (("--remove", "W1"), 'did you mean "w1"?'),
        (("--remove", "e[1-2]", "--remove", "w1"), "no machine is left"),
        (("--weight", "s=0"), "0 is not positive"),
        (("--weight", "s"), "write it as in vision=3"),
        (("--weight", "a=2"), "the tenant of this job is s"),
        (("--weight", "s=2", "--weight", "s=3"), "the weight of s is set twice"),
        (("--drop-constraint", "c"), 'there is no job "c"'),
        (("--drop-constraint", "t"), "it is a tenant, and its jobs are b"),
        (("--drop-constraint", "a:rack = 1"), "its parts are `zone = east`"),
        (("--set-demand", "a:cpus=1"), 'did you mean "cpu"?'),
        (("--set-demand", "a:cpu=-1"), "a:cpu=-1"),
        (("--set-demand", "a:cpu=0"), "a task that needs nothing at all"),
        (("--to", "x.yaml", "--weight", "s=2"), "three questions"),
        (("--buy", "x.yaml"), "--buy without --budget"),
        (("--weight", "s=2", "--budget", "3"), "--budget without --buy"),
        (("--weight", "s=2", "--catalogue", "x"), "--catalogue without --add"),
    ],
)
def test_what_is_wrong_is_said(
    words: tuple[str, ...], said: str, cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, cluster, *words)


def test_every_mistake_is_told_at_once(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    err = refused(capsys, cluster, "--weight", "x=1", "--remove", "y", "--drop-constraint", "z")
    assert err.count("error: ") == 3


def test_a_policy_that_refuses_the_change_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # g can never run, so cmmf(cpu) needs no scale for it; where it can, there is none.
    path = tmp_path / "gpu.yaml"
    path.write_text(
        "machines: [{name: m, capacity: {cpu: 4, gpu: 1}, labels: {zone: west}}]\n"
        "jobs: [{name: a, demand: {cpu: 1}}, {name: g, demand: {gpu: 1}, where: zone = east}]\n",
        encoding="utf-8",
    )
    words = (str(path), "--policy", "cmmf(cpu)")
    assert "In tasks" in run(capsys, "whatif", *words, "--weight", "a=2")
    said = refused(capsys, *words, "--drop-constraint", "g")
    assert 'job "g", demand: it demands no cpu, so it has no share under cmmf(cpu)' in said


def test_a_warning_says_when_it_is_so(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "whatif", cluster, "--remove", "w1")
    assert "warning after: job b can never run" in out
    pooled = run(capsys, "whatif", cluster, "--weight", "s=2", "--policy", "drf")
    assert "warning: drf looks at one machine" in pooled


def test_so_many_of_a_kind_are_removed_the_last_ones_and_of_no_other_list() -> None:
    machines = [Machine(name, {"cpu": 4}) for name in ("e1", "e2", "e3", "e4")]
    jobs = (Job("a", {"cpu": 1}), Job("b", {"cpu": 1}, machines=["e1", "e4"]))
    given = Input(Cluster(machines), jobs)
    assert read_edits(given, remove=["1 x e1"]) == (Remove(("e4",)),)
    assert read_edits(given, remove=["2 x e3"]) == (Remove(("e2", "e3")),)
    assert read_edits(given, remove=["e1"]) == (Remove(("e1",)),)


def test_a_purchase_is_told_beside_the_naive_one(
    cluster: str, catalogue: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # b has 4 of 12 tasks, a 8. East is cheaper per cpu, and would not help b.
    words = ("whatif", cluster, "--buy", catalogue, "--budget", "10")
    out = run(capsys, *words)
    flat = " ".join(out.split())
    assert flat.startswith(
        "Buy 1 x west-node for 10 of 10: it raises the smallest share (today that of t) from"
        " 0.333333 to 0.666667, on the old scale."
    )
    assert "naive 1 x east-node 9 0.333333 t" in flat
    assert "Every purchase within the budget was solved (2 of them)" in flat
    tree = json.loads(run(capsys, *words, "--json"))
    schema("whatif-1.json").validate(tree)
    assert tree["purchase"]["best"]["machines"] == {"west-node": 1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budget", "8"), "8 buys no machine of the catalogue"),
        (("--budget", "much"), "much is no budget"),
        (("--budget", "-1"), "is no budget"),
        (("--budget", "20", "--for", "u"), 'there is no tenant "u"; the tenants are s and t'),
        (("--budget", "20", "--for", "b"), "the tenant of this job is t"),
        (("--budget", "1,000"), "write 1000 without spaces or separators"),
        (("--budget", "20", "--solves", "0"), "--solves 0 is too small"),
    ],
)
def test_what_cannot_be_bought_is_said(
    words: tuple[str, ...],
    said: str,
    cluster: str,
    catalogue: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert said in refused(capsys, cluster, "--buy", catalogue, *words)


STOPPED = """
machines:
  - {name: g1, capacity: {cpu: 8, gpu: 8}, labels: {kind: g}}
  - {name: c1, capacity: {cpu: 8}, labels: {kind: c}}
tenants: [{name: ads, limit: {gpu: 1}}, {name: language}, {name: vision}]
jobs:
  - {name: rank, tenant: ads, demand: {gpu: 1}}
  - {name: train, tenant: language, demand: {cpu: 1, gpu: 1}}
  - {name: prep, tenant: language, demand: {cpu: 1}, where: kind = c}
  - {name: web, tenant: vision, demand: {cpu: 1}, where: kind = g}
"""
NODES = """
catalogue:
  - {name: c-node, price: 1, capacity: {cpu: 8}, labels: {kind: c}}
  - {name: g-node, price: 1, capacity: {cpu: 2, gpu: 2}, labels: {kind: g}}
"""


def test_a_purchase_says_who_is_beyond_help_and_who_of_the_tenant_loses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, nodes = tmp_path / "stopped.yaml", tmp_path / "nodes.yaml"
    cluster.write_text(STOPPED, encoding="utf-8")
    nodes.write_text(NODES, encoding="utf-8")
    words = ("whatif", str(cluster), "--buy", str(nodes), "--budget", "2")
    out = run(capsys, *words)
    assert " ".join(out.split()).startswith(
        "No purchase raises the share of ads (0.125): its limit of 1 gpu is reached. Without it the"
        " share would be 0.8 today. Buy 2 x g-node for 2 of 2: it raises the 2nd-smallest share"
    )
    out = " ".join(run(capsys, *words, "--for", "language").split())
    assert "Of language, prep (+200%) gains and train (-44.4%) loses." in out
    assert "To take from none of them, buy 1 x c-node and 1 x g-node for 2:" in out
    tree = json.loads(run(capsys, *words, "--for", "language", "--json"))
    schema("whatif-1.json").validate(tree)
    assert tree["purchase"]["losing"] == ["train"]
    assert tree["purchase"]["harmless"]["machines"] == {"c-node": 1, "g-node": 1}
    out = " ".join(run(capsys, *words, "--for", "ads").split())
    assert "So nothing is bought for 2." in out


def test_nothing_helps_is_an_answer(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "useless.yaml"
    path.write_text("catalogue: [{name: n, price: 1, capacity: {gpu: 1}}]", encoding="utf-8")
    out = run(capsys, "whatif", cluster, "--buy", str(path), "--budget", "1")
    told = " ".join(out.split())
    assert "no machine that the money buys can run" in told.partition(". ")[0]
    assert ". No purchase was found for 1 that raises the smallest share." in told


def test_machines_of_a_catalogue_can_be_added(
    cluster: str, catalogue: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(capsys, "whatif", cluster, "--catalogue", catalogue, "--add", "2 x west-node")
    assert "as west-node-[1-2]" in out


def test_the_example_of_the_docs_is_of_one_mind_with_two_allocations(
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = EXAMPLES / "gpu-generations"
    files = [str(where / name) for name in ("cluster.yaml", "jobs.yaml")]
    tree = json.loads(run(capsys, "whatif", *files, "--add", "4 x h01", "--json"))
    more = [*files, str(where / "four-more.yaml")]
    after = json.loads(run(capsys, "allocate", *more, "--json"))
    assert tree["added"] == ["h[04-07]"]
    assert [job["after"] for job in tree["jobs"]] == [job["tasks"] for job in after["jobs"]]
