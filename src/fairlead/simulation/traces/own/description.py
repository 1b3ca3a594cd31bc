"""The description of a trace in the project's own format: `trace.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from fairlead.files import unreadable
from fairlead.model.errors import InputError, Mistakes
from fairlead.model.json_tree import json_tree
from fairlead.model.quantity import exact
from fairlead.model.tenant import Tenant
from fairlead.model.tree import parents_first
from fairlead.model.values import FrozenMap
from fairlead.simulation.traces.own.form import SCHEMA, Form
from fairlead.simulation.workload import Resource


@dataclass(frozen=True)
class TraceDescription:
    """Content of `trace.json`; `jobs` and `tasks` are how many, where it says so."""

    name: str
    form: Form
    resources: tuple[Resource, ...]
    tenants: tuple[Tenant, ...]
    jobs: int | None
    tasks: int | None
    notes: tuple[str, ...]
    options: FrozenMap[str]


def read_description(file: Path) -> TraceDescription:
    """Reads the file. Raises InputError."""
    given = _read_tree(file)
    return TraceDescription(
        name=_text(given, "name", file),
        form=_form(given, file),
        resources=_resources(given, file),
        tenants=_tenants(given, file),
        jobs=_count(given, "jobs", file),
        tasks=_count(given, "tasks", file),
        notes=tuple(_texts(given.get("notes", []), "notes", file)),
        options=FrozenMap(_strings(given.get("options", {}), "options", file)),
    )


def _read_tree(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(unreadable(str(file), error)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text", "save it as UTF-8") from error
    found = json_tree(text, str(file))
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        was = found.get("schema") if isinstance(found, dict) else None
        raise InputError(
            f"{file} has the schema {was!r}, not {SCHEMA!r}", "give a trace of that schema"
        )
    return found


def _wrong(file: Path, field: str, wanted: str) -> InputError:
    return InputError(f"{file}: {field} is missing or wrong", f"write {wanted}")


def _text(given: Mapping[str, Any], field: str, file: Path) -> str:
    value = given.get(field)
    if not isinstance(value, str):
        raise _wrong(file, field, "text")
    return value


def _count(given: Mapping[str, Any], field: str, file: Path) -> int | None:
    value = given.get(field)
    if value is not None and (not isinstance(value, int) or value < 0):
        raise _wrong(file, field, "a whole number, or leave it out")
    return value


def _texts(value: object, field: str, file: Path) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise _wrong(file, field, "a list of texts")
    return value


def _strings(value: object, field: str, file: Path) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise _wrong(file, field, "names with texts")
    return value


def _form(given: Mapping[str, Any], file: Path) -> Form:
    value = given.get("tables")
    if value not in [form.value for form in Form]:
        raise _wrong(file, "tables", '"parquet" or "csv"')
    return Form(value)


def _resources(given: Mapping[str, Any], file: Path) -> tuple[Resource, ...]:
    wanted = 'as in [{"name": "cpu", "unit": "1/1000", "piece": 0}]'
    found = given.get("resources")
    if not isinstance(found, list):
        raise _wrong(file, "resources", wanted)
    resources = []
    for each in found:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise _wrong(file, "resources", wanted)
        piece = each.get("piece", 0)
        if not isinstance(piece, int) or piece < 0:
            raise _wrong(file, f"the piece of {each['name']}", "a whole number of units")
        unit = Mistakes().attempt((), exact, str(each.get("unit", "")))
        if unit is None or unit <= 0:
            raise _wrong(file, f"the unit of {each['name']}", 'more than 0, as in "1/1000"')
        resources.append(Resource(each["name"], Fraction(unit), piece))
    if len({resource.name for resource in resources}) < len(resources):
        raise _wrong(file, "resources", "each resource once")
    return tuple(resources)


def _tenants(given: Mapping[str, Any], file: Path) -> tuple[Tenant, ...]:
    wanted = 'as in [{"name": "a", "weight": "2"}]'
    found = given.get("tenants", [])
    if not isinstance(found, list):
        raise _wrong(file, "tenants", wanted)
    known = {"name", "weight", "pool", "parent", "limit"}
    tenants = []
    for each in found:
        if not isinstance(each, dict) or "name" not in each or set(each) - known:
            raise _wrong(file, "tenants", wanted)
        try:
            tenants.append(Tenant(**each))
        except InputError as error:
            right = error.mistakes[0].right
            raise InputError(f"{file}: {error.mistakes[0].what}", right) from error
    if len({tenant.name for tenant in tenants}) < len(tenants):
        raise _wrong(file, "tenants", "each tenant once")
    return parents_first(tenants)
