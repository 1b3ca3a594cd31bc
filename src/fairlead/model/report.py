"""The parts of an answer as plain data and in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.model.names import compress
from fairlead.model.shares import JobShare, Level, MachineClass, Nowhere, Stop
from fairlead.model.words import counted, listing, plural, sentence

Tree = dict[str, object]


def json_text(tree: Mapping[str, object]) -> str:
    """The tree as JSON, a line for each key and for each item of a list; the same text for the
    same tree, without a line feed at the end."""
    import json

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    parts = []
    for key, value in tree.items():
        if isinstance(value, list) and value:
            items = ",\n    ".join(text(item) for item in value)
            parts.append(f"  {text(key)}: [\n    {items}\n  ]")
        else:
            parts.append(f"  {text(key)}: {text(value)}")
    return "{\n" + ",\n".join(parts) + "\n}"


def rounded(value: float | None) -> float | None:
    """The number with 12 significant digits: beyond them doubles carry noise."""
    return None if value is None else float(f"{value:.12g}")


def nowhere_sentence(reason: Nowhere) -> str:
    """Why no machine will do, counted: `of 50 machines, 20 are excluded by ...`."""
    if not reason.machines:
        return "there are no machines."
    parts = exclusions(reason)
    counts = [count for _, count in (*reason.constraint, *reason.resources)]
    if counts == [reason.machines]:
        every = "the only machine" if counts == [1] else f"each of the {counts[0]} machines"
        return sentence(f"{every} {_of_one(parts[0])}")
    return sentence(f"of {counted(reason.machines, 'machine')}, {listing(parts)}")


def _of_one(part: str) -> str:
    """The part of a sentence without its number, said of one machine."""
    text = part.partition(" ")[2]
    for many, one in (("are ", "is "), ("have ", "has ")):
        if text.startswith(many):
            return one + text.removeprefix(many)
    return text


LISTS = {"machines": "not in its list of `machines`", "exclude": "in its list of `exclude`"}


def exclusions(reason: Nowhere) -> list[str]:
    """The reasons against machines, counted: `20 are excluded by ...`, `4 have no gpu`."""
    parts = [
        f"{count} {plural('is', count)} {LISTS.get(part) or f'excluded by `{part}`'}"
        for part, count in reason.constraint
    ]
    parts += [f"{count} {plural('has', count)} no {name}" for name, count in reason.resources]
    return parts


def stop_tree(stop: Stop) -> Tree:
    """A stop with the keys of its kind only."""
    tree: Tree = {}
    if stop.job is not None:
        tree["job"] = stop.job
    if stop.tenant is not None:
        tree["tenant"] = stop.tenant
    if stop.machine_class is not None:
        tree["class"] = stop.machine_class
    if stop.resource is not None:
        tree["resource"] = stop.resource
    tree["price"] = stop.price
    return tree


def nowhere_tree(reason: Nowhere) -> Tree:
    """Why a job can run on no machine, counted."""
    return {
        "machines": reason.machines,
        "constraint": [{"part": part, "excludes": count} for part, count in reason.constraint],
        "resources": [{"resource": name, "excludes": count} for name, count in reason.resources],
    }


def job_tree(job: JobShare) -> Tree:
    return {
        "name": job.name,
        "tenant": job.tenant,
        "tasks": job.tasks,
        "alone": job.alone,
        "scale": job.scale,
        "share": job.share,
        "level": job.level,
        "placements": None
        if job.placements is None
        else [{"class": place.machine_class, "tasks": place.tasks} for place in job.placements],
        "nowhere": None if job.nowhere is None else nowhere_tree(job.nowhere),
    }


def class_tree(group: MachineClass) -> Tree:
    return {
        "class": group.index,
        "machines": list(compress(group.machines)),
        "count": len(group.machines),
    }


def level_tree(level: Level) -> Tree:
    tree: Tree = {
        "share": level.share,
        "frozen": list(level.frozen),
        "jobs": list(level.jobs),
        "stopped_by": [stop_tree(stop) for stop in level.stopped_by],
    }
    if level.machine_class is not None:
        tree["class"] = level.machine_class
    return tree
