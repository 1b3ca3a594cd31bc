"""The check of a journal in a process of its own: it hears what is wrong, and leaves no process."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psutil
import pytest

from fairlead.service.journal.entry import JournalError
from fairlead.service.journal.places import open_store
from fairlead.service.recovery.verify_process import aside
from tests.service.fairness.test_process import is_spawned
from tests.service.journal.lived import kept, lived


@pytest.mark.slow  # at a low priority: among the first, or it is waited for at the end
def test_a_journal_is_checked_aside_and_damage_is_heard_of(tmp_path: Path) -> None:
    path = kept(lived(), tmp_path / "journal.db")
    store = open_store(path)
    before = {each.pid for each in psutil.Process().children()}
    aside(path, tmp_path)(store)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE journal_entry SET body = replace(body, '1', '2') WHERE seq = 20")
    connection.close()
    with pytest.raises(JournalError, match=r"the journal is not shortened: .*20"):
        aside(path, tmp_path)(store)
    store.close()
    left = [each for each in psutil.Process().children() if each.pid not in before]
    assert not any(map(is_spawned, left))
