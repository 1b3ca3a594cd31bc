"""From the body of a submission to jobs, or to every mistake in it with its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from fairlead.model.errors import InputError, Mistake, Mistakes
from fairlead.model.fields import ELSEWHERE
from fairlead.model.job import Job
from fairlead.model.plain import job_of
from fairlead.model.reading import read_submission
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.settings import ApiSettings
from fairlead.service.api.strict import (
    FILE,
    check_yaml,
    count_names,
    json_of,
    refuse_names,
    text_of,
)
from fairlead.service.why.trial import STAND_IN, nameless
from fairlead.wire.errors import ErrorKind
from fairlead.wire.fairness import CanRunAsked


class Media(Enum):
    """The format of a body."""

    JSON = "json"
    YAML = "yaml"


MEDIA = {
    "application/json": Media.JSON,
    "application/yaml": Media.YAML,
    "application/x-yaml": Media.YAML,
    "text/yaml": Media.YAML,
    "text/x-yaml": Media.YAML,
}


def media_of(content_type: str) -> Media:
    """Reads the header Content-Type. Raises RefusalError."""
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charsets = [part for part in parameters if part.startswith("charset=")]
    if any(part.removeprefix("charset=").strip('"') != "utf-8" for part in charsets):
        raise RefusalError(ErrorKind.WRONG_TYPE, "the body is not in UTF-8", "send UTF-8")
    if kind not in MEDIA:
        raise RefusalError(
            ErrorKind.WRONG_TYPE,
            f"the Content-Type {content_type[:80]!r} is not known"
            if content_type
            else "the request has no Content-Type",
            "send application/json, or jobs as application/yaml",
        )
    return MEDIA[kind]


def jobs_of(
    body: bytes, media: Media, settings: ApiSettings, pause: Callable[[], None] = lambda: None
) -> tuple[Job, ...]:
    """The jobs that a body describes, at least one. Raises InputError or RefusalError. `pause` is
    called now and then."""
    read = _from_json if media is Media.JSON else _from_yaml
    jobs = read(body, settings, pause)
    if len(jobs) > settings.batch_jobs:
        raise _too_many(len(jobs), settings)
    return jobs


def job_tried(asked: CanRunAsked, tenant: str | None, settings: ApiSettings) -> Job:
    """The job of which it is asked whether it could run: of the tenant, where it names none.
    Raises InputError."""
    tree = {"name": STAND_IN, "tenant": tenant, "tasks": asked.tasks}
    tree |= asked.model_dump(exclude_defaults=True)
    if count_names(tree) > settings.listed_names:
        raise refuse_names(settings.listed_names)
    with nameless():
        return job_of(tree)


def _from_json(body: bytes, settings: ApiSettings, pause: Callable[[], None]) -> tuple[Job, ...]:
    tree = json_of(body)
    if not isinstance(tree, dict):
        raise InputError("the body is no object", 'write {"jobs": [...]}')
    unknown = [key for key in tree if key != "jobs"]
    if unknown:
        raise InputError([_not_here(key) for key in unknown])
    entries = tree.get("jobs")
    if not isinstance(entries, list) or not entries:
        raise InputError("there are no jobs", 'write {"jobs": [...]}, with one at least')
    if len(entries) > settings.batch_jobs:
        raise _too_many(len(entries), settings)
    if count_names(entries) > settings.listed_names:
        raise refuse_names(settings.listed_names)
    mistakes = Mistakes()
    jobs: list[Job] = []
    places: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        pause()
        try:
            job = job_of(entry)
        except InputError as error:
            mistakes.extend(_with_number(mistake, number) for mistake in error.mistakes)
            continue
        first = places.setdefault(job.name, number)
        if first != number:
            mistakes.add(
                ("job", job.name),
                f"jobs {first} and {number} of the request have this name",
                "give each its own name",
            )
        jobs.append(job)
    mistakes.report()
    return tuple(jobs)


def _from_yaml(body: bytes, settings: ApiSettings, pause: Callable[[], None]) -> tuple[Job, ...]:
    text = text_of(body)
    check_yaml(text, settings.yaml_nodes, settings.listed_names, pause)
    jobs, _ = read_submission([(FILE, text)])
    return jobs


def _with_number(mistake: Mistake, number: int) -> Mistake:
    """The mistake, with the number of the job where its name does not say which it is."""
    if len(mistake.about) > 1 and mistake.about[1]:
        return mistake
    return replace(mistake, about=(f"job {number}", "", *mistake.about[2:]))


def _not_here(key: str) -> Mistake:
    what = f"a submission holds jobs, and nothing of {key[:60]!r}"
    return Mistake(what, ELSEWHERE.get(key, ""))


def _too_many(count: int, settings: ApiSettings) -> RefusalError:
    return RefusalError(
        ErrorKind.TOO_LARGE,
        f"{count} jobs in one request",
        f"submit at most {settings.batch_jobs} at once",
    )
