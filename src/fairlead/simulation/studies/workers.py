"""Workers for the runs of a study: this process, one process a core, or a Ray cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from pathlib import Path

from fairlead import children
from fairlead.simulation.engine.options import Options
from fairlead.simulation.measure.result import Result
from fairlead.simulation.studies.on_ray import joined
from fairlead.simulation.studies.study import Part, Study, find_result, folder, parts_of, run_part
from fairlead.simulation.studies.study_files import RUN, write_file
from fairlead.simulation.workload import Workload

Listener = Callable[[Part, Sequence[Result]], object]
"""Hears of the runs of a part as soon as they are done."""

RUN_COSTS = 25_000
"""Tasks that take as long as a run does whatever its tasks (docs/decisions/0285)."""

WORKER_COSTS = 200_000
"""Tasks, those of RUN_COSTS among them, up to which one process is done before several are: each
of those loads the compiled functions."""


def run_study(
    study: Study,
    workers: int | None = None,
    listener: Listener | None = None,
    *,
    workload: Workload | None = None,
    ray: bool = False,
    show: bool = False,
) -> list[Result]:
    """All runs of the study, seed by seed, in the order of its policies; those that were done
    before are not done again. Results do not depend on who does them, but for `seconds`.

    `workers`: so many at once at most; None: as many as there are cores, but one where little is to
    do, on Ray as many as in the cluster. `workload`: that of the first seed, where it is made."""
    found = {
        (policy, seed): result
        for seed in study.seeds
        for policy in study.policies
        if (result := find_result(study, policy, seed)) is not None
    }

    def hear(part: Part, results: Sequence[Result]) -> None:
        found.update(
            ((policy, part.seed), result)
            for policy, result in zip(part.policies, results, strict=True)
        )
        if listener is not None:
            listener(part, results)

    if ray:
        _on_ray(study, workers, hear)
    else:
        left = len(study.seeds) * len(study.policies) - len(found)
        tasks = None if workload is None else workload.tasks
        most = workers or (1 if is_little(study, left, tasks) else cores())
        parts = parts_of(study, most)
        if most > 1 and len(parts) > 1:
            _in_processes(parts, min(most, len(parts)), hear)
        else:
            for part in parts:
                made = part.seed == study.seeds[0] or not study.source.drawn
                hear(part, run_part(part, workload if made else None, show=show))
    return [found[policy, seed] for seed in study.seeds for policy in study.policies]


def is_little(study: Study, runs: int, tasks: int | None) -> bool:
    """Whether so many runs of so many tasks are done before other processes have begun. Runs that
    solve for exact shares, or check the core, take longer than their tasks tell."""
    usual = study.ideal is None and study.distance is None and study.options == Options()
    return usual and tasks is not None and runs * (RUN_COSTS + tasks) <= WORKER_COSTS


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(parts: Sequence[Part], workers: int, hear: Listener) -> None:
    with children.pool(workers) as pool:
        try:
            waiting = {pool.submit(_run_to_the_end, part): part for part in parts}
            while waiting:
                ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ended:
                    hear(waiting.pop(future), future.result())
        except BaseException:
            children.end(pool)
            raise


def _run_to_the_end(part: Part) -> list[Result]:
    """Does the runs of a part in a worker. One that is ended leaves no half of a table, and begins
    no other part: its pool takes what is raised for the end of this one."""
    try:
        with children.unwinding():
            return run_part(part)
    except children.Terminated as end:
        os._exit(128 + end.number)


Files = dict[str, bytes]
"""Files of a run's folder, by their names."""


def _on_ray(study: Study, most: int | None, hear: Listener) -> None:
    with joined(most) as away:
        study = replace(study, source=study.source.absolute())
        parts = parts_of(study, min(most or 1 << 30, away.cores))
        for place, done_away in away(run_away, parts):
            part = parts[place]
            for policy, (_, files) in zip(part.policies, done_away, strict=True):
                keep(part.study, policy, part.seed, files)
            hear(part, [result for result, _ in done_away])


def run_away(part: Part) -> list[tuple[Result, Files]]:
    """Does the runs of a part on a machine that may see nothing of this one's files: their folders
    are sent back. A trace must be there under the same path."""
    if part.study.out is None:
        return [(result, {}) for result in run_part(part)]
    with tempfile.TemporaryDirectory(prefix="fairlead-run-") as out:
        study = replace(part.study, out=Path(out))
        results = run_part(replace(part, study=study))
        found = []
        for policy, result in zip(part.policies, results, strict=True):
            there = folder(study, policy, part.seed)
            assert there is not None  # the study has a folder
            files = {file.name: file.read_bytes() for file in sorted(there.iterdir())}
            found.append((result, files))
        return found


def keep(study: Study, policy: str, seed: int, files: Files) -> None:
    """Writes the files of a run that was done elsewhere; `run.json` comes last, as always."""
    there = folder(study, policy, seed)
    if there is not None:
        for name in sorted(files, key=lambda name: (name == RUN, name)):
            write_file(there / name, files[name])
