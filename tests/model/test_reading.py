"""Reading YAML and JSON: what it means, and every mistake with its place."""

from __future__ import annotations

import gc
import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.reading import read
from fairlead.model.tenant import Tenant

WHOLE = """\
machines:
  - name: "a[01-25]"
    capacity: {cpu: 16, memory: 64GiB, gpu: 4}
    labels: {gpu-model: a100, zone: east, kernel: "5.15"}
tenants:
  - {name: vision, weight: 2, limit: {gpu: 40}}
  - {name: vision-eu, parent: vision}
devices: [gpu]
jobs:
  - name: train
    tenant: vision
    demand: {cpu: 4, memory: 12GiB, gpu: 1}
    tasks: 100
    where: "gpu-model in (a100, h100), zone != west, kernel >= 5.10"
    spread: true
    machines: ["a[01-10]"]
    exclude: a05
    prefer: zone = east
    prefer_for: 30s
    gang: 4
    duration: 2h
"""


def mistakes(*texts: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read([(f"{chr(ord('f') + n)}.yaml", text) for n, text in enumerate(texts)])
    return [str(mistake) for mistake in caught.value.mistakes]


def assert_among(sentence: str, found: list[str]) -> None:
    assert [each for each in found if sentence in each], found


def with_machines(text: str) -> str:
    return f"machines: [{{name: a1, capacity: {{cpu: 4}}}}]\n{text}"


def test_what_is_called_json_is_called_so_when_it_is_broken() -> None:
    with pytest.raises(InputError, match=r"f\.json:1:6: this is not JSON: did not find expected"):
        read([("f.json", '{"a" "b"}')])


def test_a_file_means_what_is_written() -> None:
    names = [f"a{n:02}" for n in range(1, 26)]
    capacity = {"cpu": 16, "memory": 64 * 2**30, "gpu": 4}
    labels = {"gpu-model": "a100", "zone": "east", "kernel": "5.15"}
    cluster, jobs = read([("f.yaml", WHOLE)])
    assert cluster == Cluster(
        [Machine(name, capacity, labels) for name in names],
        [Tenant("vision", weight=2, limit={"gpu": 40}), Tenant("vision-eu", parent="vision")],
        ["gpu"],
    )
    assert jobs == (
        Job(
            "train",
            {"cpu": 4, "memory": 12 * 2**30, "gpu": 1},
            tenant="vision",
            tasks=100,
            where="gpu-model in (a100, h100), zone != west, kernel >= 5.10",
            spread=True,
            machines=names[:10],
            exclude=["a05"],
            prefer="zone = east",
            prefer_for=30,
            gang=4,
            duration=7200,
        ),
    )


def test_machines_of_a_range_share_their_values() -> None:
    machines = read([("f.yaml", WHOLE)])[0].machines
    assert len({id(machine.capacity) for machine in machines}) == 1
    assert len({id(machine.labels) for machine in machines}) == 1


def test_json_is_the_same_tree() -> None:
    tree = {
        "machines": [
            {"name": "a[1-2]", "capacity": {"cpu": 0.1, "é😀": 1e-05}, "labels": {"v": 5, "w": "5"}}
        ],
        "jobs": [{"name": "j/\\ud83d\n".strip(), "demand": {"cpu": 1}, "spread": False}],
    }
    for indent in (None, 2, "\t"):
        cluster, jobs = read([("f.json", json.dumps(tree, indent=indent))])
        assert cluster.machines[0].capacity == {"cpu": Fraction(1, 10), "é😀": Fraction(1, 10**5)}
        assert cluster.machines[0].labels == {"v": Decimal(5), "w": "5"}
        assert jobs == (Job("j/\\ud83d", {"cpu": 1}),)


def test_several_texts_and_documents_are_one_input() -> None:
    first = with_machines("tenants: [{name: t}]")
    second = (
        "jobs: [{name: x, tenant: t, demand: {cpu: 1}}]\n---\njobs: [{name: y, demand: {cpu: 1}}]"
    )
    cluster, jobs = read([("f.yaml", first), ("g.yaml", second)])
    assert [job.name for job in jobs] == ["x", "y"]
    assert cluster.tenants == (Tenant("t"),)


def test_tenants_are_implied_where_none_are_declared() -> None:
    text = with_machines("jobs: [{name: x, tenant: t, demand: {cpu: 1}}]\ntenants:\n")
    assert read([("f.yaml", text)])[0].tenants == (Tenant("t"),)


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("east", "east"),
        ("yes", "yes"),
        ("true", "true"),
        ("no", "no"),
        ("12:30", "12:30"),
        ("0x10", "0x10"),
        ("010", "010"),
        ("1e3", "1e3"),
        ("1_000", "1_000"),
        ("+5", "+5"),
        (".5", ".5"),
        (".inf", ".inf"),
        ("2024-01-01", "2024-01-01"),
        ("5.15.0", "5.15.0"),
        ('"5.10"', "5.10"),
        ("'5'", "5"),
        ("!!str 5.10", "5.10"),
        ('"null"', "null"),
        ('""', ""),
        ("5", Decimal(5)),
        ("-5", Decimal(-5)),
        ("5.10", Decimal("5.10")),
        ("0.0000001", "0.0000001"),
    ],
)
def test_a_label_stays_as_it_was_written(written: str, label: str | Decimal) -> None:
    text = f"machines: [{{name: a1, capacity: {{cpu: 1}}, labels: {{x: {written}}}}}]"
    found = read([("f.yaml", text)])[0].machines[0].labels["x"]
    assert (type(found), str(found)) == (type(label), str(label))


@pytest.mark.parametrize("written", ["yes", "5.10", "12:30", "0x10", "true", "on"])
def test_names_are_text_whatever_yaml_thinks(written: str) -> None:
    text = f"machines: [{{name: {written}, capacity: {{{written}: 1}}}}]"
    machine = read([("f.yaml", text)])[0].machines[0]
    assert (machine.name, list(machine.capacity)) == (written, [written])


def test_anchors_and_merges_mean_what_they_stand_for() -> None:
    text = """\
machines:
  - &big {name: a1, capacity: &amounts {cpu: 4}, labels: &labels {zone: east, gen: 1}}
  - {<<: *big, name: a2}
  - {name: a3, capacity: *amounts, labels: {<<: [{gen: 2}, *labels]}}
"""
    first, second, third = read([("f.yaml", text)])[0].machines
    assert second.capacity is first.capacity
    assert second.labels is first.labels
    assert third.labels == {"zone": "east", "gen": Decimal(2)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "f.yaml:1:1: nothing is written here; write machines, tenants, devices or jobs"),
        ("# only a comment", "f.yaml:1:1: nothing is written here"),
        ("---\n---\n", "f.yaml:1:1: nothing is written here"),
        ("5", 'f.yaml:1:1: "5" stands where keys with values should; write machines: [{name: "a['),
        ("[a]", "f.yaml:1:1: a list stands where keys with values should"),
        (
            '{"schema": "fairlead.proof/1", "policy": "tsf", "rounds": []}',
            "f.yaml:1:1: this is an answer of Fairlead's (fairlead.proof/1), no input",
        ),
        ("tenants: [{name: t}]", "f.yaml:1:1: machines: there are no machines"),
        ("a: [", "f.yaml:2:1: this is not YAML: it ends before all that it opens is closed"),
        ("a: [b: c: d]", "f.yaml:1:9: this is not YAML: did not find expected ',' or ']'"),
        ("a: b: c", "f.yaml:1:5: this is not YAML: mapping values are not allowed"),
        ("a:\n\t- b", "f.yaml:2:1: this is not YAML: found character that cannot start any token"),
        ("a:\n\t- b", "tabs cannot indent YAML: write spaces"),
        ("machines: [{name: a[1-2]}]", 'put a range of names in quotes: "a[01-25]"'),
        ("a: *x", "f.yaml:1:4: this is not YAML: found undefined alias"),
        ("a: *x", "an alias (*name) needs an anchor (&name) before it"),
        ("%YAML 9.9\n---\na: b", "leave out the line that begins with %YAML"),
        ("nodes: []", 'f.yaml:1:1: unknown key "nodes"; did you mean "machines"?'),
        ("catalogue: []", "a catalogue is no input: give it by --buy or --catalogue"),
        ("a: > x", "put text that begins with > or | in quotes"),
        ("a: @x", "put text that begins with such a sign in quotes"),
        ('a: "x', "f.yaml:1:6: this is not YAML: it ends before all that it opens is closed"),
        ('{"a": "x', "close its brackets and quotes, or give the whole file if it was cut"),
        ("a: x\x00", "f.yaml:1:5: the character '\\x00' cannot stand in YAML or JSON"),
        ("é:\n  \ud800", "f.yaml:2:3: the character '\\ud800' cannot stand in YAML or JSON"),
        ("[" * 100, "f.yaml:1:51: more than 50 levels of lists and mappings within each other"),
        ("[" * 100000, "f.yaml:1:51: more than 50 levels"),
        ("{a: " * 100000, "more than 50 levels"),
        ("- " * 100000, "more than 50 levels"),
        ("x: &a [*a]", 'f.yaml:1:1: unknown key "x"'),
        ("machines: &a [*a]", "f.yaml:1:11: machine: a list that an alias (*name) puts into"),
        ("tenants: [{name: t, limit: &l {cpu: *l}}]", "a mapping that an alias (*name) puts into"),
        ('machines: [{name: "a{1..2}b"}]', '"a{1..2}b" is a range as shells write it; write "a['),
        ("tenants: [{name: t, GrpTRES: {}}]", 'unknown key "GrpTRES"; did you mean "limit"?'),
        ("? [a]\n: b", "f.yaml:1:3: a list is no key; a key is text"),
        ("machins: []", 'f.yaml:1:1: unknown key "machins"; did you mean "machines"?'),
        ("zzz: []", 'unknown key "zzz"; keys here are machines, tenants, devices, jobs'),
        ("machines: {a: b}", "f.yaml:1:11: machines: a mapping stands where a list should"),
        ("machines: !x []", "f.yaml:1:11: machines: something with the tag '!x' stands where"),
        ("devices: gpu", 'f.yaml:1:10: devices: "gpu" stands where a list should'),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(text: str, sentence: str) -> None:
    assert_among(sentence, mistakes(text))


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("5", '2:5: machine: "5" stands where keys with values should'),
        ("~", "2:5: machine: nothing stands where keys with values should"),
        ("{name: b1}", '2:5: machine "b1": it has no capacity; write capacity: {cpu: 16, memory'),
        ("{capacity: {cpu: 1}}", "2:5: machine: it has no name; write name: a01, or name:"),
        ("{name: [b1], capacity: {cpu: 1}}", "2:12: machine, name: a list stands where a text"),
        ("{name: , capacity: {cpu: 1}}", "2:12: machine, name: there is no value"),
        ('{name: "", capacity: {cpu: 1}}', "2:12: machine: a name cannot be empty"),
        ("{name: b1, capacity: {cpu:1}}", "no value; write a space after the colon: cpu: 1"),
        (
            '{name: b1, capacity: {memory: "1,5"}}',
            '"1,5" is not a quantity; write 1.5 with a point',
        ),
        ("{name: b1, capacity: 4}", "should; write capacity: {cpu: 16, memory: 64GiB}"),
        (
            "{name: b1, capacity: {cpu: {n: 4}}}",
            "should; write one amount, as in capacity: {cpu: 1",
        ),
        ("{name: b1, capacity: {}, count: 4}", 'write a range of names instead, as in name: "a['),
        ("b1", "should; write {name: a01, capacity: {cpu: 16, memory: 64GiB}}"),
        ("{name: b c, capacity: {cpu: 1}}", '2:12: machine "b c", name: a name of a machine holds'),
        ('{name: "b[2-1]", capacity: {}}', '2:12: machine "b[2-1]", name: the range 2-1 runs'),
        ('{name: "b[1,1]", capacity: {}}', '2:12: machine "b[1,1]", name: the range names a'),
        ("{name: a1, capacity: {}}", '2:12: there is a machine "a1" already, at f.yaml:1:19'),
        ('{name: "a[1-9]", capacity: {}}', '2:12: there is a machine "a1" already'),
        ("{name: b1, capacity: 5}", '2:26: machine "b1", capacity: "5" stands where keys with'),
        ("{name: b1, capacity: [cpu]}", "capacity: a list stands where keys with values should"),
        ("{name: b1, capacity: {cpu: }}", '2:32: machine "b1", capacity, cpu: there is no value'),
        ("{name: b1, capacity: {cpu: null}}", "capacity, cpu: there is no value; write one, or"),
        ("{name: b1, capacity: {cpu: [1]}}", "capacity, cpu: a list stands where a text or number"),
        ("{name: b1, capacity: {cpu: -1}}", '2:32: machine "b1", capacity, cpu: -1 is negative'),
        ("{name: b1, capacity: {cpu: 4 G}}", '2:32: machine "b1", capacity, cpu: "4 G" is not a'),
        ("{name: b1, capacity: {cpu: .inf}}", '".inf" is not a quantity; write a finite number'),
        ("{name: b1, capacity: {cpu: 1e999999999}}", '"1e999999999" is too large'),
        ("{name: b1, capacity: {cpu: !x 1}}", "'!x' is a tag in YAML, and tags mean nothing here"),
        ("{name: b1, capacity: {cpu: 1, cpu: 2}}", '2:35: machine "b1", capacity: the key "cpu"'),
        ("{name: b1, name: b2, capacity: {}}", '2:16: machine "b1": the key "name" is written tw'),
        ("{name: b1, capacity: {}, label: {}}", '2:30: machine "b1": unknown key "label"; did you'),
        ("{name: b1, capacity: {}, labels: {x: }}", 'machine "b1", labels, x: there is no value'),
        ("&m {name: b1, capacity: {}, <<: *m}", "a mapping is merged into itself"),
        ("{name: b1, capacity: {}, <<: 5}", '2:34: machine "b1": "5" stands where keys with valu'),
    ],
)
def test_a_mistaken_machine_has_its_place(entry: str, sentence: str) -> None:
    text = f"machines: [{{name: a1, capacity: {{cpu: 1}}}},\n    {entry} ]"
    assert_among(sentence, mistakes(text))


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("tasks: 1.5", '4:12: job "j", tasks: 1.5 is not a number of tasks'),
        ("tasks: many", '4:12: job "j", tasks: "many" is not a number of tasks; write a positive'),
        ("tasks: unlimited", "write a positive whole number, or leave it out for no limit"),
        ("where: a b", '4:12: job "j", where: the constraint does not parse: b comes where a req'),
        ("where: !x", "4:12: job \"j\", where: '!x' is a tag in YAML, and tags mean nothing here;"),
        ("where: [a]", '4:12: job "j", where: a list stands where a text or number should'),
        ("spread: yes", '4:13: job "j", spread: "yes" is neither true nor false; write true or'),
        ('spread: "true"', 'spread: "true" is neither true nor false; write true or false without'),
        ("spread: ~", "spread: nothing is neither true nor false"),
        ("machines: []", '4:15: job "j", machines: the list of machines is empty'),
        ('machines: [a1, "a["]', '4:20: job "j", machines: a number is missing in brackets'),
        ("machines: [a1, [a2]]", '4:20: job "j", machines: a list stands where a text or number'),
        ('machines: [a1, "z[1-2]"]', '4:20: job "j", machines, z1: there is no machine "z[1-2]"'),
        ("exclude: a2", '4:14: job "j", exclude, a2: there is no machine "a2"; write names'),
        ("prefer: a", '4:13: job "j", prefer: nothing says how long to wait for what is preferred'),
        ("prefer_for: 30", '4:17: job "j", prefer_for: "30" is not a duration; write the unit'),
        ("tenant: t", '4:13: job "j", tenant: there is no tenant "t"'),
        ("demand: {cpu: 1}", '4:5: job "j": the key "demand" is written twice; write it once: the'),
        ("request: {cpu: 1}", 'unknown key "request"; did you mean "demand"?'),
        (
            "depends_on: [a]",
            'unknown key "depends_on"; jobs do not wait for others: submit this one',
        ),
        ("array: 0-9", 'unknown key "array"; an array is a job of several tasks, as in tasks: 10'),
        ("partition: p", 'unknown key "partition"; a partition is a label of machines, as in labe'),
        ("deadline: 5h", "jobs have no times to begin or to end by: whoever has less than is"),
        ("preemptible: true", "with rerunnable: false they run to their ends"),
        ("Priority: 3", 'unknown key "Priority"; there are no priorities: a tenant gets by its'),
        (
            "colour: red",
            '4:5: job "j": unknown key "colour"; keys here are name, tenant, demand',
        ),
        ("needs: {cpu: 1}", '4:5: job "j": unknown key "needs"; did you mean "demand"?'),
        ("nodeSelector: a", '4:5: job "j": unknown key "nodeSelector"; did you mean "where"?'),
        ("replicas: 4", '4:5: job "j": unknown key "replicas"; did you mean "tasks"?'),
        ("weight: 4", "weights: declare one under tenants:, and name it by tenant:"),
        ("tenant: [a]", '4:13: job "j", tenant: a list stands where a text or number should'),
        (
            "machines: {a: 1}",
            'a mapping stands where a list should; write machines: ["a[01-25]", b7]',
        ),
    ],
)
def test_a_mistaken_job_has_its_place(field: str, sentence: str) -> None:
    text = with_machines(
        f"tenants: [{{name: u}}]\njobs: [{{name: j, demand: {{cpu: 1}},\n    {field} }}]"
    )
    assert_among(sentence, mistakes(text))


def test_a_message_shows_what_would_move_the_cursor() -> None:
    text = with_machines('jobs: [{name: "a\\e[31mb\\nc", demand: {cpu: 1}}]')
    (found,) = mistakes(text)
    assert found.startswith('f.yaml:2:15: job "a\\x1b[31mb\\nc": the name')
    assert found.isprintable()


def test_mistakes_between_things_have_their_places() -> None:
    text = """\
machines:
  - {name: a1, capacity: {cpu: 4}, labels: {kernel: 5.15}}
tenants:
  - {name: t, pool: [a1], limit: {gpu: 1}}
  - {name: u, parent: v}
  - {name: w}
devices: [cpu, gpu]
jobs:
  - {name: t, demand: {cpu: 1}, where: kernel > 5}
  - name: j
    demand: {cpu: 1}
    tenant: x
    exclude: [a1, "b[1-2]"]
"""
    found = mistakes(text)
    assert [each.split(": ")[0] for each in found] == [
        "f.yaml:2:53",
        "f.yaml:4:40",
        "f.yaml:5:23",
        "f.yaml:6:5",
        "f.yaml:7:16",
        "f.yaml:9:5",
        "f.yaml:9:5",
        "f.yaml:12:13",
        "f.yaml:13:19",
    ]


def test_the_mistakes_of_all_files_are_reported_in_the_order_of_places() -> None:
    bad_machine = "machines:\n  - {name: a1, capacity: {cpu: x}}\n  - {name: a2}\n"
    assert [each.split(": ")[0] for each in mistakes(bad_machine, "a: [", "jobs: 5")] == [
        "f.yaml:2:32",
        "f.yaml:3:5",
        "g.yaml:2:1",
        "h.yaml:1:7",
    ]


def test_one_mistake_does_not_hide_another_in_the_same_entry() -> None:
    text = with_machines(
        "tenants: [{name: u}]\njobs:\n  - {name: j, tenant: t, demand: {cpu: x}, tasks: 0,"
        " spred: true, machines: [a9], prefer: [], prefer_for: 5s}\n"
    )
    found = "\n".join(mistakes(text))
    for part in (
        "tenant: there is no",
        "cpu:",
        "tasks:",
        "spred",
        "machines, a9",
        "prefer: a list",
    ):
        assert part in found
    assert "nothing says" not in found


def test_what_is_mistaken_is_not_called_missing() -> None:
    text = """\
machines:
  - {name: "a[1-2]", capacity: {cpu: x}}
tenants:
  - {name: t, weight: 0, limit: {gpu: 1}}
jobs:
  - {name: j, tenant: t, demand: {cpu: 1}, machines: [a1]}
"""
    assert [each.split(": ")[0] for each in mistakes(text)] == ["f.yaml:2:38", "f.yaml:4:23"]


def test_many_machines_are_refused_before_they_fill_the_memory() -> None:
    text = 'machines: [{name: "a[1-9999999]", capacity: {}}]'
    (sentence,) = mistakes(text)
    assert "means 9999999 names; use ranges of at most 1000000 names" in sentence


def test_lists_of_names_are_refused_before_they_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.model.reading.MOST_LISTED", 10)
    jobs = ", ".join(
        f'{{name: j{n}, demand: {{cpu: 1}}, exclude: "b[1-{n}]"}}' for n in range(4, 9)
    )
    found = mistakes(with_machines(f"jobs: [{jobs}]"))
    assert any("list more than 10 names together; choose machines by labels" in m for m in found)


def test_aliases_that_multiply_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.model.nodes.MOST_NODES", 1000)
    jobs = ", ".join(f"{{name: j{n}, demand: {{cpu: 1}}, machines: *p}}" for n in range(50))
    text = with_machines(
        f"tenants: [{{name: t, pool: &p [{', '.join(['a1'] * 50)}]}}]\njobs: [{jobs}]"
    )
    assert "with its aliases written out this is more than 1000 nodes" in mistakes(text)[0]


def test_merges_upon_merges_are_refused() -> None:
    steps = "".join(f"  - &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}\n" for n in range(1, 500))
    text = with_machines(f"x:\n  - &m0 {{name: j, demand: {{cpu: 1}}}}\n{steps}jobs: [*m499]")
    assert any("merged into itself, or over more than 50 steps" in m for m in mistakes(text))


def test_reading_leaves_the_garbage_collector_as_it_was() -> None:
    assert gc.isenabled()
    mistakes("")
    assert gc.isenabled()


WORDS = "machines jobs name capacity a[1-2] a1 cpu 1e99 -1 null yes - &a *a << ! !!str | > ? % @"
SIGNS = ["{", "}", "[", "]", ":", ": ", ",", " ", "  ", "\n", "\t", "'", '"', "#", "\\"]
ODD = ["---\n", "...\n", "\x85", "é", "😀", "\x00", "\ufeff"]
PIECES = st.sampled_from([*WORDS.split(), *SIGNS, *ODD])


@given(st.one_of(st.lists(PIECES, max_size=30).map("".join), st.text(max_size=60)))
def test_no_text_does_worse_than_being_refused(text: str) -> None:
    try:
        cluster, _ = read([("f.yaml", text)])
    except InputError as error:
        assert error.mistakes  # noqa: PT017  what is raised is what is tested
        assert all(mistake.place for mistake in error.mistakes)  # noqa: PT017
    else:
        assert cluster.machines


@given(
    st.lists(
        st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 12), PIECES), min_size=1, max_size=4
    )
)
def test_no_slip_in_a_file_does_worse_than_being_refused(
    slips: list[tuple[int, int, str]],
) -> None:
    text = WHOLE
    for at, length, piece in slips:
        text = text[:at] + piece + text[at + length :]
    try:
        cluster, _ = read([("f.yaml", text)])
    except InputError as error:
        assert all(mistake.place for mistake in error.mistakes)  # noqa: PT017
    else:
        assert cluster.machines
