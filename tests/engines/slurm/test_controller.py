"""Where commands cannot reach Slurm, they say nothing of a job: it is not refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.placing.controller import Commands, RefusedError, Submission

WITHOUT_MUNGE = """\
sbatch: error: If munged is up, restart with --num-threads=10
sbatch: error: Munge encode failed: Failed to access "/run/munge/munge.socket.2": No such file or \
directory (Did you start munged?)
sbatch: error: slurm_send_node_msg: auth_g_create: REQUEST_SUBMIT_BATCH_JOB has authentication error
sbatch: error: Batch job submission failed: Protocol authentication error
"""
"""Slurm 22.05, where munge's socket is gone."""

REFUSED = "sbatch: error: Batch job submission failed: Invalid account or account/partition\n"


@pytest.mark.parametrize(
    ("said", "raised"), [(WITHOUT_MUNGE, EngineError), (REFUSED, RefusedError)]
)
def test_a_job_is_refused_by_slurm_alone_and_not_by_its_absence(
    said: str, raised: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(f"#!/bin/sh\ncat >&2 <<'E'\n{said}E\nexit 1\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(raised):
        Commands().submit(Submission((), "#!/bin/sh\n", None))
