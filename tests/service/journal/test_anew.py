"""A new journal in an empty place beside a state folder that belonged to another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.cli.serving.anew import NewJournal
from fairlead.model.errors import InputError
from fairlead.service.journal.entry import JournalError
from fairlead.service.journal.places import open_reader, open_store
from tests.service.conftest import Databases

ENGINES = {"local/engine": "0bc710215766 x 7\n", "slurm/engine": "0bc710215766 7\n"}
LEFT = (*ENGINES, "admin-token", "ray.json", "local/output/0", "journal-head", "journal.db")


@pytest.mark.parametrize("left", LEFT)
def test_an_empty_database_is_no_journal_for_a_folder_that_had_one(
    left: str, postgres: Databases, tmp_path: Path
) -> None:
    url, state = postgres(), tmp_path / "state"
    (state / left).parent.mkdir(parents=True)
    (state / left).write_text(ENGINES.get(left, "something\n"))
    try:
        with pytest.raises(InputError, match="the journal is gone"):
            open_store(url, state / "journal-head", NewJournal(state, asked=False))
        with pytest.raises(JournalError, match="there is no journal"):
            open_reader(url)
        new = NewJournal(state, asked=True)
        store = open_store(url, state / "journal-head", new)
        new.check()
        assert store.last() == 0
        store.close()
        if left in ENGINES:
            assert (state / left).read_text().endswith(" 0\n")
        else:
            assert new.aside is not None
            assert (new.aside / Path(left).parts[-1]).exists() or left == "local/output/0"
        again = NewJournal(state, asked=True)
        open_store(url, state / "journal-head", again).close()
        with pytest.raises(InputError, match="this one's is there"):
            again.check()
    finally:
        postgres.leave(url)


def test_a_folder_in_which_only_a_log_and_an_empty_token_are_begins(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "local" / "output").mkdir(parents=True)
    (state / "service.log").write_text("serving\n")
    (state / "admin-token").touch()
    open_store(state, None, NewJournal(state, asked=False)).close()
    assert (state / "journal.db").exists()
