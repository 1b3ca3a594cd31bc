"""What is wrong with the job of a command is told in the command's words."""

from __future__ import annotations

import argparse

import pytest

from fairlead.cli.commands import submit
from fairlead.cli.common.submit_job import job_of_command
from fairlead.model.errors import InputError


def test_who_leaves_the_number_of_tasks_out_has_one() -> None:
    parser = argparse.ArgumentParser()
    submit.configure(parser)
    args = parser.parse_args(["--name", "x", "--tasks", "0", "--url", "http://127.0.0.1:1"])
    args.files, args.command = [], ["true"]
    with pytest.raises(InputError, match=r"no.* number of tasks; .* leave it out for one"):
        job_of_command(args)
    args.tasks = None
    (job,) = job_of_command(args).jobs
    assert job.tasks == 1
