"""One Slurm cluster for all tests of this folder, and one with accounting for those of a file; they
start in seconds, once a test asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.lasting import Lasting
from tests.engines.slurm import accounting
from tests.engines.slurm.ground import Ground, missing_programs

BEST = """\
PriorityFlags=MAX_TRES
PriorityWeightFairshare=1000
PriorityDecayHalfLife=1-0
PriorityCalcPeriod=1
"""
"""Slurm's fair tree as its own guides would have it where there are GPUs, with the partitions'
`TRESBillingWeights`."""

ACCOUNTS = """\
Cluster - tests
Parent - root
Account - physics:Fairshare=3
Account - vision:Fairshare=1
Parent - vision
Account - maps:Fairshare=2
Parent - maps
User - games:Fairshare=5
User - man:Fairshare=1
Parent - physics
User - lp:Fairshare=2
User - man:Fairshare=1
User - root:Fairshare=1
"""
"""Users are those that a Debian has: a job runs as somebody who exists."""


FORGETFUL = "MinJobAge=60\n"
"""Jobs that are over are shown for a minute, not for five: each of them makes each reading of
all jobs dearer, and a test looks each half second, at the least, for what it waits for."""

CLUSTER = Lasting(lambda: Ground(FORGETFUL), Ground.down)


@pytest.fixture(scope="module")
def slurm(request: pytest.FixtureRequest) -> Ground:
    """Twelve nodes."""
    missing = missing_programs()
    if missing:
        pytest.skip(
            f"{', '.join(missing)}: not there (Debian: slurmctld, slurmd, slurm-client, munge)"
        )
    return CLUSTER.until_folder_is_done(request)


@pytest.fixture(scope="module")
def accounted() -> Iterator[Ground]:
    """Twelve nodes, with slurmdbd; its accounts are those of `ACCOUNTS`."""
    missing = missing_programs(*accounting.PROGRAMS)
    if missing:
        pytest.skip(
            f"{', '.join(missing)}: not there (Debian: slurmdbd, mariadb-server-core,"
            " mariadb-client-core)"
        )
    made = Ground(BEST, ACCOUNTS)
    yield made
    made.down()
