"""The log of a service in the background, as whoever started it sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.cli.serving.compiling import SAID
from fairlead.cli.serving.log import ServiceLog
from fairlead.cli.serving.process import WARNING


def test_who_waits_for_a_start_sees_how_far_it_is_and_why_it_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "service.log"
    file.write_text(f"{SAID}: of the start before\n", encoding="utf-8")
    log = ServiceLog(file, file.stat().st_size)
    with file.open("a", encoding="utf-8", buffering=1) as out:
        out.write(f"{SAID}: about half a minute\n{{}}\n{SAID}: 7 of ab")
        log.show_news()
        assert capsys.readouterr().err == f"{SAID}: about half a minute\n"
        out.write(f"out 9 functions\n{WARNING}it is late\n")
        log.show_news()
        assert capsys.readouterr().err == f"{SAID}: 7 of about 9 functions\n{WARNING}it is late\n"
        out.write("error: it cannot")
    assert log.greeting() is None
    log.show_others()
    assert capsys.readouterr().err == "{}\nerror: it cannot\n"


def test_what_a_service_does_is_found_behind_all_that_it_said_before(tmp_path: Path) -> None:
    file = tmp_path / "service.log"
    file.write_text("serving 3 machines (local) on http://a\n", encoding="utf-8")
    log = ServiceLog(file, file.stat().st_size)
    with file.open("a", encoding="utf-8", buffering=1) as out:
        out.write('{"event":"tenant_changed"}\n' * 10_000)
        assert log.greeting() is None
        out.write("following the service that leads at http://a; reads are answered on http://b\n")
        found = log.greeting()
    assert found == "following the service that leads at http://a; reads are answered on http://b"
