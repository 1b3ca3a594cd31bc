"""The check knows the scale of every built-in policy, by itself."""

from __future__ import annotations

from fairlead.sharing.certificate.scales import _KNOWN
from fairlead.sharing.rules.registry import POLICIES


def test_the_check_knows_every_built_in_policy() -> None:
    assert not set(POLICIES) - set(_KNOWN), (
        "write their scales once more into src/fairlead/sharing/certificate/scales.py"
    )
