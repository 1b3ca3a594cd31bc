"""Files of witnesses: one for each, under names that any disk takes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from fairlead.cli.common.witness_files import write_witnesses
from tests.audit.build import audited, given, witness_of
from tests.papers.test_tsf import FIGURE_3, SEVEN

ENVY = witness_of(audited("envy-freeness", given(FIGURE_3, SEVEN), "cdrf"))


def test_policies_that_differ_only_in_signs_have_files_of_their_own(tmp_path: Path) -> None:
    policies = ("kdf(2)", "kdf:2", "KDF-2", "kdf_2", "tsf")
    wanted = [(policy, about) for policy in policies for about in ("envy", "lies")]
    found = [(policy, about, replace(ENVY, policy=policy)) for policy, about in wanted]
    write_witnesses(found, str(tmp_path / "new" / "folder"))
    said = {
        path.name: json.loads(path.read_text(encoding="utf-8"))["policy"]
        for path in (tmp_path / "new" / "folder").iterdir()
    }
    assert len(said) == len(wanted)
    assert sorted(said.values()) == sorted(policy for policy, _ in wanted)
    assert (said["kdf_2-envy.json"], said["kdf_2_2-envy.json"]) == ("kdf(2)", "kdf:2")
    assert said["tsf-lies.json"] == "tsf"
