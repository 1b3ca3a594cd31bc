"""A study: policies × seeds; each run is kept in a folder and never done twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from fairlead.model.errors import InputError, OutputError
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.measure.crowded import FILE, Crowded
from fairlead.simulation.measure.distances import Distances
from fairlead.simulation.measure.measures import Jobs, SampleSink, Shares, Tasks, Utilisation
from fairlead.simulation.measure.result import Result
from fairlead.simulation.measure.sinks import Sink
from fairlead.simulation.studies.source import Source, keep_in_memory
from fairlead.simulation.studies.study_files import (
    RUN,
    RUN_SCHEMA,
    STUDY,
    STUDY_SCHEMA,
    content_of,
    write_file,
)
from fairlead.simulation.workload import Workload
from fairlead.version import __version__

RECORDS = ("jobs", "tasks", "shares", "utilisation")
"""The tables that a run can write, besides the distance."""


@dataclass(frozen=True)
class Study:
    """The runs of a study, and the tables that they keep. Times in microseconds."""

    source: Source
    policies: tuple[str, ...]
    placement: str
    seeds: tuple[int, ...]
    options: Options = field(default_factory=Options)
    out: Path | None = None
    records: tuple[str, ...] = RECORDS
    sample: int | None = None
    """Between two samples of shares and utilisation; None: each run's length chooses."""
    distance: int | None = None
    ending: str = ".parquet"
    ideal: Kind | None = None
    """An ideal scheduler instead of the online core; the placement is then `ideal-KIND`."""

    @property
    def samples_are_chosen(self) -> bool:
        """Whether tables of samples are kept whose interval each run's length chooses."""
        sampled = {"shares", "utilisation"} & set(self.records)
        return self.out is not None and self.sample is None and bool(sampled)

    def settings(self) -> dict[str, object]:
        """Settings that all runs in one folder share."""
        return {
            "source": self.source.settings(),
            "options": self.options.settings(),
            "records": list(self.records),
            "sample": self.sample,
            "distance": self.distance,
            "ending": self.ending,
        }


@dataclass(frozen=True)
class Part:
    """Runs that one process does after one another, on one workload."""

    study: Study
    seed: int
    policies: tuple[str, ...]


def folder(study: Study, policy: str, seed: int) -> Path | None:
    """The folder of a run; None where the study keeps none."""
    if study.out is None:
        return None
    return study.out / quote(f"{policy},{study.placement},{seed}", safe="(),=.-_")


def find_result(study: Study, policy: str, seed: int) -> Result | None:
    """The result of a run that is already there."""
    there = folder(study, policy, seed)
    if there is None or not (there / RUN).is_file():
        return None
    try:
        return Result(**content_of(there / RUN, RUN_SCHEMA)["result"])
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{there / RUN} is not a run's file", "remove the folder to run it again"
        ) from error


def claim(study: Study) -> None:
    """Makes the study's folder, or sees that it is one with the same settings. Raises InputError
    where it is not, and changes nothing then."""
    if study.out is None:
        return
    settings = json.loads(json.dumps(study.settings()))
    file = study.out / STUDY
    try:
        if file.is_file():
            before = content_of(file, STUDY_SCHEMA).get("settings")
            if not isinstance(before, dict):
                raise InputError(f"{file} has no settings", "give another --out")
            other = sorted(key for key in settings if settings[key] != before.get(key))
            if other:
                was = ", ".join(f"{key} was {json.dumps(before.get(key))}" for key in other)
                raise InputError(
                    f"{study.out} holds runs with other settings: {was}",
                    "give the same settings, or another --out",
                )
            return
        if study.out.exists() and (not study.out.is_dir() or any(study.out.iterdir())):
            raise InputError(
                f"{study.out} is there already and holds no study", "give another --out"
            )
        study.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{study.out} cannot be written: {error.strerror}") from error
    write_file(file, text_of({"schema": STUDY_SCHEMA, "settings": settings}))


def parts_of(study: Study, workers: int) -> list[Part]:
    """The runs that are still to do, in parts of one workload each. A workload is made once for
    all policies, unless there would be fewer parts than workers; a drawn one, which is soon made,
    once for each policy where it is among the last, so that all workers end at about one time."""
    todo = [
        (seed, left)
        for seed in study.seeds
        if (left := tuple(p for p in study.policies if find_result(study, p, seed) is None))
    ]
    parts = []
    for place, (seed, left) in enumerate(todo, 1):
        size = len(left) if len(todo) >= workers else -(-len(left) // workers)
        if study.source.generator and workers > 1 and place > len(todo) - workers:
            size = 1
        parts += [
            Part(study, seed, left[start : start + size]) for start in range(0, len(left), size)
        ]
    return parts


def run_part(part: Part, workload: Workload | None = None, *, show: bool = False) -> list[Result]:
    """Does the runs of a part, and keeps each as soon as it is finished. `workload`: the part's,
    where it is made."""
    if workload is None:
        workload = part.study.source.workload(part.seed)
    workload = keep_in_memory(workload)
    return [run_one(part.study, workload, p, part.seed, show=show) for p in part.policies]


def run_one(
    study: Study, workload: Workload, policy: str, seed: int, *, show: bool = False
) -> Result:
    """One run, with the sinks of the study; its file comes last, so it is there or it is whole."""
    there = folder(study, policy, seed)
    sinks = sinks_of(study, there)
    if study.ideal is not None:
        result = run_ideal(workload, study.ideal, policy, seed=seed, sinks=sinks, progress=show)
    else:
        result = simulate(
            workload,
            policy=policy,
            placement=study.placement,
            seed=seed,
            sinks=sinks,
            options=study.options,
            progress=show,
        )
    if there is not None:
        sampled = [sink.every for sink in sinks if isinstance(sink, SampleSink)]
        result = replace(result, sampled=max(filter(None, sampled), default=None))
        content = {
            "schema": RUN_SCHEMA,
            "version": __version__,
            "workload": workload.name,
            "notes": list(workload.notes),
            "settings": study.settings(),
            "result": asdict(result),
        }
        write_file(there / RUN, text_of(content))
    return result


def sinks_of(study: Study, there: Path | None) -> list[Sink]:
    """The sinks that measure a run. Without a folder only those that the result itself needs."""
    sinks: list[Sink] = []
    if there is not None:
        made: dict[str, Callable[[Path], Sink]] = {
            "jobs": Jobs,
            "tasks": Tasks,
            "shares": lambda path: Shares(path, study.sample),
            "utilisation": lambda path: Utilisation(path, study.sample),
        }
        # Where tasks move there is no one machine to tell of.
        moves = study.ideal in (Kind.MIGRATION, Kind.PREEMPTION)
        names = [name for name in study.records if not (moves and name == "tasks")]
        sinks += [made[name](there / f"{name}{study.ending}") for name in names]
        if "shares" in names:
            sinks.append(Crowded(there / FILE, study.sample))
    if study.distance is not None:
        sinks.append(Distances(study.distance, there and there / f"distance{study.ending}"))
    return sinks


def text_of(content: Mapping[str, object]) -> str:
    """The content as JSON that people can read, too."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
