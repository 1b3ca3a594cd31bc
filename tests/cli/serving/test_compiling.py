"""What is said of compiling before a service serves: something where it takes its time."""

from __future__ import annotations

import pytest

from fairlead.cli.serving.compiling import SAID, compile_first, compiling_progress


def test_nothing_is_said_where_all_was_kept(capsys: pytest.CaptureFixture[str]) -> None:
    compile_first()
    capsys.readouterr()
    compile_first()  # all of it is there now
    assert capsys.readouterr() == ("", "")


def test_the_first_function_that_is_compiled_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling_progress() as show:
        assert capsys.readouterr().err == ""
        show(0, 200)
        show(1, 200)  # within ten seconds: no second line
    assert capsys.readouterr() == ("", f"{SAID}: a minute or two\n")
