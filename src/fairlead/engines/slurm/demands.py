"""From a job of Slurm's to what it asks for in the model's words, or why that cannot be said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlead.engines.slurm.reading.values import SlurmJob, SlurmNode
from fairlead.model.constraint import Operator, Requirement, Selector
from fairlead.model.errors import FairleadError
from fairlead.model.names import expand_all

_NAMES = re.compile(r"[A-Za-z0-9_.=:+-]+")


class NotUnderstoodError(FairleadError):
    """The job asks for something that the model has no words for; the message says what."""


@dataclass(frozen=True, slots=True)
class Request:
    """A task's demand and constraint; `gang` tasks start together, `spread` each on its node."""

    demand: tuple[tuple[str, Fraction], ...]
    gang: int
    spread: bool
    where: Selector
    machines: tuple[str, ...] | None
    exclude: tuple[str, ...]
    models: tuple[str, ...]
    features: str
    partitions: tuple[str, ...]

    def allowed(self, nodes: Sequence[SlurmNode]) -> list[SlurmNode]:
        """The nodes that the constraint and the lists leave."""
        return [
            node
            for node in nodes
            if set(node.partitions) & set(self.partitions)
            and (not self.features or matches(self.features, node.features))
            and (self.machines is None or node.name in self.machines)
            and node.name not in self.exclude
            and (not self.models or {e.model for e in node.gres} & set(self.models))
        ]

    def can_run(self, nodes: Sequence[SlurmNode]) -> bool:
        """Whether these nodes, empty, would hold all tasks that start together."""
        room = 0
        for node in self.allowed(nodes):
            has = {"cpu": node.cpus, "memory": node.memory * 2**20}
            for each in node.gres:
                has[each.kind] = has.get(each.kind, 0) + each.count
            fits = min(has.get(name, 0) // amount for name, amount in self.demand if amount)
            room += min(1, int(fits)) if self.spread else int(fits)
        return room >= self.gang


def matches(expression: str, features: Sequence[str]) -> bool:
    """Whether a node with these features satisfies Slurm's expression. As in Slurm, `&` and `|`
    are taken from left to right, and parentheses first. Raises NotUnderstoodError."""
    tokens = re.findall(r"[&|,()]|[^&|,()]+", expression.replace(" ", ""))
    value, rest = _expression(tokens, frozenset(features))
    if rest:
        raise NotUnderstoodError(f"the constraint {expression}")
    return value


def _expression(tokens: list[str], features: frozenset[str]) -> tuple[bool, list[str]]:
    value, rest = _operand(tokens, features)
    while rest and rest[0] in "&|,":
        operator = rest[0]
        other, rest = _operand(rest[1:], features)
        value = (value or other) if operator == "|" else (value and other)
    return value, rest


def _operand(tokens: list[str], features: frozenset[str]) -> tuple[bool, list[str]]:
    if tokens and tokens[0] == "(":
        value, rest = _expression(tokens[1:], features)
        if not rest or rest[0] != ")":
            raise NotUnderstoodError("a constraint whose parentheses do not match")
        return value, rest[1:]
    if not tokens or not _NAMES.fullmatch(tokens[0]):
        raise NotUnderstoodError(f"the constraint {''.join(tokens)}")
    return tokens[0] in features, tokens[1:]


def request_of(job: SlurmJob, nodes: Sequence[SlurmNode]) -> Request:
    """The job's request, for one of its nodes or tasks. Raises NotUnderstoodError."""
    if job.beyond:
        raise NotUnderstoodError(", ".join(job.beyond))
    if job.features:
        matches(job.features, ())  # says what it cannot read
    gang, spread = parts_of(job)
    demand = {"cpu": Fraction(job.cpus, gang), "memory": Fraction(job.memory * 2**20, gang)}
    models: set[str] = set()
    for times, wanted in ((Fraction(1, gang), job.per_job), (_nodes(job, gang), job.per_node)):
        for each in wanted:
            demand[each.kind] = demand.get(each.kind, Fraction(0)) + each.count * times
            models |= {each.model} - {""}
    for each in job.per_task:
        demand[each.kind] = demand.get(each.kind, Fraction(0)) + each.count * Fraction(
            job.tasks, gang
        )
        models |= {each.model} - {""}
    if job.cpus_per_gpu:  # Slurm's own sum leaves these out until the job starts
        demand["cpu"] = max(demand["cpu"], job.cpus_per_gpu * demand.get("gpu", Fraction(0)))
    if len(models) > 1:
        raise NotUnderstoodError(f"several types of devices ({', '.join(sorted(models))})")
    if any(amount.denominator > 1 for kind, amount in demand.items() if kind != "memory"):
        raise NotUnderstoodError("its nodes get unequal parts")
    where = [Requirement("gpu-model", Operator.EQUAL, (model,)) for model in sorted(models)]
    machines = nodes_named(job, gang, spread)
    simple = "|" not in job.features and "(" not in job.features and _is_enough(job, nodes)
    if simple and len(job.partitions) == 1:
        names = [name for name in re.split(r"[&,]", job.features) if name]
        names.append(f"partition-{job.partitions[0]}")
        where += [Requirement(name, Operator.EXISTS) for name in names]
    else:
        # The model has no `or` between labels: the nodes are named instead.
        named = [
            node.name
            for node in nodes
            if set(node.partitions) & set(job.partitions)
            and (not job.features or matches(job.features, node.features))
            and _is_enough(job, (node,))
        ]
        machines = tuple(n for n in named if machines is None or n in machines)
        if not machines:
            least = [f"{name} {amount}" for name, amount in job.least]
            by = ", ".join(("constraint", "partition", "lists", *least))
            raise NotUnderstoodError(f"no node is left by its {by}")
    return Request(
        demand=tuple(sorted((kind, amount) for kind, amount in demand.items() if amount)),
        gang=gang,
        spread=spread,
        where=Selector(where),
        machines=machines,
        exclude=expand_all([job.excluded]) if job.excluded else (),
        models=tuple(sorted(models)),
        features=job.features,
        partitions=job.partitions,
    )


def _is_enough(job: SlurmJob, nodes: Sequence[SlurmNode]) -> bool:
    """Whether each of these nodes has the least that it wants of one, as far as that is known."""
    return all(
        dict(node.has).get(name, least) >= least for name, least in job.least for node in nodes
    )


def parts_of(job: SlurmJob) -> tuple[int, bool]:
    """The number of equal parts that start together, and whether each is on a node of its own."""
    if job.nodes > 1:
        return job.nodes, True
    set_ = 0 < job.most_nodes < job.tasks or job.memory_of_node or job.per_node
    free = job.running_on != 1 and not set_
    return (job.tasks, False) if free and job.tasks > 1 else (1, False)


def _nodes(job: SlurmJob, gang: int) -> Fraction:
    return Fraction(max(1, job.nodes), gang)


def nodes_named(job: SlurmJob, gang: int, spread: bool) -> tuple[str, ...] | None:
    """The nodes that it names, where these are all that it may use."""
    if not job.required:
        return None
    names = expand_all([job.required])
    if len(names) != (gang if spread or len(names) > 1 else 1):
        raise NotUnderstoodError(f"--nodelist={job.required} names other than {gang} nodes")
    return names
