"""The dashboard's files: served exactly, with a policy that lets nothing else in."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from fairlead.dashboard.assets import served_files
from fairlead.dashboard.page import FOLDER
from tests.service.api.stage import Stage

FILES = Path(str(FOLDER))

BUILD = served_files().build

BELOW = f'"/dashboard/{BUILD}/'
"""How the page begins the address of what it loads."""

NAMES = sorted(each.relative_to(FILES).as_posix() for each in FILES.rglob("*") if each.is_file())


def test_there_is_something_to_serve() -> None:
    assert {"index.html", "style.css", "live/main.js"} <= set(NAMES)
    assert set(served_files().files) == set(NAMES)


def written(name: str) -> bytes:
    """What a file is served as: the page names the build that it loads."""
    text = (FILES / name).read_bytes()
    return text.replace(b'"/dashboard/', BELOW.encode()) if name == "index.html" else text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("token", [None, "fl_root_wrong"], ids=["no token", "a wrong one"])
def test_every_file_is_served_to_everybody_as_it_is(
    stage: Stage, name: str, token: str | None
) -> None:
    answer = stage.get(f"/dashboard/{name}", token)
    assert answer.status == 200
    assert answer.body == written(name)
    kinds = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
    kind = kinds[name.rpartition(".")[2]]
    assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    again = stage.get(f"/dashboard/{name}", None, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    head = stage.ask("HEAD", f"/dashboard/{name}", None)
    assert (head.status, head.headers) == (200, answer.headers)


def test_the_page_may_run_and_ask_nothing_but_this_service(stage: Stage) -> None:
    answer = stage.get("/", None)
    assert answer.body == written("index.html")
    policy = answer.headers["content-security-policy"]
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    # One policy: two would be met together, and the API's own forbids all.
    assert stage.get("/v1/version", None).headers["content-security-policy"] != policy


def test_the_page_needs_no_script_or_style_within_it_and_no_other_host() -> None:
    for name, file in served_files().files.items():
        text = file.content.decode()
        assert not re.search(r"//(?!www\.w3\.org/2000/svg)[a-z0-9-]+\.[a-z]{2,}", text), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    page = served_files().files["index.html"].content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    names = re.findall(rf"(?:src|href)={BELOW}([^\"]*)\"", page)
    assert len(names) == len(re.findall("dashboard/", page)) == 3
    assert set(names) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_browser_has_of_a_build_is_never_asked_for_again(stage: Stage, name: str) -> None:
    plain = stage.get(f"/dashboard/{name}", None)
    assert plain.headers["cache-control"] == "no-cache"
    for asked, kept in ((BUILD, "public, max-age=31536000, immutable"), ("0" * 32, "no-cache")):
        answer = stage.get(f"/dashboard/{asked}/{name}", None)
        assert (answer.status, answer.body) == (200, plain.body)
        assert answer.headers == {**plain.headers, "cache-control": kept}
    assert stage.get("/", None).headers["cache-control"] == "no-cache"


def test_any_change_is_another_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds = set()
    copy = tmp_path / "files"
    shutil.copytree(FILES, copy)
    monkeypatch.setattr("fairlead.dashboard.assets.FOLDER", copy)
    for name in ("none", "index.html", "style.css", "live/main.js"):
        if name != "none":
            (copy / name).write_text((copy / name).read_text() + "\n")
        builds.add(served_files.__wrapped__().build)
    (copy / "style.css").rename(copy / "styles.css")
    builds.add(served_files.__wrapped__().build)
    assert len(builds) == 5


@pytest.mark.parametrize(
    "path",
    [
        "/dashboard/",
        "/dashboard",
        "/dashboard/no.js",
        "/dashboard/../page.py",
        "/dashboard/..%2Fpage.py",
        "/dashboard/%2e%2e%2fserved.py",
        "/dashboard/..\\page.py",
        "/dashboard/..",
        "/dashboard/.",
        "/dashboard//etc/passwd",
        "/dashboard/%2Fetc%2Fpasswd",
        "/dashboard/live/main.js%00",
        "/dashboard/live/main.js/",
        "/dashboard/live/Main.js",
        "/dashboard/live",
        "/dashboard/live/",
        "/dashboard/live/../style.css",
        "/dashboard/live/..%2Fstyle.css",
        "/dashboard/live%2Fmain.js",
        "/dashboard/main.js",
        f"/dashboard/{BUILD}",
        f"/dashboard/{BUILD}/",
        f"/dashboard/{BUILD}/no.js",
        f"/dashboard/{BUILD}/live",
        f"/dashboard/{BUILD}/live/no.js",
        f"/dashboard/{BUILD}/../style.css",
        f"/dashboard/{BUILD}/live/..%2Fstyle.css",
        f"/dashboard/{BUILD}/live/../style.css",
        f"/dashboard/{BUILD.upper()}/live/main.js",
        f"/dashboard/{BUILD}0/live/main.js",
        "/dashboard/live/live/main.js",
        "/dashboard/live/style.css",
        "/dashboard/index.html%20",
        "//",
    ],
)
def test_nothing_else_is_served(stage: Stage, path: str) -> None:
    answer = stage.get(path, None)
    assert (answer.status, answer.kind) == (404, "not_found")


def test_a_parameter_is_refused_and_so_is_another_method(stage: Stage) -> None:
    assert stage.get("/?token=fl_root_x", None).status == 422
    assert stage.ask("POST", "/", None).status == 405
    assert stage.ask("DELETE", "/dashboard/live/main.js", None).status == 405
