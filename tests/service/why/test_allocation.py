"""What is drawn of the present tells nobody what a job of others asks for."""

from __future__ import annotations

import pytest

from fairlead.audit.finding import Input
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.values import FrozenMap
from fairlead.service.why.allocation import draw_present
from fairlead.service.why.as_live import LiveInput


def present(cluster: Cluster, *jobs: Job) -> LiveInput:
    came = FrozenMap({job.name: (job.tasks, job.gang) for job in jobs})
    return LiveInput(Input(cluster, jobs), frozenset(), FrozenMap(), came, ())


def test_a_policy_that_refuses_a_job_does_not_quote_it() -> None:
    cluster = Cluster([Machine("m", {"cpu": 4, "gpu": 1})])
    given = present(cluster, Job("a", {"gpu": 1}), Job("hidden", {"cpu": "0.4242"}))
    with pytest.raises(InputError, match=r"^what is present cannot be shared out by cmmf\(gpu\)$"):
        draw_present(0, given, "cmmf(gpu)")


def test_without_a_policy_there_is_nothing_to_draw() -> None:
    cluster = Cluster([Machine("m", {"cpu": 4})])
    with pytest.raises(InputError, match="fifo has no shares to draw"):
        draw_present(0, present(cluster, Job("a", {"cpu": 1})), "fifo")
