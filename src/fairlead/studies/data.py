"""Real data that studies read: where it is, and how to obtain it."""

from __future__ import annotations

import os
from pathlib import Path

from fairlead.model.errors import InputError

VARIABLE = "FAIRLEAD_DATA"

ORIGINS = {
    "google-2011": "machine_events, and the first part of task_events and of job_events, of"
    " clusterdata-2011-2 (described at github.com/google/cluster-data)",
    "google-2019-sample": "samples of clusterdata-2019 (described at"
    " github.com/google/cluster-data)",
    "alibaba-gpu-2023": "the CSV files of cluster-trace-gpu-v2023 at"
    " github.com/alibaba/clusterdata",
    "facebook-swim": "the files of github.com/SWIMProjectUCB/SWIM, workloadSuite",
    "philly-2017-jobs": "cluster_job_log of github.com/msr-fiddle/philly-traces",
}
"""The folders in the data directory, and where their files come from."""


def folder(name: str) -> Path:
    """The folder of a data set in the data directory: that of FAIRLEAD_DATA, or `shared/data` in
    the folder that the checkout is in. Raises InputError with how to obtain what is not there."""
    named = os.environ.get(VARIABLE)
    beside = Path(__file__).resolve().parents[4] / "shared" / "data"
    found = (Path(named) if named else beside) / name
    if not found.is_dir():
        raise InputError(
            f"the data {name} is not there ({found})",
            f"put {ORIGINS[name]} into a folder {name}, and let {VARIABLE} name the folder that it"
            " is in",
        )
    return found
