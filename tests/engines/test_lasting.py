"""What a folder's tests share is made once for them, and gone before those of another one."""

from __future__ import annotations

import os
from pathlib import Path

from tests.zygote.forked import finished

CONFTEST = """
import pytest
from tests.engines.lasting import Lasting

def note(what):
    with open("noted", "a") as file:
        file.write(what + "\\n")

SHARED = Lasting(lambda: note("made") or "it", lambda it: note(f"{it} ended"))

@pytest.fixture(scope="module")
def shared(request):
    return SHARED.until_folder_is_done(request)
"""

TEST = """
from conftest import note

def test_it({shared}):
    note("{name}")
"""

FILES = {"a/first": "shared", "a/next": "shared", "a/last": "", "b/other": "", "a/again": "shared"}
"""Files in their order, and what their test asks for."""


def test_it_is_made_once_for_a_folder_and_ends_with_the_last_of_its_tests(tmp_path: Path) -> None:
    asked = ["pytest", "-q", "-p", "no:cacheprovider", "--confcutdir", "."]
    for name, shared in FILES.items():
        file = tmp_path / f"{name.replace('/', '/test_')}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(TEST.format(shared=shared, name=name), encoding="utf-8")
        asked.append(str(file))
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    done = finished(asked, tmp_path, os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    noted = (tmp_path / "noted").read_text(encoding="utf-8").splitlines()
    once = ["made", "a/first", "a/next", "a/last", "it ended", "b/other"]
    assert noted == [*once, "made", "a/again", "it ended"]
