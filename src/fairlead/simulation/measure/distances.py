"""The sink that measures how far a run is from the exact allocation, sample by sample."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from fairlead.scheduling.state.scales import FIFO, Classes, Scaler
from fairlead.sharing.present import Snapshot, Tenants
from fairlead.simulation.measure.distance import Sample, Summary, sample_now, summary_of
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.sinks import RunInfo, Sink
from fairlead.simulation.measure.tables import Form, Table
from fairlead.simulation.workload import Floats, Ints, Workload

DISTANCE = Form(
    "fairlead.simulation.distance/1",
    (
        ("time", pa.int64()),
        ("tenants", pa.int64()),
        ("rmse_percent", pa.float64()),
        ("rmse_sorted_percent", pa.float64()),
        ("largest_shortfall", pa.float64()),
        ("whose", pa.string()),
    ),
)


FAIR = Form(
    "fairlead.simulation.fair/1",
    (
        ("time", pa.int64()),
        ("tenant", pa.string()),
        ("share", pa.float64()),
        ("fair", pa.float64()),
    ),
)


class Distances(Sink):
    """At each sample the distance from the exact allocation of the present demand, on the run's
    own scales. Each sample solves for that allocation: choose how often. `path` None: no file;
    else `fair` beside it says what each tenant held and would hold exactly."""

    def __init__(self, every: int, path: str | Path | None = None) -> None:
        self.every = every
        self.path = None if path is None else Path(path)
        self._table: Table | None = None
        self._fair: Table | None = None
        self._run: RunInfo | None = None
        self._samples: list[Sample] = []
        self._whose: list[str | None] = []

    def start(self, run: RunInfo) -> None:
        self._run = run
        self._samples, self._whose = [], []
        if self.path is not None:
            self._table = Table(self.path, DISTANCE)
            self._fair = Table(self.path.with_name(f"fair{self.path.suffix}"), FAIR)

    def sample(self, moment: Moment) -> None:
        assert self._run is not None  # start() comes first
        now = snapshot_of(self._run.workload, moment)
        if self._run.policy == FIFO:
            now = replace(now, scale=tsf_scale(self._run.workload, moment))
        tenants = tenants_of(self._run.workload, moment)
        found = sample_now(now, tenants, partial(self._tell, moment.time))
        if found is not None:
            self._samples.append(found)
            # Now, because a job's name is forgotten when it is over.
            self._whose.append(None if found.whose is None else self._name(found.whose))

    def _tell(self, time: int, held: Floats, exact: Floats, owner: Ints) -> None:
        """Writes what each tenant holds and would hold exactly."""
        if self._fair is not None:
            names = [self._name(whose) for whose in owner.tolist()]
            times = [time] * len(names)
            self._fair.write({"time": times, "tenant": names, "share": held, "fair": exact})

    def finish(self) -> None:
        if self._table is None or self._fair is None:
            return
        self._fair.close()
        samples = self._samples
        self._table.write(
            {
                "time": [sample.time for sample in samples],
                "tenants": [sample.tenants for sample in samples],
                "rmse_percent": [sample.rmse for sample in samples],
                "rmse_sorted_percent": [sample.rmse_sorted for sample in samples],
                "largest_shortfall": [sample.shortfall for sample in samples],
                "whose": self._whose,
            }
        )
        self._table.close()

    def abandon(self) -> None:
        if self._table is not None:
            self._table.abandon()
        if self._fair is not None:
            self._fair.abandon()

    @property
    def summary(self) -> Summary:
        return summary_of(self._samples)

    def figures(self) -> tuple[float | None, float | None]:
        """The mean RMSE and the largest shortfall, in percent; None where nothing was sampled."""
        found = self.summary
        return (found.rmse, found.largest.shortfall) if found.largest else (None, None)

    def _name(self, whose: int) -> str:
        assert self._run is not None  # start() comes first
        return (
            self._run.workload.tenants[whose].name if whose >= 0 else self._run.job_name(-1 - whose)
        )


def tsf_scale(workload: Workload, moment: Moment) -> Floats:
    """TSF's scale at this moment, by which fifo is measured: it has none of its own."""
    resources = workload.resources
    pieces = np.array([resource.piece for resource in resources], np.int64)
    scaler = Scaler("tsf", tuple(resource.name for resource in resources), pieces)
    machines = np.arange(len(moment.machine))
    there = Classes(moment.capacity, moment.satisfied, np.ones_like(machines), machines)
    return scaler.scales(moment.demand, moment.needs, moment.spread, there).scale


def snapshot_of(workload: Workload, moment: Moment) -> Snapshot:
    """The moment as the exact allocation takes it: the machines that take tasks or hold some."""
    return Snapshot(
        time=moment.time,
        capacity=moment.capacity,
        satisfies=moment.satisfied,
        job=moment.job,
        tenant=moment.tenant,
        demand=moment.demand,
        needs=moment.needs,
        spread=moment.spread,
        waiting=moment.waiting,
        held=moment.held,
        scale=moment.scale,
        gang=moment.gang,
        piece=np.array([resource.piece for resource in workload.resources], np.int64),
    )


def tenants_of(workload: Workload, moment: Moment) -> Tenants:
    """The workload's tenants with the weights of this moment."""
    limit = workload.limits if (workload.limits >= 0).any() else None
    return Tenants(workload.parents, moment.tenant_weight, limit)
