"""One Slurm cluster for the whole test run; it starts in seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.slurm.ground import Ground, missing_programs


@pytest.fixture(scope="session")
def slurm() -> Iterator[Ground]:
    """Twelve nodes."""
    missing = missing_programs()
    if missing:
        pytest.skip(
            f"{', '.join(missing)}: not there (Debian: slurmctld, slurmd, slurm-client, munge)"
        )
    made = Ground()
    yield made
    made.down()
