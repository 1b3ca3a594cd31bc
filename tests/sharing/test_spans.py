"""Numbers too far apart for exact shares are the user's to mend, and named."""

from __future__ import annotations

import pytest

import fairlead
from fairlead.model.errors import CertificateError, InputError
from fairlead.sharing import allocate as module
from fairlead.sharing.spans import far_apart

FORGOT_A_UNIT = fairlead.Cluster(
    [fairlead.Machine("a1", {"memory": "4TiB", "cpu": 8}), fairlead.Machine("a2", {"memory": 4})],
    [fairlead.Tenant("t", weight=2), fairlead.Tenant("u", weight=3)],
)
JOBS = (
    fairlead.Job("j", {"memory": 1, "cpu": 1}, tenant="t"),
    fairlead.Job("k", {"memory": "1GiB"}, tenant="u"),
)


def test_the_widest_are_named_with_who_has_them() -> None:
    (mistake,) = far_apart(FORGOT_A_UNIT, JOBS)
    assert mistake.what == (
        "the numbers of memory lie too far apart for exact shares: from 1 (job j) to 4Ti"
        " (machine a1)"
    )
    assert "look whether a unit is missing" in mistake.right


def test_numbers_of_one_size_are_not_to_blame() -> None:
    cluster = fairlead.Cluster([fairlead.Machine("a1", {"cpu": 1000, "gpu": 0})])
    assert not list(far_apart(cluster, [fairlead.Job("j", {"cpu": "2m", "gpu": 0})]))


def failing(*_: object) -> None:
    raise CertificateError("job k has too much")


def test_an_answer_that_fails_its_check_is_not_blamed_on_ordinary_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "certify", failing)
    cluster = fairlead.Cluster([fairlead.Machine("a1", {"cpu": 8})])
    with pytest.raises(CertificateError, match="too much"):
        fairlead.allocate(cluster, [fairlead.Job("j", {"cpu": 1})])
    with pytest.raises(InputError, match="lie too far apart"):
        fairlead.allocate(FORGOT_A_UNIT, JOBS)


@pytest.mark.parametrize("apart", [10**12, 10**20, 10**29])
def test_weights_that_no_double_holds_together_are_refused_or_shared(apart: int) -> None:
    cluster = fairlead.Cluster(
        [fairlead.Machine("a1", {"cpu": 16}), fairlead.Machine("a2", {"cpu": 8})],
        [fairlead.Tenant("t", weight=apart), fairlead.Tenant("u")],
    )
    jobs = [fairlead.Job("j", {"cpu": 1}, tenant="t"), fairlead.Job("k", {"cpu": 1}, tenant="u")]
    try:
        assert sum(job.tasks for job in fairlead.allocate(cluster, jobs).jobs) == pytest.approx(24)
    except InputError as error:
        (mistake,) = error.mistakes
        assert "the numbers of weight lie too far apart" in mistake.what
