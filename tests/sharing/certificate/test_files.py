"""A proof is written to a file so that nothing is lost, and read from one with distrust."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from importlib.resources import files
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import CertificateError, InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.proof import Proof
from fairlead.model.shares import Certificate
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.certificate import proof_from_json, verify
from tests.reference.instances import EVERYTHING, instance

Tree = dict[str, Any]


def rich() -> tuple[Cluster, tuple[Job, ...]]:
    """Something of everything that a proof can hold."""
    machines = [
        *(Machine(f"a{i:02}", {"cpu": 8, "gpu": 2}) for i in range(12)),
        *(Machine(f"b{i}", {"cpu": 16}) for i in range(3)),
    ]
    names = [machine.name for machine in machines]
    tenants = [
        Tenant("x", pool=names[:6], limit={"gpu": 5}),
        Tenant("y", pool=names[6:]),
    ]
    jobs = (
        Job("x1", {"cpu": 1, "gpu": 1}, tenant="x"),
        Job("x2", {"cpu": 3}, tenant="x", tasks=4),
        Job("y1", {"cpu": 2}, tenant="y", exclude=["b1"]),
        Job("yé", {"cpu": 7}, tenant="y", spread=True),
    )
    return Cluster(machines, tenants), jobs


def proof_of(cluster: Cluster, jobs: tuple[Job, ...], policy: str = "tsf") -> Proof:
    proof = allocate(cluster, jobs, policy).proof
    assert proof is not None
    return proof


def sorted_classes(proof: Proof) -> Proof:
    """The same with the machines of every class in one order."""
    classes = tuple(replace(c, machines=tuple(sorted(c.machines))) for c in proof.classes)
    pools = tuple(
        replace(
            pool,
            classes=tuple(replace(c, machines=tuple(sorted(c.machines))) for c in pool.classes),
        )
        for pool in proof.pools
    )
    return replace(proof, classes=classes, pools=pools)


@pytest.fixture(scope="module")
def schema() -> Tree:
    text = files("fairlead.model").joinpath("schemas/proof-2.json").read_text(encoding="utf-8")
    tree: Tree = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(tree)
    return tree


@pytest.mark.parametrize("policy", ["tsf", "drf", "per-machine-drf", "kdf(1, cpu=2)"])
def test_a_file_holds_all_of_a_proof(policy: str, schema: Tree) -> None:
    cluster, jobs = rich()
    proof = proof_of(cluster, jobs, policy)
    text = proof.to_json()
    jsonschema.validate(json.loads(text), schema)
    assert sorted_classes(proof_from_json(text)) == sorted_classes(proof)
    assert proof_from_json(text).to_json() == text
    assert verify(cluster, jobs, text) == verify(cluster, jobs, proof)


def test_files_of_random_proofs_are_valid_and_hold(schema: Tree, cases: int) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    for seed in range(12 * cases):
        cluster, jobs = instance(Random(seed), EVERYTHING)
        text = proof_of(cluster, jobs).to_json()
        validator.validate(json.loads(text))
        assert isinstance(verify(cluster, jobs, text), Certificate)


def test_machines_are_written_as_ranges() -> None:
    text = proof_of(*rich()).to_json()
    assert '"machines": ["a[00-11]"], "count": 12' in text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "a mapping belongs here"),
        ("{}", '"schema" is missing'),
        ('{"schema": 1, "schema": 2}', '"schema" is there twice'),
        ('{"a": NaN}', "NaN is not a number"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 10_000, "too long"),
    ],
)
def test_what_is_no_proof_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        verify(*rich(), text, "my.json")
    assert "my.json" in str(caught.value)
    assert len(caught.value.mistakes) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": "fairlead.proof/3"}, 'this is "fairlead.proof/3"'),
        ({"schema": "fairlead.proof/1"}, "write it again with this version"),
        ({"policy": None}, "at policy: text belongs here"),
        ({"rounds": {}}, "at rounds: a list belongs here"),
        ({"rounds": [{}]}, r'at rounds\[0\]: "share" is missing'),
        ({"more": 1}, '"more" does not belong here'),
        ({"classes": [{"class": 0, "machines": ["a[1-"], "count": 1}]}, "at classes"),
        ({"classes": [{"class": 0, "machines": ["a[1-3]"], "count": 2}]}, "3 machines are named"),
        ({"classes": [{"class": -1, "machines": [], "count": 0}]}, "whole number"),
        ({"classes": [{"class": 0, "machines": ["a[1-999999]"] * 2, "count": 9}]}, "more than"),
        ({"scales": [{"job": "x1", "tasks": "-1"}]}, "a fraction such as"),
        ({"scales": [{"job": "x1", "tasks": "1/0"}]}, "a fraction such as"),
        ({"scales": [{"job": "x1", "tasks": "1" * 9000}]}, "a fraction such as"),
        ({"scales": [{"job": "x1", "tasks": True}]}, "text belongs here"),
        ({"tasks": [{"job": "x1", "tasks": -1}]}, "a number from 0"),
        ({"tasks": [{"job": "x1", "tasks": True}]}, "a number belongs here"),
        ({"tasks": [{"job": "x1", "tasks": 10**400}]}, "a number from 0"),
        ({"tasks": [{"job": "x1", "tasks": 2}] * 2}, "there twice"),
        ({"places": [{"jobs": ["x1"], "classes": ["a"]}]}, "whole number"),
        ({"full": [{"price": 1}]}, '"price" does not belong here'),
        ({"full": [{}]}, r"at full\[0\]: a class with a resource, a tenant with"),
        ({"full": [{"class": 1}]}, "a class with a resource, a tenant with"),
        ({"full": [{"class": 1, "resource": "a", "job": "x1"}]}, "a class with a resource"),
        ({"policy": ""}, "at policy: a name belongs here"),
        ({"view": "x"}, 'at view: "machines", "pooled", "each machine" belongs here'),
        (
            {
                "rounds": [
                    {
                        "share": 1,
                        "frozen": ["x1"],
                        "scarce": [],
                        "even": [{"jobs": ["x1"], "classes": [0]}] * 2,
                    }
                ]
            },
            r"at rounds\[0\].even: a job is there twice",
        ),
    ],
)
def test_what_is_wrong_in_a_proof_is_said_with_its_place(change: Tree, sentence: str) -> None:
    tree = json.loads(proof_of(*rich()).to_json())
    with pytest.raises(InputError, match=sentence):
        verify(*rich(), json.dumps(tree | change))


def test_a_proof_that_does_not_hold_is_refused_with_what_does_not() -> None:
    tree = json.loads(proof_of(*rich()).to_json())
    tree["rounds"][0]["share"] *= 0.9
    with pytest.raises(CertificateError, match=r"round 1: its share is .*, and its prices say"):
        verify(*rich(), json.dumps(tree))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def refused_or_right(text: str) -> None:
    """Whatever the text is, there is a certificate or one of two errors with a sentence."""
    sentence = ""
    try:
        sentence = str(verify(*rich(), text))
    except (InputError, CertificateError) as error:
        sentence = str(error)
    assert sentence


@given(VALUES | st.text())
def test_any_json_and_any_text_is_refused_in_order(value: object) -> None:
    refused_or_right(json.dumps(value))
    refused_or_right(value if isinstance(value, str) else repr(value))


WHOLE = json.loads(proof_of(*rich()).to_json())
OTHER = json.loads(proof_of(*rich(), "per-machine-drf").to_json())


def spots(tree: object) -> list[tuple[Any, Any]]:
    """Every container in a tree with a key in it."""
    found: list[tuple[Any, Any]] = []
    if isinstance(tree, dict):
        found += [(tree, key) for key in tree]
    elif isinstance(tree, list):
        found += [(tree, index) for index in range(len(tree))]
    for container, key in list(found):
        found += spots(container[key])
    return found


@given(st.data())
def test_a_proof_with_anything_put_anywhere_is_refused_in_order(data: st.DataObject) -> None:
    tree = copy.deepcopy(data.draw(st.sampled_from([WHOLE, OTHER])))
    names = ["x1", "yé", "x", "a01", "cpu", "tsf", "drf", "kdf(9)", "cmmf(zz)", "mine", "pooled"]
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(spots(tree)))
        value = st.sampled_from([*names, 0, 1, -1, 0.5, 1e-300, 1e299, 10**30]) | VALUES
        if data.draw(st.booleans()):
            container[key] = data.draw(value)
        elif isinstance(container, dict):
            container[data.draw(st.sampled_from([*container, *names]))] = container.pop(key)
        else:
            container.append(container[key])
    refused_or_right(json.dumps(tree))
