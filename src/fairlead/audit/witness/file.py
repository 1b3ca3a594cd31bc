"""A witness as data: everything that is needed to show a violation again, in one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairlead.audit.change import apply
from fairlead.audit.finding import (
    Added,
    Change,
    Grown,
    Input,
    Left,
    Lie,
    Moment,
    Removed,
    Split,
    Witness,
)
from fairlead.model.errors import InputError
from fairlead.model.json_tree import json_tree
from fairlead.model.reading import read
from fairlead.model.report import json_text, rounded
from fairlead.model.shares import Tasks
from fairlead.model.writing import write

SCHEMA = "fairlead.witness/1"

WHOLE = "give a whole witness"

Tree = dict[str, object]


@dataclass(frozen=True)
class Written:
    """The content of a witness file: the two inputs as they are in it, and what it claims."""

    property: str
    policy: str
    tasks: Tasks
    who: tuple[str, ...]
    before: float
    after: float
    unit: str
    input: Input
    changed: Input | None
    lottery: Moment | None = None


def witness_tree(witness: Witness) -> Tree:
    """The witness as `fairlead.witness/1`: only dicts, lists, text, numbers and None."""
    change = witness.change
    return {
        "schema": SCHEMA,
        "property": witness.property,
        "policy": witness.policy,
        "tasks": witness.tasks.value,
        "sentence": witness.sentence,
        "who": list(witness.who),
        "unit": witness.unit,
        "before": rounded(witness.before),
        "after": rounded(witness.after),
        "slack": rounded(witness.slack),
        "change": None if change is None else _change_tree(change),
        "lottery": None if witness.lottery is None else witness.lottery.value,
        "better": [{"job": name, "tasks": tasks} for name, tasks in witness.jobs],
        "input": _text(witness.input),
        "changed": None if change is None else _text(apply(change, witness.input)),
    }


def witness_json(witness: Witness) -> str:
    """The witness as JSON, the same bytes for the same witness."""
    return json_text(witness_tree(witness))


def witness_from_json(text: str, file: str = "the witness") -> Written:
    """The content of a witness file. Raises InputError where it is none."""
    tree = json_tree(text, file, "give a witness file")
    if not isinstance(tree, dict) or tree.get("schema") != SCHEMA:
        raise InputError(
            f"{file} is no witness", f'its "schema" must be "{SCHEMA}"; see --witness DIR'
        )
    changed = tree.get("changed")
    if changed is not None and not isinstance(changed, str):
        raise InputError(f'{file}: "changed" is of the wrong kind', "write YAML, or null")
    try:
        tasks = Tasks(_field(tree, "tasks", str, file))
    except ValueError as error:
        raise InputError(
            f'{file}: "tasks" is {tree["tasks"]!r}', "write divisible or whole"
        ) from error
    who = _field(tree, "who", list, file)
    if not who:
        raise InputError(f'{file}: "who" names nobody', WHOLE)
    return Written(
        property=str(_field(tree, "property", str, file)),
        policy=str(_field(tree, "policy", str, file)),
        tasks=tasks,
        who=tuple(str(name) for name in who),
        before=_number(tree, "before", file),
        after=_number(tree, "after", file),
        unit=str(_field(tree, "unit", str, file)),
        input=_input(_field(tree, "input", str, file), f"{file}, input"),
        changed=None if changed is None else _input(changed, f"{file}, changed"),
        lottery=_moment(tree.get("lottery"), file),
    )


def _moment(value: object, file: str) -> Moment | None:
    if value is None:
        return None
    try:
        return Moment(value)
    except ValueError as error:
        right = f"write null, {' or '.join(each.value for each in Moment)}"
        raise InputError(f'{file}: "lottery" is {value!r}', right) from error


def _number(tree: dict[str, object], name: str, file: str) -> float:
    value = tree.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e300:
        raise InputError(f'{file}: "{name}" is missing or no number of at least 0', WHOLE)
    return float(value)


def _field(tree: dict[str, object], name: str, kind: type, file: str) -> Any:  # of that kind
    value = tree.get(name)
    if not isinstance(value, kind):
        raise InputError(f'{file}: "{name}" is missing or of the wrong kind', WHOLE)
    return value


def _input(text: str, name: str) -> Input:
    return Input(*read([(name, text)]))


def _text(given: Input) -> str:
    return write(given.cluster, given.jobs)


def _change_tree(change: Change) -> Tree:
    """The change in short; the file's `changed` is the input with it made."""
    match change:
        case Lie():
            return {"kind": "lie", "liars": list(change.liars)}
        case Split():
            tenants = list(dict.fromkeys(job.tenant or job.name for job in change.jobs))
            return {"kind": "split", "tenant": change.tenant, "into": tenants}
        case Left():
            return {"kind": "left", "tenant": change.tenant}
        case Added():
            tree: Tree = {"kind": "added", "machine": change.machine.name}
            return tree | {"like": change.like, "closed": change.closed}
        case Grown():
            return {"kind": "grown", "machine": change.machine.name}
        case Removed():
            return {"kind": "removed", "machines": list(change.machines)}
