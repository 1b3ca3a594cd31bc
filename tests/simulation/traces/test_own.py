"""The project's own format gives back what was written, and refuses what does not fit together."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.errors import InputError, OutputError
from fairlead.model.machine import label_values
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.simulation.traces.build import in_batches
from fairlead.simulation.traces.own.form import Form
from fairlead.simulation.traces.own.writing import write
from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import JobBatch, MachineTable, Resource, Words, Workload
from tests.simulation.traces.same import assert_same, jobs_of

FORMS = pytest.mark.parametrize("form", Form, ids=lambda form: form.value)

NAMES = st.text("ab ,\"'é;#", min_size=1, max_size=4)
LABELS: st.SearchStrategy[str | int | float | Decimal] = st.one_of(
    st.text("ab1 ,\"'\\é", max_size=3), st.sampled_from([Decimal("5.10"), 7])
)
WORDS = st.text("ab1 ,\"'()=!é", min_size=1, max_size=4)


@st.composite
def some_terms(draw: st.DrawFn) -> list[Term]:
    """Distinct terms of every kind, sometimes more than a word has bits."""
    found: list[Term] = draw(
        st.lists(
            st.one_of(
                st.builds(
                    Requirement,
                    WORDS,
                    st.sampled_from([Operator.EQUAL, Operator.NOT_EQUAL]),
                    WORDS.map(lambda word: (word,)),
                ),
                st.builds(Requirement, WORDS, st.just(Operator.IN), st.lists(WORDS, min_size=1)),
                st.builds(Requirement, WORDS, st.just(Operator.EXISTS)),
                st.builds(Listed, st.frozensets(st.sampled_from(["m0", "m1", "m2"]))),
                st.builds(NotListed, st.frozensets(st.sampled_from(["m0", "m1", "m2"]))),
            ),
            max_size=4,
            unique=True,
        )
    )
    if draw(st.booleans()):
        found += [Requirement("k", Operator.EQUAL, (str(number),)) for number in range(70)]
    return list(dict.fromkeys(found))


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Small ones with everything that the format can hold."""
    resources = draw(st.sampled_from([0, 1, 3]))
    count, jobs = draw(st.integers(0, 3)), draw(st.integers(0, 6))
    draws = np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32))))
    terms = draw(some_terms())
    tenants = draw(st.lists(NAMES.map(lambda text: f"t{text}t"), max_size=3, unique=True))
    events = int(draws.integers(0, 5)) if count else 0
    tasks = draws.integers(1, 4, jobs)
    given_durations = np.where(draws.integers(0, 2, jobs) == 1, tasks, 1)
    labels: st.SearchStrategy[Mapping[str, str | int | float | Decimal]] = st.dictionaries(
        WORDS.map(lambda word: f"k{word}k"), LABELS, max_size=2
    )
    some = draw(st.booleans())
    whole = JobBatch(
        names=tuple(f"{draw(NAMES)}{row}" for row in range(jobs)) if draw(st.booleans()) else None,
        submit=np.sort(draws.integers(0, 5, jobs)),
        tenant=draws.integers(-1, len(tenants), jobs),
        demand=draws.integers(0, 2**50, (jobs, resources)),
        tasks=tasks,
        needs=_bits(draws, jobs, len(terms)),
        spread=draws.integers(0, 2, jobs) == 1,
        gang=draws.integers(1, 4, jobs),
        durations=draws.integers(0, 2**40, int(given_durations.sum())),
        first=np.concatenate(([0], np.cumsum(given_durations))),
        prefers=_bits(draws, jobs, len(terms)) if some else None,
        patience=draws.integers(0, 9, jobs) if some else None,
        expected=draws.integers(0, 3, jobs) if some else None,
    )
    pieces = (0, 500, 0)
    return Workload(
        name=draw(NAMES),
        resources=tuple(
            Resource(f"r{place}", Fraction(1, 3 + place), pieces[place])
            for place in range(resources)
        ),
        machines=MachineTable(
            names=tuple(f"m{place}" for place in range(count)),
            labels=tuple(label_values(draw(labels)) for _ in range(count)),
            time=np.sort(draws.integers(0, 9, events)),
            machine=draws.integers(0, max(1, count), events),
            kind=draws.integers(0, 3, events),
            capacity=draws.integers(0, 2**50, (events, resources)),
        ),
        tenants=tuple(map(Tenant, tenants)),
        terms=tuple(terms),
        batches=in_batches(whole, draw(st.integers(1, 4))),
        notes=('a note, "quoted" – é',),
        options=FrozenMap({"seed": "0"}),
    )


def _bits(draws: np.random.Generator, jobs: int, terms: int) -> Words:
    """Some of the terms for each job."""
    table = np.zeros((jobs, -(-terms // 64)), dtype=np.uint64)
    for number in range(terms):
        chosen = draws.integers(0, 4, jobs) == 0
        table[chosen, number // 64] |= np.uint64(1 << (number % 64))
    return table


@FORMS
@given(workload=workloads())
def test_what_was_written_is_read_back(form: Form, workload: Workload) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "trace"
        write(workload, directory, form)
        back = load([directory])
        assert_same(workload, back)
        assert (back.jobs, back.tasks) == (
            len(jobs_of(workload)),
            sum(job["tasks"] for job in jobs_of(workload)),
        )
        assert [path.name for path in Path(folder).iterdir()] == ["trace"]


@FORMS
def test_tenants_keep_what_they_have(form: Form, tmp_path: Path) -> None:
    tenants = (
        Tenant("all"),
        Tenant("a", weight="1/3", parent="all", limit={"cpu": "2.5"}),
        Tenant("b", pool=["m[0-2]"], parent="all"),
    )
    workload = tiny(tenants=tenants)
    write(workload, tmp_path / "out", form)
    assert load([tmp_path / "out"]).tenants == tenants


TABLES = ("jobs", "machine_events", "machines", "tasks", "terms")


def tiny(tenants: tuple[Tenant, ...] = ()) -> Workload:
    """One machine, three jobs with four tasks; its batches add terms."""
    one = np.ones(3, dtype=np.int64)
    batch = JobBatch(
        names=("x", "y", "z"),
        submit=np.arange(3, dtype=np.int64),
        tenant=-one,
        demand=one[:, None],
        tasks=np.array([2, 1, 1]),
        needs=np.array([[1], [2], [3]], dtype=np.uint64),
        spread=one == 0,
        gang=one,
        durations=np.array([5, 6, 7, 8]),
        first=np.array([0, 2, 3, 4]),
        terms=(Requirement("zone", Operator.EQUAL, ("east",)),),
    )
    return Workload(
        name="tiny",
        resources=(Resource("cpu", Fraction(1)),),
        machines=MachineTable(
            ("m0",), (label_values({}),), one[:1] * 0, one[:1] * 0, one[:1] * 0, one[:1, None]
        ),
        tenants=tenants,
        terms=(Requirement("gpu", Operator.EXISTS),),
        batches=in_batches(batch, 2),
    )


@FORMS
def test_terms_that_batches_add_are_kept(form: Form, tmp_path: Path) -> None:
    workload = tiny()
    write(workload, tmp_path / "out", form)
    back = load([tmp_path / "out"])
    assert [str(term) for term in back.terms] == ["gpu", "zone = east"]
    assert jobs_of(back) == jobs_of(workload)


@FORMS
def test_the_same_workload_gives_the_same_bytes(form: Form, tmp_path: Path) -> None:
    write(tiny(), tmp_path / "a", form)
    write(tiny(), tmp_path / "b", form)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [
        *(f"{table}.{form.value}" for table in TABLES),
        "trace.json",
    ]  # fmt: skip
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_parquet_files_carry_the_schema(tmp_path: Path) -> None:
    write(tiny(), tmp_path / "out", Form.PARQUET)
    for file in (tmp_path / "out").glob("*.parquet"):
        assert pq.read_schema(file).metadata[b"fairlead.schema"] == b"fairlead.trace/1"


def test_a_directory_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="is already there"):
        write(tiny(), tmp_path / "out", Form.CSV)
    assert [*(tmp_path / "out").iterdir()] == []


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[JobBatch]:
        yield from tiny().batches()
        raise KeyboardInterrupt

    workload = Workload(**{**vars(tiny()), "batches": broken})
    with pytest.raises(KeyboardInterrupt):
        write(workload, tmp_path / "out", Form.CSV)
    assert [*tmp_path.iterdir()] == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        write(tiny(), tmp_path / "file" / "out", Form.CSV)


EVENTS = "time_us,machine,event,capacity_cpu\n"
JOBS = "name,submit_us,tenant,tasks,demand_cpu,needs,prefers,patience_us,spread,gang,expected_us\n"


@pytest.mark.parametrize(
    ("table", "text", "sentence"),
    [
        ("tasks", "job,duration_us\n0,5\n0,5\n0,5\n1,1\n2,1\n", "3 durations of job 0, which"),
        ("tasks", "job,duration_us\n0,5\n2,1\n", "0 durations of job 1, which has 1 tasks"),
        ("tasks", "job,duration_us\n0,5\n1,5\n2,5\n3,5\n", "of job 3; the last job is 2"),
        ("tasks", "job,duration_us\n1,5\n0,5\n2,5\n", "not in the order of the jobs"),
        ("tasks", "job,duration_us\n0,x\n", "tasks.csv:2:3: duration_us is 'x'"),
        ("tasks", "job\n0\n", "tasks.csv:1:1: the column duration_us is missing"),
        ("jobs", JOBS + "x,0,who,1,1,,,,false,1,\n", "row 1: the tenant 'who' is not in"),
        ("jobs", JOBS + "x,9,,2,1,,,,false,1,\ny,8,,1,1,,,,false,1,\n", "row 2: it is submitted"),
        ("jobs", JOBS + "x,9,,2,1,0 2,,,false,1,\n", "a term that is not there: 2"),
        ("jobs", JOBS + "x,9,,2,1,0  1,,,false,1,\n", "needs names a term that is not there"),
        ("jobs", JOBS + "x,9,,2,1,,,,no,1,\n", "jobs.csv:2:13: spread is 'no'"),
        ("jobs", JOBS + "x,9,,0,1,,,,false,1,\n", "row 1: tasks is 0; write 1 or more"),
        ("jobs", JOBS + "x,9,,2,1,,,,false,1,\n,9,,1,1,,,,false,1,\n", "row 2: it has no name"),
        ("terms", "term,kind,text\n0,where,a\n0,where,b\n", "not numbered 0, 1, 2"),
        ("terms", "term,kind,text\n0,where,a\n1,where,a\n", "a term is there twice"),
        ("terms", "term,kind,text\n0,what,a\n", "row 1: 'what' is no kind of term"),
        ("terms", 'term,kind,text\n0,where,"a, b"\n', "holds 2 requirements"),
        ("terms", "term,kind,text\n0,where,a b\n", "row 1: the constraint does not parse"),
        ("machines", "machine,labels\nm0,{}\nm0,{}\n", "a machine is listed twice"),
        ("machines", "machine,labels\nm0,x\n", "the labels 'x' are no JSON"),
        ("machines", "machine,labels\nm0,[]\n", "are no names with values"),
        ("machine_events", EVENTS + "0,m1,add,1\n", "'m1' is not listed"),
        ("machine_events", EVENTS + "0,m0,join,1\n", "'join' is no event"),
        (
            "machine_events",
            EVENTS + "5,m0,add,1\n4,m0,remove,0\n",
            "row 2: its time is before the row above",
        ),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_together_are_refused(
    table: str, text: str, sentence: str, tmp_path: Path
) -> None:
    write(tiny(), tmp_path / "out", Form.CSV)
    (tmp_path / "out" / f"{table}.csv").write_text(text)
    with pytest.raises(InputError) as error:
        jobs_of(load([tmp_path / "out"]))
    assert sentence in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "out" / f"{table}.csv"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": "fairlead.trace/2"}, "has the schema 'fairlead.trace/2', not"),
        ({"tables": "xlsx"}, 'tables is missing or wrong; write "parquet" or "csv"'),
        ({"resources": [{"name": "cpu", "unit": "0"}]}, "the unit of cpu is missing or wrong"),
        ({"resources": [{"name": "cpu", "unit": "1"}] * 2}, "write each resource once"),
        ({"tenants": [{"name": "a", "wait": 1}]}, "tenants is missing or wrong"),
        ({"tenants": [{"name": "a", "weight": "-1"}]}, "-1 is not positive"),
        ({"jobs": "many"}, "jobs is missing or wrong"),
        ({"notes": [1]}, "notes is missing or wrong"),
        ({"options": {"a": 1}}, "options is missing or wrong"),
    ],
)
def test_a_wrong_description_is_refused(
    change: Mapping[str, object], sentence: str, tmp_path: Path
) -> None:
    write(tiny(), tmp_path / "out", Form.CSV)
    file = tmp_path / "out" / "trace.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(InputError) as error:
        load([file])
    assert sentence in str(error.value)
    assert str(file) in str(error.value)


def test_a_description_that_is_no_json_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text('{\n "schema": }')
    with pytest.raises(InputError, match=r"trace.json:2:12: this is not JSON"):
        load([tmp_path])


def test_a_parquet_table_with_another_type_is_refused(tmp_path: Path) -> None:
    write(tiny(), tmp_path / "out", Form.PARQUET)
    file = tmp_path / "out" / "tasks.parquet"
    table = pq.read_table(file)
    pq.write_table(table.rename_columns(["job", "duration_s"]), file)
    with pytest.raises(InputError, match="the column duration_us is missing"):
        jobs_of(load([tmp_path / "out"]))
    pq.write_table(table.set_column(1, "duration_us", [["a", "b", "c", "d"]]), file)
    with pytest.raises(InputError, match="duration_us holds what is not a whole number"):
        jobs_of(load([tmp_path / "out"]))
    file.write_bytes(b"no table")
    with pytest.raises(InputError, match=r"tasks\.parquet cannot be read"):
        jobs_of(load([tmp_path / "out"]))


def test_options_of_the_own_format_are_refused(tmp_path: Path) -> None:
    write(tiny(), tmp_path / "out", Form.CSV)
    with pytest.raises(InputError, match="the format fairlead has no option 'hours'; it has none"):
        load([tmp_path / "out"], options={"hours": "1"})
    with pytest.raises(InputError, match="one directory; give it alone"):
        load([tmp_path / "out", tmp_path / "out"])
