"""The file that says which engine this is."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.engines.interface import EngineError
from fairlead.engines.local.identity import Identity
from fairlead.engines.local.processes import boot
from fairlead.model.errors import InputError


def test_the_name_stays_and_the_owner_grows(tmp_path: Path) -> None:
    first = Identity(tmp_path / "engine")
    assert first.new
    first.take(3)
    again = Identity(tmp_path / "engine")
    assert (again.new, again.name, again.owner) == (False, first.name, 3)
    with pytest.raises(EngineError, match="it is owner 3 of the journal, and this one was owner 2"):
        again.take(2)
    with pytest.raises(EngineError, match="stop this service, remove the head file"):
        again.take(2)
    again.take(4)
    with pytest.raises(EngineError, match="owner 4"):
        first.check(3)


def test_the_file_of_a_version_before_is_read(tmp_path: Path) -> None:
    (tmp_path / "engine").write_text(f"0123456789ab {boot()}\n")
    found = Identity(tmp_path / "engine")
    assert (found.name, found.owner, found.same_boot) == ("0123456789ab", 0, True)


@pytest.mark.parametrize(
    "data", [b"", b"x", b"0123456789ab", b"0123456789ab a b\n", b"\xff\x00", b"a b c d e\n"]
)
def test_a_damaged_file_is_one_sentence_and_stays(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "engine"
    path.write_bytes(data)
    with pytest.raises(InputError, match="does not say which engine this is; put back") as caught:
        Identity(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == data


def test_a_folder_in_its_place_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    with pytest.raises(InputError, match="does not say which engine this is"):
        Identity(tmp_path / "engine")
