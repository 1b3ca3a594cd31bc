"""Workers for the runs of a study: this process, one process a core, or a Ray cluster."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairlead import children
from fairlead.extras import missing
from fairlead.model.errors import InputError, InternalError
from fairlead.simulation.measure.result import Result
from fairlead.simulation.studies.study import Part, Study, done, folder, parts_of, run_part
from fairlead.simulation.studies.study_files import RUN, write_file

BEAT = 1.0
"""Seconds between two looks at the clock while all workers are busy."""

Listener = Callable[[Part, Sequence[Result]], object]
"""Hears of the runs of a part as soon as they are done."""


def run_study(
    study: Study,
    workers: int | None = None,
    listener: Listener | None = None,
    *,
    ray: bool = False,
    show: bool = False,
    beat: Callable[[], object] = lambda: None,
) -> list[Result]:
    """All runs of the study, seed by seed, in the order of its policies; those that were done
    before are not done again. Results do not depend on who does them, but for `seconds`.

    `workers`: so many at once at most; None: as many as there are cores, on Ray in the cluster.
    `beat` is called now and then while workers are waited for.
    """
    found = {
        (policy, seed): result
        for seed in study.seeds
        for policy in study.policies
        if (result := done(study, policy, seed)) is not None
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
        most = workers or cores()
        parts = parts_of(study, most)
        if most > 1 and len(parts) > 1:
            _in_processes(parts, min(most, len(parts)), hear, beat)
        else:
            for part in parts:
                hear(part, run_part(part, show=show))
    return [found[policy, seed] for seed in study.seeds for policy in study.policies]


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(
    parts: Sequence[Part], workers: int, hear: Listener, beat: Callable[[], object]
) -> None:
    with children.pool(workers) as pool:
        try:
            waiting = {pool.submit(_run_to_the_end, part): part for part in parts}
            while waiting:
                ended, _ = wait(waiting, timeout=BEAT, return_when=FIRST_COMPLETED)
                for future in ended:
                    hear(waiting.pop(future), future.result())
                if not ended:
                    beat()
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
    try:
        import ray
    except ModuleNotFoundError as error:
        raise missing(error) or error from error
    begun = not ray.is_initialized()
    if begun:
        _join(ray, most)
    try:
        study = replace(study, source=study.source.absolute())
        parts = parts_of(study, min(most or 1 << 30, int(ray.cluster_resources().get("CPU", 1))))
        # A node that is lost is no fault of the run's, which is done again. What fails in a run
        # would fail the same way.
        remote = ray.remote(max_retries=3, retry_exceptions=False)(run_away)
        waiting = {remote.remote(part): part for part in parts}
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            part = waiting.pop(ready[0])
            try:
                done_away = ray.get(ready[0])
            except ray.exceptions.RayTaskError as error:
                raise _cause(error) from error
            except ray.exceptions.RayError as error:
                first = str(error).strip().partition("\n")[0]
                raise InternalError(f"a run on Ray came to nothing: {first}") from error
            for policy, (_, files) in zip(part.policies, done_away, strict=True):
                keep(part.study, policy, part.seed, files)
            hear(part, [result for result, _ in done_away])
    finally:
        if begun:
            ray.shutdown()


def _join(ray: Any, most: int | None) -> None:
    """Connects to the cluster that RAY_ADDRESS names; without one a cluster of this machine is
    begun, for as long as the study takes."""
    address = os.environ.get("RAY_ADDRESS")
    size = {} if address or most is None else {"num_cpus": most}
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, **size)
    except (ConnectionError, RuntimeError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise InputError(
            f"Ray cannot be reached at {address or 'this machine'}: {first}",
            "let RAY_ADDRESS name a cluster that runs, or leave it out to begin one here",
        ) from error


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


def _cause(error: Any) -> BaseException:
    """The error that the task raised: a user's mistake must be shown as one."""
    cause: BaseException = error.cause
    return cause
