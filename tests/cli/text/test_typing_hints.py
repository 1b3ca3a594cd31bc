"""Hints for jobs that can never run: what is close, or else what there is."""

from __future__ import annotations

import pytest

import fairlead
from fairlead.cli.text.typing_hints import typing_hints

CLUSTER = fairlead.Cluster(
    [
        fairlead.Machine("a1", {"cpu": 4, "gpu": 1}, {"zone": "east", "gpu-model": "a100"}),
        fairlead.Machine("a2", {"cpu": 4}, {"zone": "west", "kernel": "5.15"}),
    ]
)


@pytest.mark.parametrize(
    ("demand", "where", "hints"),
    [
        ({"gpus": 1}, "", ['no machine has any gpus; did you mean "gpu"?']),
        ({"CPU": 1}, "", ['no machine has any CPU; did you mean "cpu"?']),
        ({"cpu": 1}, "zoen = east", ['no machine has the label zoen; did you mean "zone"?']),
        (
            {"cpu": 1},
            "gpu_model",
            ['no machine has the label gpu_model; did you mean "gpu-model"?'],
        ),
        ({"cpu": 1}, "kernl > 5", ['no machine has the label kernl; did you mean "kernel"?']),
        ({"cpu": 1}, "gpu-model = A100", ['no machine has gpu-model = A100; did you mean "a100"?']),
        ({"cpu": 1}, "zone in (eastt)", ['no machine has zone = eastt; did you mean "east"?']),
        (
            {"cpu": 1},
            "rack = 7",
            ["no machine has the label rack; there is gpu-model, kernel, zone"],
        ),
        ({"cpu": 1}, "gpu-model = h100", ["no machine has gpu-model = h100; there is a100"]),
        (
            {"cpu": 1},
            "gpu-model in (a1000, a10)",
            [
                "no machine has gpu-model = a1000; there is a100",
                "no machine has gpu-model = a10; there is a100",
            ],
        ),
        (
            {"cpu": 1},
            "zone = north, zoen != east",
            ["no machine has zone = north; there is east, west"],
        ),
        ({"disk": 1}, "", ["no machine has any disk; there is cpu, gpu"]),
    ],
)
def test_a_hint_names_what_is_close_or_there(
    demand: dict[str, int], where: str, hints: list[str]
) -> None:
    jobs = [fairlead.Job("j", demand, where=where)]
    answer = fairlead.allocate(CLUSTER, jobs)
    assert answer.jobs[0].nowhere is not None
    assert list(typing_hints(CLUSTER, jobs, answer.jobs)) == [f"job j: {hint}" for hint in hints]


def test_who_runs_has_no_hint() -> None:
    jobs = [fairlead.Job("j", {"cpu": 1}, where="zoen != east")]
    assert not list(typing_hints(CLUSTER, jobs, fairlead.allocate(CLUSTER, jobs).jobs))
