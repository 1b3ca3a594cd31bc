"""The proof that goes with an allocation: a structure from which anyone can compute the shares."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

from fairlead.model.report import Tree, class_tree
from fairlead.model.shares import MachineClass

PROOF_SCHEMA = "fairlead.proof/2"


@dataclass(frozen=True)
class Scarce:
    """Something of which there is so much and no more.

    Exactly one of these kinds: a resource on a class of machines (`machine_class`, `resource`);
    a tenant's limit (`tenant`, `resource`); the tasks of a finite job (`job`); machines of a class
    for a job that spreads (`machine_class`, `job`).
    """

    machine_class: int | None = None
    resource: str | None = None
    tenant: str | None = None
    job: str | None = None

    def tree(self) -> Tree:
        return _without_none(
            {
                "class": self.machine_class,
                "resource": self.resource,
                "tenant": self.tenant,
                "job": self.job,
            }
        )


@dataclass(frozen=True)
class Places:
    """Jobs whose demands are proportional, and the classes of machines that they are on: each has
    the same part of its tasks on each of them."""

    jobs: tuple[str, ...]
    classes: tuple[int, ...]

    def tree(self) -> Tree:
        return {"jobs": list(self.jobs), "classes": list(self.classes)}


@dataclass(frozen=True)
class Round:
    """One round of filling: who froze in it, and the equations that give the prices that prove it.

    Only `scarce` has prices. They are what makes tasks of each job in `even` cost the same on all
    of its classes there, which says them but for a factor. `share` is the double that is nearest
    to the level that follows from them.
    """

    share: float
    frozen: tuple[str, ...]
    scarce: tuple[Scarce, ...]
    even: tuple[Places, ...] = ()  # one job each, two classes or more
    machine_class: int | None = None


@dataclass(frozen=True)
class PoolProof:
    """The share that a tenant's pool alone could give it. Needed where a tenant with a pool has
    several jobs or limits.

    `classes` are those with machines of the pool, whole: the real ones, even where the policy
    looks at one machine that holds everything. The amounts are those of the pool's part of each.
    There are as many places (pairs of a job and a class) as there is `scarce`: the tasks there use
    all of it up, and its prices make a task cost there what its share is worth. `share` is the
    double that is nearest.
    """

    tenant: str
    share: float
    places: tuple[Places, ...]
    scarce: tuple[Scarce, ...]
    classes: tuple[MachineClass, ...] = ()


@dataclass(frozen=True)
class Scale:
    """The tasks of a job that make one unit of share (on one machine of a class, where each class
    of machines is filled by itself)."""

    job: str
    tasks: Fraction
    machine_class: int | None = None


@dataclass(frozen=True)
class Proof:
    """All rounds of one filling, over classes of machines that every job sees alike, and where the
    tasks are in the end.

    `view` is what the cluster looks like to the policy: `machines` as they are, `pooled` into one
    that holds everything, or `each machine` by itself. `places` and `full` say where tasks are
    and what they use up: every job with tasks is in one of the `places`, and there is one of `full`
    for each class of one of them beyond its first; this says how many are where. Both are empty
    where each machine is filled by itself. `tasks` are the doubles nearest to the tasks of each job
    that has any. `scales` are those of a user's own policy, which nobody else can compute.
    """

    policy: str
    classes: tuple[MachineClass, ...]
    tasks: tuple[tuple[str, float], ...]
    rounds: tuple[Round, ...]
    places: tuple[Places, ...]
    full: tuple[Scarce, ...]
    pools: tuple[PoolProof, ...] = ()
    view: str = "machines"
    scales: tuple[Scale, ...] = ()

    def to_json(self) -> str:
        """The text that `fairlead allocate --proof` writes, and `verify` takes: `fairlead.proof/2`,
        an item a line. It reads back as a proof that is equal but for the order of the machines in
        a class."""
        lists = {
            "classes": [class_tree(each) for each in self.classes],
            "scales": [
                _without_none({"job": s.job, "tasks": str(s.tasks), "class": s.machine_class})
                for s in self.scales
            ],
            "tasks": [{"job": name, "tasks": tasks} for name, tasks in self.tasks],
            "rounds": [
                _without_none(
                    {
                        "share": each.share,
                        "class": each.machine_class,
                        "frozen": list(each.frozen),
                        "scarce": [scarce.tree() for scarce in each.scarce],
                        "even": [places.tree() for places in each.even] or None,
                    }
                )
                for each in self.rounds
            ],
            "places": [places.tree() for places in self.places],
            "full": [scarce.tree() for scarce in self.full],
            "pools": [
                {
                    "tenant": pool.tenant,
                    "share": pool.share,
                    "classes": [class_tree(each) for each in pool.classes],
                    "places": [places.tree() for places in pool.places],
                    "scarce": [scarce.tree() for scarce in pool.scarce],
                }
                for pool in self.pools
            ],
        }
        head = {"schema": PROOF_SCHEMA, "policy": self.policy, "view": self.view}
        parts = [f"{json.dumps(key)}: {_json(value)}" for key, value in head.items()]
        for key, items in lists.items():
            body = ",\n".join(_json(item) for item in items)
            parts.append(f"{json.dumps(key)}: [\n{body}\n]" if items else f"{json.dumps(key)}: []")
        return "{" + ",\n".join(parts) + "}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _without_none(tree: Tree) -> Tree:
    return {key: value for key, value in tree.items() if value is not None}
