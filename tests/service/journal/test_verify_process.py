"""The check of a journal in a process of its own: it hears what is wrong, and leaves no process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.service.journal.lived import kept, lived
from tests.transcripts import ROOT
from tests.zygote.forked import finished


@pytest.mark.slow  # at a low priority: among the first, or it is waited for at the end
def test_a_journal_is_checked_aside_and_damage_is_heard_of(tmp_path: Path) -> None:
    path = kept(lived(), tmp_path / "journal.db")
    done = finished(["tests.service.journal.aside", "aside", str(path)], ROOT, os.environ)
    right, wrong, left = done.stdout.splitlines()
    assert (right, left) == ("right", "left 0"), done.stderr
    assert "the journal is not shortened: " in wrong
    assert "20" in wrong
