"""The live page with what nobody wishes for: many tenants, names of all kinds, no machine
that takes tasks, a sign-in that ends, and no storm of questions when the service comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Request, expect

from tests.cli.live.place import until
from tests.dashboard.eyes import said_by
from tests.dashboard.test_live import FAILS, VIEWS, Place
from tests.ports import kept_port
from tests.service.signin.issuer import issuing

MARKUP = "<b>bold</b>&amp;"
HEBREW = "שלום-עולם"
LONG = "x" * 200
TENANTS = 120
"""More than a page shows."""

CLUSTER = f"""\
machines:
  - {{name: "a;b", capacity: {{cpu: 4, memory: 2GiB}}, labels: {{zone: "{MARKUP}"}}}}
  - {{name: "{HEBREW}", capacity: {{cpu: 4, memory: 2GiB}}}}
  - {{name: "{LONG}", capacity: {{cpu: 4, memory: 2GiB}}}}
tenants:
  - {{name: "{MARKUP}"}}
  - {{name: "{HEBREW}"}}
  - {{name: "{LONG}"}}
"""

AWAY = 4_000
"""Milliseconds for which the service is away."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service with such names."""
    folder = tmp_path_factory.mktemp("service")
    more = "".join(f"  - {{name: team-{k:03}}}\n" for k in range(TENANTS - 3))
    (folder / "cluster.yaml").write_text(CLUSTER + more, encoding="utf-8")
    with kept_port() as port, issuing() as issuer:
        made = Place(folder, port, issuer)
        made.submit("work", MARKUP, 3)
        made.submit(LONG, HEBREW, 4)
        made.submit(HEBREW, LONG, 4)
        yield made
        made.close()


def test_no_column_is_cut_off_by_long_names(place: Place, signed_in: Callable[..., Page]) -> None:
    page = signed_in("jobs", width=720)
    for view in ("jobs?state=all", "events", "machines", "tenants"):
        page.goto(f"{place.url}/#{view}")
        expect(page.locator("main .wide tbody tr").first).to_be_visible()
        for width in (720, 768, 1000):
            page.set_viewport_size({"width": width, "height": 900})
            for each in page.locator("main .wide").all():
                wide = each.evaluate("each => each.scrollWidth - each.clientWidth")
                assert wide == 0, (view, width)


def test_names_of_all_kinds_are_text_and_fit_a_telephone(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("now", width=400)
    for view, shown in VIEWS.items():
        page.goto(f"{place.url}/#{view}")
        expect(page.locator(f"main {shown}").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, view
        assert page.locator("main b", has_text="bold").filter(has_not_text="<b>").count() == 0, view
    # A cell of four lines keeps how many tasks whoever is in the way runs, whatever its name.
    held = {"cause": "held", "able": 12471, "machines": "", "lacking": {"cpu": 1}}
    brief = "views/causes.js", "brief(given)"
    cell = said_by(page, *brief, {**held, "counts": {"b": 1140, LONG: 5554}})
    assert cell.startswith(f"waits for cpu on 12471 machines: {'x' * 12}… runs most: 5554 tasks")
    cell = said_by(page, *brief, {**held, "counts": {"b": 2, "a": 2, LONG: 1}})
    assert cell.endswith(": b runs 2 tasks and others 3 beyond what is guaranteed")
    page.goto(f"{place.url}/#time?tenant={LONG}")
    expect(page.locator("main figcaption", has_text=LONG)).to_be_visible(timeout=90_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.goto(f"{place.url}/#tenants?order=jobs")
    names = page.get_by_role("rowheader")
    expect(names).to_have_count(100)
    assert {MARKUP, HEBREW, LONG} == set(names.all_inner_texts()[:3])
    page.get_by_role("button", name="Next page").click()
    expect(names.first).to_have_text("team-097")


def test_a_machine_with_a_semicolon_in_its_name_is_removed_to_see_who_loses(
    signed_in: Callable[..., Page],
) -> None:
    page = signed_in("what-if")
    page.get_by_text("Other changes, a line each").click()
    page.get_by_label("Remove machines").fill(f"a;b\n{HEBREW}")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("region", name="tenants before and after")).to_be_visible()
    asked = page.evaluate("new URLSearchParams(location.hash.split('?')[1]).getAll('remove')")
    assert asked == ["a;b", HEBREW]
    page.reload()
    expect(page.get_by_role("region", name="tenants before and after")).to_be_visible()


def test_where_no_machine_takes_tasks_every_view_says_so(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    place.client.drain_machines("a;b", HEBREW, LONG)
    page = signed_in("water")
    expect(page.locator("main")).to_contain_text(
        "There is nothing to share: no machine takes tasks"
    )
    page.goto(f"{place.url}/#bottlenecks")
    expect(page.locator("main")).to_contain_text("There is nothing to share")
    page.goto(f"{place.url}/#now")
    expect(page.locator("tbody tr").first).to_be_visible()
    waits = next(job.name for job in place.client.jobs() if job.tasks.waiting)
    page.goto(f"{place.url}/#why/{waits}")
    expect(page.locator(".funnel li").last).to_contain_text("take tasks")
    place.client.undrain_machines("a;b", HEBREW, LONG)


def test_a_service_that_comes_back_is_not_asked_by_all_pages_at_once(
    place: Place, signed_in: Callable[..., Page], open_page: Callable[..., Page]
) -> None:
    pages = [signed_in("now", expected=FAILS)]
    pages += [open_page(f"{place.url}/#now", expected=FAILS, beside=True)]
    for page in pages:
        expect(page.locator("tbody tr").first).to_be_visible()
    asked: list[Request] = []
    for page in pages:
        page.on("request", lambda request: asked.append(request))  # noqa: PLW0108 - it takes no built-in
    place.served.process.kill()
    place.served.process.wait()
    for page in pages:
        expect(page.get_by_role("status")).to_contain_text("The service is away")
    pages[0].wait_for_timeout(AWAY)
    # Each waits ever longer between its tries: a half to 1.5 seconds, then 1 to 3, then 2 to 6.
    assert len(asked) <= 5 * len(pages)
    place.start()
    for page in pages:
        expect(page.get_by_role("status")).to_be_hidden()
        expect(page.locator("tbody tr").first).to_be_visible()
    # A page that is back follows one stream, and asks for nothing beside it more than once.
    assert len(asked) <= 12 * len(pages)


def test_whoever_signed_in_is_asked_again_once_it_has_expired_and_goes_on_where_he_was(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    assert place.issuer is not None
    page = signed_in(f"jobs?tenant={LONG}", place.issuer.jwt(), expected=FAILS)
    theirs = page.get_by_role("rowheader", name=HEBREW)
    expect(theirs).to_be_visible()
    expect(page.locator("header")).to_contain_text("ada")
    now = time.time()
    old = place.issuer.jwt(iat=now - 600, exp=now - 300)
    (cookie,) = page.context.cookies()
    page.context.add_cookies(  # as it is minutes later
        [{"name": cookie["name"], "value": old, "url": place.url, "httpOnly": True}]
    )
    place.submit("stirs", HEBREW)
    said = page.get_by_role("alert")
    expect(said).to_contain_text("Your sign-in has ended: the JWT has expired.")
    expect(page.get_by_label("Token")).to_be_focused()
    expect(theirs).to_have_count(0)
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))  # noqa: PLW0108 - it takes no built-in
    place.client.cancel("stirs")
    until(lambda: place.client.job("stirs").state.value == "cancelled")
    page.evaluate("1")  # what was asked before this would have been told by now
    assert asked == []  # a page that nobody is signed in to asks for nothing
    page.get_by_label("Token").fill(place.issuer.jwt())
    page.get_by_label("Token").press("Enter")
    expect(theirs).to_be_visible()
    assert page.url.endswith(f"#jobs?tenant={LONG}")
    expect(page.get_by_role("rowheader")).to_have_count(1)
