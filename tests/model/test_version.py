"""The order of versions: real strings of distributions, and the rules that are stated."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.version import version

# As `uname -r` and package lists say them, each line in its order.
REAL = {
    "ubuntu": [
        "5.4.0-169-generic",
        "5.15.0-9-generic",
        "5.15.0-91-generic",
        "5.15.0-105-generic",
        "6.2.0-39-generic",
        "6.5.0-14-lowlatency",
    ],
    "debian": ["5.10.0-27-amd64", "6.1.0-9-amd64", "6.1.0-18-amd64", "6.10.6-amd64"],
    "rhel": [
        "3.10.0-1160.105.1.el7.x86_64",
        "4.18.0-477.27.1.el8_8.x86_64",
        "4.18.0-513.5.1.el8_9.x86_64",
        "5.14.0-70.13.1.el9_0.x86_64",
        "5.14.0-362.8.1.el9_3.x86_64",
    ],
    "suse": [
        "4.12.14-122.186-default",
        "5.14.21-150400.24.97-default",
        "5.14.21-150500.55.39-default",
    ],
    "fedora": ["6.5.6-300.fc39.x86_64", "6.6.9-200.fc39.x86_64", "6.6.12-200.fc39.x86_64"],
    "arch": ["6.6.8-arch1-1", "6.6.10-arch1-1", "6.7.0-arch3-1"],
    "drivers": ["470.223.02", "535.54.03", "535.129.03", "545.23.08"],
    "openssl": ["1.0.2zi", "1.1.1", "1.1.1t", "1.1.1w", "3.0.2-0ubuntu1.12"],
    "epochs": ["2.38-4ubuntu2", "1:1.0-1", "1:1.2.11.dfsg-2ubuntu9.2", "2:0.1"],
    "previews": ["2.0~beta1", "2.0~rc1", "2.0", "2.0-1", "2.0^git1", "2.0.2"],
    # What comes behind a hyphen decides last: it is the revision of a package.
    "revisions": [
        "1.0-1",
        "1.0-1ubuntu1",
        "1.0+dfsg-1",
        "1.0.1",
        "5.2-2",
        "5.2.1",
        "255-3",
        "255.2",
    ],
}


@pytest.mark.parametrize("name", REAL)
def test_real_strings_come_in_their_order(name: str) -> None:
    found = [version(text) for text in REAL[name]]
    for before, after in pairwise(found):
        assert before is not None
        assert after is not None
        assert before < after


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("5.9", "5.10"),
        ("5.10", "5.15.0-91-generic"),
        ("5.15", "5.15.0-91-generic"),  # who has more is newer
        ("5.15.0-91", "5.15.3"),  # a zero in the middle counts
        ("1.0a", "1.0.1"),  # letters come before numbers
        ("1.0", "1.0a"),
        ("1.0~a", "1.0"),
        ("-1", "0"),
        ("-1", "0.1"),
    ],
)
def test_who_comes_first(low: str, high: str) -> None:
    one, other = version(low), version(high)
    assert one is not None
    assert other is not None
    assert one < other


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("5", "5.0"),
        ("5.0.0", "5"),
        ("5.15", "5.15.0"),
        ("007", "7"),
        ("1.2_3", "1.2.3"),
        ("6.1-0", "6.1"),
    ],
)
def test_what_is_the_same(one: str, same: str) -> None:
    assert version(one) == version(same)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "generic",
        "v5.10",
        "1e3",
        "0x10",
        "12:30",
        "5.",
        "5..1",
        "5 1",
        "-1.5",
        "1.5" * 100,
        "٣.١",
    ],
)
def test_what_has_no_order(text: str) -> None:
    assert version(text) is None


def test_a_kernel_as_machines_say_it() -> None:
    needs = Requirement("kernel", Operator.AT_LEAST, ["5.10"])
    assert needs.matches({"kernel": "5.15.0-91-generic"})
    assert not needs.matches({"kernel": "5.4.0-169-generic"})
