"""Policies as users write them: the grammar, the hints, and policies of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules import registry
from fairlead.sharing.rules.mechanism import Mechanism, Outcome
from fairlead.sharing.rules.registry import (
    describe,
    mechanism,
    mechanism_names,
    parse,
    policy,
    policy_names,
)
from fairlead.sharing.rules.spec import split
from tests.sharing.build import build

TWO = build([[1, 1], [2, 1]], [[4, 4]])


@pytest.fixture
def registered() -> Iterator[None]:
    """A test's policies are forgotten after it; those that are built in stay."""
    yield
    everybodys = registry._everybodys  # noqa: SLF001  there is no other way to forget
    for name in set(everybodys) - set(registry.BUILT_IN):
        del everybodys[name]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("tsf", "tsf"),
        (" tsf ", "tsf"),
        ("tsf()", "tsf"),
        ("cmmf(memory)", "cmmf(memory)"),
        ("cmmf(resource=memory)", "cmmf(memory)"),
        ("cmmf( resource = memory )", "cmmf(memory)"),
        ("cmmf:memory", "cmmf(memory)"),
        ("cmmf(nvidia.com/gpu)", "cmmf(nvidia.com/gpu)"),
        ('cmmf("a, b")', 'cmmf("a, b")'),
        ("kdf(3)", "kdf(k=3)"),
        ("kdf(gpu=2,k=3)", "kdf(k=3, gpu=2)"),
        ("kdf(k=3, gpu=2.50, cpu=500m)", "kdf(k=3, cpu=0.5, gpu=2.5)"),
        ("kdf(k=2, pooled=true)", "kdf(k=2, pooled=true)"),
        ("2df", "2df"),
        ("2df(gpu=2, pooled=false)", "2df(gpu=2)"),
        ("asset(pooled=true)", "asset(pooled=true)"),
    ],
)
def test_a_spec_has_one_canonical_form_that_reads_as_itself(text: str, spec: str) -> None:
    assert parse(text).spec == spec
    assert parse(spec).spec == spec


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tfs", "no policy `tfs`; did you mean `tsf`?"),
        ("TSF", "no policy `TSF`; did you mean `tsf`?"),
        ("fastest-first", "no policy `fastest-first`; there are 2df, asset, cdrf, cmmf, drf,"),
        ("most-task", "did you mean `most-tasks`?"),
        ("kdf(k=2", "`kdf(k=2` is not how a policy is written; write a name such as tsf"),
        ("kdf(k=2))", "is not how a policy is written"),
        ("kdf(k==2)", "is not how a policy is written"),
        ("", "a policy has no name; write a name such as tsf"),
        ("tsf(1)", "`tsf` has no parameter for `1`; write tsf"),
        ("tsf(pooled=true)", "`tsf` has no parameter for `pooled`"),
        ("cmmf", "`cmmf` needs `resource`; write cmmf(RESOURCE)"),
        ("cmmf(cpu, memory)", "`cmmf` has no parameter for `memory`; write cmmf(RESOURCE)"),
        ("cmmf(cpu, resource=cpu)", "`cmmf` is given `resource` twice"),
        ("kdf", "`kdf` needs `k`; write kdf(k=K, pooled=false, NAME=WEIGHT)"),
        ("kdf(k=2.5)", "`kdf` is given `k=2.5`; `k` must be a whole number"),
        ("kdf(k=2, gpu=much)", "`kdf` is given `gpu=much`; `gpu` must be a number"),
        ("kdf(k=2, pooled=yes)", "`pooled` must be true or false"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_would_be_right(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse(text)
    assert sentence in str(refusal.value)


def test_pooled_changes_what_the_policy_looks_at() -> None:
    views = {text: parse(text) for text in ("asset", "asset(pooled=true)", "drf", "drfh")}
    assert {text: found.view for text, found in views.items() if isinstance(found, Policy)} == {
        "asset": View.MACHINES,
        "asset(pooled=true)": View.POOLED,
        "drf": View.POOLED,
        "drfh": View.MACHINES,
    }


def test_names_are_those_of_the_papers_in_order() -> None:
    assert policy_names()[:9] == (
        "tsf",
        "cdrf",
        "drfh",
        "drf",
        "per-machine-drf",
        "cmmf",
        "asset",
        "kdf",
        "2df",
    )
    assert mechanism_names()[:5] == ("independent", "market", "most-tasks", "ps-dsf", "slots")


def test_a_policy_is_described_by_how_it_is_written_and_what_it_makes_equal() -> None:
    assert describe("kdf") == (
        "kdf(k=K, pooled=false, NAME=WEIGHT)",
        "1 / the product of the k largest shares of a task, each times its resource's weight.",
    )
    assert describe("cmmf")[0] == "cmmf(RESOURCE)"


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_every_description_is_one_sentence(name: str) -> None:
    sentence = describe(name)[1]
    assert sentence.endswith(".")
    assert len(sentence) <= 160


def test_a_list_of_policies_parts_at_commas_outside_of_brackets() -> None:
    assert split("tsf, kdf(k=3, gpu=2),drf") == ("tsf", "kdf(k=3, gpu=2)", "drf")


@pytest.mark.usefixtures("registered")
def test_a_decorated_function_is_found_with_its_parameters() -> None:
    @policy("first-resource", poolable=True)
    def first_resource(problem: Problem, factor: float = 1, *, label: str) -> Floats:
        assert label == "a b"
        scale: Floats = factor / problem.demand[:, 0]
        return scale

    found = parse("first-resource(label=a b, factor=2)")
    assert isinstance(found, Policy)
    assert found.spec == "first-resource(factor=2, label=a b)"
    assert found.scale(TWO) == pytest.approx([2, 1])
    assert "first-resource" in policy_names()
    assert first_resource(TWO, label="a b") == pytest.approx([1, 0.5])


@pytest.mark.usefixtures("registered")
def test_a_decorated_mechanism_is_found() -> None:
    @mechanism("nothing")
    def nothing(problem: Problem, weight: Floats) -> Outcome:
        return Outcome(problem.holds * 0 * weight.sum())

    found = parse("nothing")
    assert isinstance(found, Mechanism)
    assert not found.allocate(TWO, np.ones(2)).tasks.any()
    assert "nothing" in mechanism_names()


def test_a_built_in_name_cannot_be_taken() -> None:
    with pytest.raises(InputError, match="`tsf` is a built-in name; choose another one"):
        policy("tsf")(lambda problem: problem.alone)
    assert parse("tsf").scale(TWO) == pytest.approx([4, 2])  # type: ignore[union-attr]  # a policy


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("scale", "sentence"),
    [
        ([1.0, 0.0], "gives it the scale 0; a scale must be a positive finite number"),
        ([1.0, -1.0], "gives it the scale -1"),
        ([np.inf, 1.0], "gives it the scale inf"),
        ([np.nan, 1.0], "gives it the scale nan"),
        ([1.0], "gives a scale of shape (1,); it must be one number for each job, (2,)"),
    ],
)
def test_a_scale_that_is_none_is_refused_with_the_jobs_name(
    scale: list[float], sentence: str
) -> None:
    policy("own")(lambda _problem: np.array(scale))
    found = parse("own")
    assert isinstance(found, Policy)
    with pytest.raises(InputError) as refusal:
        found.scale(TWO)
    assert sentence in str(refusal.value)


@pytest.mark.usefixtures("registered")
def test_what_a_policy_says_of_a_job_that_can_run_nowhere_does_not_matter() -> None:
    policy("own")(lambda _problem: np.array([1.0, np.nan]))
    found = parse("own")
    assert isinstance(found, Policy)
    problem = build([[1, 1], [2, 1]], [[4, 4]], eligible=[[1], [0]])
    assert found.scale(problem).tolist() == [1, 0]


MINE = '''"""Policies of a test."""

import numpy as np

import fairlead


@fairlead.policy("tsf")
def same_name_as_built_in(problem, each: float = 1.0):
    return np.full(len(problem.job_names), each)
'''


def test_a_file_of_ones_own_is_loaded_by_its_path(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    found = parse(f"{mine}:tsf(each=3)")
    assert isinstance(found, Policy)
    assert found.spec == f"{mine}:tsf(each=3)"
    assert found.scale(TWO).tolist() == [3, 3]
    assert parse("tsf").scale(TWO) == pytest.approx([4, 2])  # type: ignore[union-attr]  # a policy


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (MINE, 'registers no policy `other`; it registers `tsf`; write @fairlead.policy("other")'),
        ("x = 1", "registers no policy `other`; it registers nothing"),
        ("x =", "cannot be loaded: SyntaxError"),
        ("1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        (None, "no such file: "),
    ],
)
def test_a_file_that_does_not_help_is_refused(
    tmp_path: Path, text: str | None, sentence: str
) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    with pytest.raises(InputError) as refusal:
        parse(f"{tmp_path / 'mine.py'}:other")
    assert sentence in str(refusal.value)


FAILING = """import math

import fairlead


@fairlead.policy("fails")
def fails(problem):
    return math.sqrt(-1)


@fairlead.policy("words")
def words(problem):
    return ["one"] * len(problem.job_names)


@fairlead.policy("nothing")
def takes_nothing():
    return 1
"""


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("fails", "failed: ValueError: "),
        ("fails", "mine.py, line 8"),
        ("words", "gives a scale that is not numbers"),
        ("nothing", "failed: TypeError: "),
    ],
)
def test_a_policy_of_ones_own_that_fails_is_its_writers_mistake(
    tmp_path: Path, name: str, sentence: str
) -> None:
    (tmp_path / "mine.py").write_text(FAILING)
    found = parse(f"{tmp_path / 'mine.py'}:{name}")
    assert isinstance(found, Policy)
    with pytest.raises(InputError) as refusal:
        found.scale(TWO)
    assert sentence in str(refusal.value)


@pytest.mark.usefixtures("registered")
def test_an_installed_packages_entry_point_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_policies.py").write_text(MINE.replace('"tsf"', '"theirs"'))
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[fairlead.policies]\ntheirs = their_policies\nforgotten = their_policies\n"
        "gone = no_such_module\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        found = parse("theirs(each=2)")
        assert isinstance(found, Policy)
        assert found.scale(TWO).tolist() == [2, 2]
        with pytest.raises(InputError, match="registers no `forgotten`"):
            parse("forgotten")
        with pytest.raises(InputError, match=r"`gone` .* cannot be loaded: ModuleNotFoundError"):
            parse("gone")
        with pytest.raises(InputError, match="did you mean `theirs`"):
            parse("their")
    finally:
        sys.modules.pop("their_policies", None)


def test_built_in_names_do_not_look_for_installed_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[SimpleNamespace] = []
    monkeypatch.setattr(metadata, "entry_points", lambda **group: asked.append(group))
    for name in registry.BUILT_IN:
        parse({"cmmf": "cmmf(cpu)", "kdf": "kdf(k=2)", "slots": "slots(cpu=1)"}.get(name, name))
    assert asked == []
