"""Random values of the model: small, odd and adversarial ones."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache

from hypothesis import strategies as st

from fairlead.model.check import check
from fairlead.model.constraint import ORDERINGS, Operator, Requirement, Selector
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.times import LONGEST, Shape, Times
from fairlead.model.values import is_shown

ODD_NAMES = ["a b", "yes", "null", "~", "5", "5.10", "0x10", "12:30", "é", "a: b", "#a", "'", '"']
ODD_NAMES += ["\\", "-", "- a", "{a}", "[a]", "&a", "*a", "!a", "%a", "@a", "`a", "😀", "<<", "a,b"]

_SEEN = st.characters(blacklist_categories=("C", "Z"))
_SEEN_OR_SPACE = st.characters(blacklist_categories=("C", "Z"), whitelist_characters=" ")
names = st.one_of(
    st.sampled_from(["train", "vision", "x"]),
    st.sampled_from(ODD_NAMES),
    st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=8).filter(
        is_shown
    ),
)
resources = st.one_of(st.sampled_from(["cpu", "memory", "gpu", "disk"]), names)
machine_names = st.from_regex(r"\A[a-c]{1,2}(0?[0-9]|1[0-2])?(n[0-9])?\Z")
texts = st.one_of(
    st.sampled_from(
        [*ODD_NAMES, "", " ", "east", "in", "notin", "5.15", "true", "(", "a=b", '\\"']
    ),
    st.text(
        st.characters(blacklist_categories=("C", "Z"), whitelist_characters=" "), max_size=6
    ).filter(is_shown),
)
versions = st.from_regex(r"\A[0-9]{1,3}(\.[0-9]{1,3}){0,3}\Z")
numbers = st.from_regex(r"\A-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?\Z").map(Decimal)


@cache
def amounts(most: int = 10**30) -> st.SearchStrategy[Fraction]:
    """Exact amounts of every kind: whole, binary, decimal, endless."""
    return st.one_of(
        st.integers(0, most).map(Fraction),
        st.integers(1, min(100, most // 2**30)).map(lambda n: Fraction(n * 2**30)),
        st.builds(Fraction, st.integers(0, 10**6), st.integers(1, 10**6)),
        st.builds(lambda n, e: Fraction(n, 10**e), st.integers(1, 10**6), st.integers(0, 24)),
    )


@cache
def seconds() -> st.SearchStrategy[Fraction]:
    """The same, as long as times may be."""
    return amounts(int(LONGEST))


def times() -> st.SearchStrategy[Fraction | Times]:
    """A time, or a spread of times."""
    some = seconds().filter(bool)
    return st.one_of(
        some,
        st.builds(lambda mean: Times(Shape.EXPONENTIAL, (mean,)), some),
        st.builds(
            lambda shape, one, other: Times(shape, (min(one, other), max(one, other))),
            st.sampled_from([Shape.LOGNORMAL, Shape.UNIFORM]),
            some,
            some,
        ),
    )


def requirements() -> st.SearchStrategy[Requirement]:
    """Requirements with odd keys and values."""
    plain = [Operator.EQUAL, Operator.NOT_EQUAL]
    keys = st.one_of(st.sampled_from(["zone", "kernel", "in", "notin"]), names)
    return st.one_of(
        st.builds(Requirement, keys, st.sampled_from(plain), texts.map(lambda text: (text,))),
        st.builds(
            Requirement,
            keys,
            st.sampled_from([Operator.IN, Operator.NOT_IN]),
            st.lists(texts, min_size=1, max_size=3),
        ),
        st.builds(Requirement, keys, st.sampled_from([Operator.EXISTS, Operator.NOT_EXISTS])),
        st.builds(
            Requirement,
            keys,
            st.sampled_from(ORDERINGS),
            versions.map(lambda text: (text,)),
        ),
    )


selectors = st.lists(requirements(), max_size=3).map(Selector)
labels = st.dictionaries(
    st.one_of(st.sampled_from(["zone", "kernel"]), names), st.one_of(texts, numbers), max_size=3
)
capacities = st.dictionaries(resources, amounts(), max_size=3)


def _needs(demand: dict[str, Fraction]) -> bool:
    return any(demand.values())


# What an input is drawn from, made once: Hypothesis looks at each strategy before it first draws.
_kinds = st.lists(st.tuples(capacities, labels), min_size=1, max_size=3)
_machines = st.lists(machine_names, min_size=1, max_size=8, unique=True)
_few = st.lists(names, max_size=3, unique=True)
_some = amounts().filter(bool)
_some_seconds = seconds().filter(bool)
_weights = st.one_of(st.none(), _some)
_counts = st.one_of(st.none(), st.integers(1, 10**6))
_demands = st.dictionaries(resources, amounts(), max_size=3).filter(_needs)
_times = st.none() | times()
_moments = st.none() | seconds()


@st.composite
def inputs(draw: st.DrawFn) -> tuple[Cluster, tuple[Job, ...]]:
    """A cluster and jobs that are valid together."""
    kinds = draw(_kinds)
    chosen = draw(_machines)
    machines = [Machine(name, *draw(st.sampled_from(kinds))) for name in chosen]
    tenants: list[Tenant] = []
    known = sorted({resource for machine in machines for resource in machine.capacity})
    limits = st.dictionaries(st.sampled_from(known or ["none"]), amounts(), max_size=2)
    for name in draw(_few):
        parents = [tenant.name for tenant in tenants]
        parent = draw(st.one_of(st.none(), st.sampled_from(parents))) if parents else None
        limit = draw(limits) if known else {}
        tenants.append(Tenant(name, weight=draw(_weights), parent=parent, limit=limit))
    jobs = []
    for name in draw(_few):
        owners = [tenant.name for tenant in tenants]
        some = st.lists(st.sampled_from(chosen), min_size=1, max_size=5)
        prefer = draw(selectors)
        tasks = draw(_counts)
        jobs.append(
            Job(
                name,
                draw(_demands),
                tenant=draw(st.sampled_from(owners)) if owners else None,
                tasks=tasks,
                where=draw(selectors),
                machines=draw(st.one_of(st.none(), some)),
                exclude=draw(st.one_of(st.just([]), some)),
                spread=draw(st.booleans()),
                prefer=prefer,
                prefer_for=draw(_some_seconds) if prefer else None,
                gang=draw(st.integers(1, 5 if tasks is None else min(5, tasks))),
                duration=draw(_times),
                arrive=draw(_moments),
                every=(every := draw(_times)),
                repeat=draw(_counts) if every else None,
            )
        )
    devices = draw(st.lists(st.sampled_from(known), max_size=2)) if known else []
    cluster = Cluster(machines, tenants, devices)
    try:
        check(cluster, jobs)
    except InputError:  # labels that have no order under < and the like: ask for nothing then
        jobs = [Job(job.name, job.demand, tenant=job.tenant, tasks=job.tasks) for job in jobs]
    return cluster, tuple(jobs)
