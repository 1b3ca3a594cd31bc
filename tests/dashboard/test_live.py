"""The live page in a browser, on a real service: who gets in, what is shown to whom, what moves,
and what becomes of it when the service dies."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect

from fairlead.client import Client
from fairlead.dashboard.page import FOLDER
from fairlead.wire.events import EventKind
from fairlead.wire.kinds import MarkKind, Role
from tests.cli.live.place import Served, environment, serving, until
from tests.dashboard.eyes import WIDTHS, barred, said_by, widest
from tests.ports import kept_port
from tests.service.signin.issuer import Issuer
from tests.zygote.forked import finished

CLUSTER = """\
machines:
  - {name: "a[1-2]", capacity: {cpu: 4, memory: 2GiB}, labels: {zone: east}}
  - {name: b1, capacity: {cpu: 4, memory: 2GiB}, labels: {zone: west}}
tenants:
  - {name: research}
  - {name: vision, parent: research, weight: 2}
  - {name: language, parent: research}
  - {name: sales}
"""

ELSEWHERE = "http://127.0.0.1:9"
"""Where a standby would answer."""

HOSTILE = "<img src=x onerror=alert(1)>"

FAILS = "Failed to load resource"
"""What the browser itself says of a request that is refused or that nobody answers."""

VIEWS = {
    "now": "tbody tr",
    "water": ".vessels svg",
    "bottlenecks": ".edges svg",
    "time": "h1",
    "what-if": "fieldset:not([hidden])",
    "jobs?state=all": "tbody tr",
    "job/work": "tbody tr",
    "why/work": ".reasons",
    "why": "tbody tr",
    "machines": "tbody tr",
    "tenants": "tbody tr",
    "audit": ".headline:not(:empty)",
    "events": "tbody tr",
}
"""All views, each with what is to be in it."""

Opened = Callable[..., Page]


class Place:
    """A service at a port that it keeps, which can be killed and started again. `issuer`: whom it
    believes, beside its own tokens."""

    def __init__(self, folder: Path, port: int, issuer: Issuer | None = None) -> None:
        self._folder, self._port, self.issuer = folder, port, issuer
        self._stack = ExitStack()
        self.url = f"http://127.0.0.1:{port}"
        self.served = self.start()
        self.token = (self.served.state / "admin-token").read_text().strip()
        self.client = Client(self.url, self.token, patience=60)

    def start(self) -> Served:
        """Starts it, where it was before."""
        here = f"127.0.0.1:{self._port}"
        config = f"api:\n  addresses: ['http://{here}', '{ELSEWHERE}']\n"
        if self.issuer is not None:
            people = f"issuer: '{self.issuer.url}', audience: fairlead, roles: {{admins: admin}}"
            config += f"oidc: {{{people}}}\n"
        (self._folder / "config.yaml").write_text(config, encoding="utf-8")
        words = ("--cluster", "cluster.yaml", "--config", "config.yaml", "--listen", here)
        self.served = self._stack.enter_context(serving(self._folder, *words))
        return self.served

    def close(self) -> None:
        """Cancels what runs, and stops it."""
        self.client.cancel_jobs(*[job.name for job in self.client.jobs()])
        until(lambda: not list(self.client.jobs()))
        self.client.close()
        self.served.stop()
        self._stack.close()

    def submit(self, name: str, tenant: str | None, tasks: int = 1, command: str = "") -> None:
        """Submits tasks of two CPUs, six of which have room."""
        job = {"name": name, "demand": {"cpu": 2}, "tasks": tasks}
        job |= {"command": command or "sleep 600"} | ({"tenant": tenant} if tenant else {})
        self.client.submit(job)

    def token_of(self, name: str, tenant: str | None) -> str:
        """A new token."""
        role = Role.VIEWER if tenant is None else Role.TENANT
        return self.client.make_token(name, role, tenant).token


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One service for all tests of this file."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    with kept_port() as port:
        made = Place(folder, port)
        made.submit(HOSTILE, "sales", 1, f"echo '{HOSTILE}'; exit 3")
        until(lambda: made.client.job(HOSTILE).state.value == "failed")
        made.submit("work", "vision", 9, "echo begun; sleep 600")
        made.submit("evaluate", "language", 4)
        yield made
        made.close()


def test_who_has_no_token_is_shown_nothing_and_a_wrong_one_is_refused(
    place: Place, open_page: Opened
) -> None:
    page = open_page(place.url, expected=FAILS)
    field = page.get_by_label("Token")
    expect(field).to_be_focused()
    for wrong in ("fl_admin_wrong", HOSTILE):
        field.fill(wrong)
        field.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("the token is not valid")
    assert "vision" not in page.content()
    field.fill(place.token)
    field.press("Enter")
    expect(page.get_by_role("rowheader", name="vision")).to_be_visible()
    # What is typed is in no address, and where no script can read it.
    assert page.url == f"{place.url}/"
    kept = "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])"
    assert page.evaluate(kept) == '["",{},{}]'
    assert place.token not in page.content()
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    page.reload()
    expect(page.get_by_role("rowheader", name="vision")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(field).to_be_visible()
    assert page.context.cookies() == []
    page.reload()
    expect(field).to_be_visible()


def test_the_share_moves_as_a_job_comes_and_goes(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in()
    sales = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="sales"))
    expect(sales).to_contain_text("asks for nothing")
    place.submit("one", "sales", 1)
    # What waits for whom is the service's to say; that something is asked for is shown.
    expect(sales).not_to_contain_text("asks for nothing")
    place.client.cancel("one")
    expect(sales).to_contain_text("asks for nothing")


def test_whether_a_job_could_run_is_asked_without_submitting_it(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in()
    box = page.locator(".ask")
    box.get_by_label("each with").fill("cpu 0, memory 1GiB")
    box.get_by_label("each with").press("Enter")
    expect(box.locator(".can-run")).to_contain_text("Yes: 1 task would start now, on a")
    box.get_by_label("each with").fill("cpu 4")
    box.get_by_label("where").fill("zone = west")
    box.get_by_role("button", name="Ask").click()
    expect(box.locator(".can-run")).to_contain_text("Not now: ")
    box.get_by_label("each with").fill("much")
    box.get_by_role("button", name="Ask").click()
    expect(box.locator(".can-run")).to_contain_text("write as in cpu 8, memory 96GiB")
    box.get_by_label("each with").fill("cpu 1, cpu 2")
    box.get_by_role("button", name="Ask").click()
    expect(box.locator(".can-run")).to_contain_text("cpu is given twice")
    box.get_by_label("each with").fill("cpu 99")
    box.get_by_role("button", name="Ask").click()
    expect(box.locator(".can-run")).to_contain_text("Never: ")
    assert {job.name for job in place.client.jobs()} == {"work", "evaluate"}


def test_a_job_is_asked_about_submitted_and_followed_in_the_page(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("now", place.token_of("sal", "sales"))
    box = page.locator(".ask")
    answer = box.locator(".can-run")
    sales = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="sales"))
    expect(sales).to_contain_text("asks for nothing")
    box.get_by_label("tasks").fill("2")
    box.get_by_label("each with").fill("cpu 2")
    box.get_by_role("button", name="Ask").click()
    expect(answer).to_contain_text("Not now: ")
    box.get_by_label("runs").fill(f"echo '{HOSTILE}'; sleep 600")
    box.get_by_role("button", name="Submit it").click()
    expect(box.get_by_label("job")).to_be_focused()  # it needs a name
    assert list(place.client.jobs(tenant="sales")) == []
    box.get_by_label("job").fill(HOSTILE * 2)
    for told in ("Submitted: ", "Was submitted before: "):  # the same again is no second job
        box.get_by_role("button", name="Submit it").click()
        expect(answer).to_contain_text(f"{told}{HOSTILE * 2}.")
    (made,) = [job for job in place.client.jobs() if job.name == HOSTILE * 2]
    assert made.tenant == "sales"
    assert place.client.job(made.name).by == "sal"
    expect(sales).not_to_contain_text("asks for nothing")
    answer.get_by_role("link", name="Does it wait, and why?").click()
    expect(page.get_by_role("heading", name="What keeps its tasks")).to_be_visible()
    assert page.locator("img").count() == 0
    place.client.cancel(made.name)
    page.goto(f"{place.url}/#now")
    expect(sales).to_contain_text("asks for nothing")


def test_what_is_below_a_tenant_is_opened_and_closed_by_keyboard_and_keeps_its_focus(
    signed_in: Callable[..., Page],
) -> None:
    page = signed_in()
    opener = page.get_by_role("button", name="2 tenants below research")
    below = page.get_by_role("rowheader", name="vision")
    expect(below).to_be_visible()
    opener.press("Enter")
    expect(opener).to_have_attribute("aria-expanded", "false")
    expect(below).to_have_count(0)
    expect(opener).to_be_focused()
    opener.press("Space")
    expect(below).to_be_visible()
    paint = "row => row.querySelector('.swatch rect').getAttribute('fill')"
    before = below.evaluate(paint)
    page.get_by_role("link", name="Machines", exact=True).press("Enter")
    expect(page.get_by_role("rowheader", name="b1")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()
    # A colour is a tenant in every page, whichever view it began with.
    page.goto(f"{page.url.split('#')[0]}#tenants")
    page.reload()
    assert below.evaluate(paint) == before


def test_what_is_printed_is_on_paper_and_without_what_one_chooses_by(
    signed_in: Callable[..., Page],
) -> None:
    page = signed_in("now")
    expect(page.locator(".ask")).to_be_visible()
    looks = (
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    light = page.evaluate(looks)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(looks) != light
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(looks) == light
    expect(page.locator(".ask")).to_be_hidden()
    expect(page.get_by_role("navigation")).to_be_hidden()
    expect(page.locator("table.shares")).to_be_visible()
    page.emulate_media(color_scheme="light", media="screen")


def test_names_and_outputs_are_text_and_never_markup(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("jobs?state=all")
    page.get_by_role("link", name=HOSTILE, exact=True).click()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    page.get_by_role("button", name="stdout of task 0").click()
    expect(page.get_by_role("link", name="Why does it wait")).to_have_count(0)  # it is over
    expect(page.locator("pre", has_text=HOSTILE).last).to_be_visible()
    page.goto(f"{place.url}/#why/{HOSTILE}")
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    page.goto(f"{place.url}/#events")
    expect(page.get_by_role("link", name=HOSTILE).first).to_be_visible()
    assert page.locator("img").count() == 0


def test_of_a_job_that_there_is_not_nothing_is_looked_for(signed_in: Callable[..., Page]) -> None:
    page = signed_in("why/nope", expected=FAILS)
    expect(page.get_by_text('there is no job "nope"')).to_be_visible()
    expect(page.get_by_text("Looking for what keeps it")).to_have_count(0)


def test_a_tenant_is_shown_its_own_and_of_others_what_everybody_is(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("job/work", place.token_of("ann", "vision"))
    expect(page.locator("header")).to_contain_text("ann · tenant vision")
    page.get_by_role("button", name="stdout of task 0").click()
    expect(page.locator(".output pre")).to_have_text("begun\n")
    page.get_by_text("What was submitted").click()
    expect(page.locator(".given")).to_contain_text("sleep 600")
    expect(page.get_by_role("link", name="Why does it wait")).to_be_visible()
    page.goto(f"{place.url}/#job/evaluate")
    expect(page.get_by_role("heading", name="evaluate")).to_be_visible()
    expect(page.get_by_text("are its tenant's own")).to_be_visible()
    expect(page.get_by_role("link", name="Why does it wait")).to_have_count(0)
    assert "sleep 600" not in page.content()
    page.goto(f"{place.url}/#tenants")
    expect(page.get_by_role("rowheader", name="language")).to_be_visible()
    expect(page.get_by_role("columnheader", name="user")).to_have_count(0)


def test_a_viewer_is_told_why_it_may_not_ask_why(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("why/work", place.token_of("wall", None), expected=FAILS)
    expect(page.get_by_role("alert")).to_contain_text("a viewer may not do this")
    page.goto(f"{place.url}/#now")
    expect(page.get_by_role("button", name="Ask")).to_be_visible()
    expect(page.get_by_role("button", name="Submit it")).to_have_count(0)


def test_a_job_that_waits_is_found_and_explained(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("why")
    page.get_by_role("link", name="work", exact=True).click()
    expect(page.get_by_role("heading", name="What keeps its tasks")).to_be_visible()
    answer = place.client.why("work")
    told, machines = answer.reasons, answer.machines
    assert told
    assert machines is not None
    assert (machines.room, machines.no_room) == (0, 3)
    expect(page.locator(".funnel li")).to_have_text(["3machines are there", "0have room"])
    page.goto(f"{place.url}/#why/evaluate")
    expect(page.locator(".found")).to_contain_text("held by 1 of work.")
    expect(page.locator(".found")).to_contain_text(told[0].sentence.partition(" ")[0])
    holders = page.locator(".holders li")
    told_of = [(one.tenant, one.tasks) for one in place.client.why("evaluate").holders]
    assert told_of
    expect(holders).to_have_count(len(told_of))
    for place_of, (tenant, tasks) in enumerate(told_of):
        expect(holders.nth(place_of)).to_contain_text(re.compile(rf"{tenant} {tasks} tasks?"))


def test_the_audit_says_of_each_who_is_short_what_the_service_says(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("audit")
    told = place.client.audit()
    named = {short.tenant for short in told.shortfalls} | {low.tenant for low in told.below_fair}
    verdict = page.locator(".headline")
    expect(verdict).to_contain_text("guaranteed")
    for tenant in named:
        expect(page.get_by_role("rowheader", name=tenant).first).to_be_visible()
    # Where some are not judged yet, that is said, and that all have what is theirs is not.
    said = "views/now.js", "clear(given)"
    at = {"exact": 0, "behind": None, "checked": 3}
    assert said_by(page, *said, at).endswith("are guaranteed.")
    behind = said_by(page, *said, {**at, "behind": "2 jobs are not judged yet"})
    assert re.fullmatch(r"2 jobs are not judged yet; nobody is short by the exact .*\d\.", behind)
    nobody = said_by(page, *said, {**at, "behind": "nobody is judged yet", "checked": 0})
    assert nobody == "Nobody is judged yet."
    # What it says of a job is said of that job, and a number stands on its side of a name.
    because = "views/causes.js", "because(given[0], undefined, given[1])"
    sentence = "a lacks 1 task of j: 2 machines that could run it are draining"
    kept = {"tenant": "a", "job": "j", "cause": "drained", "counts": {}, "sentence": sentence}
    for several, whose in ((True, "j of a"), (False, "j")):
        found = said_by(page, *because, [kept, several])
        assert found == f"as for {whose}, 2 machines that could run it are draining"
    apart = "draw.js", "apartIn(given)"
    name = "\u05e6\u05d5\u05d5\u05ea"
    assert said_by(page, *apart, f"of {name}-3: 2") == f"of \u2068{name}-3\u2069: 2"
    assert said_by(page, *apart, "of team-3: 2") == "of team-3: 2"
    expect(page.locator("footer")).to_have_text(re.compile(r"Times are those of UTC.*\."))
    page.goto(f"{place.url}/#what-if")
    page.get_by_text("Other changes, a line each").click()
    page.get_by_label("Remove machines").fill("b1")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("region", name="tenants before and after")).to_contain_text("vision")
    assert page.url.endswith("#what-if?remove=b1")


def test_who_gains_and_who_loses_is_shown_as_a_slider_moves_and_nothing_is_changed(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    before = place.client.tenant("language").weight
    page = signed_in("why/evaluate")
    trial = page.locator(".trial")
    slider = trial.get_by_role("slider", name="language", exact=True)
    slider.press("End")
    told = trial.locator(".answer .headline")
    expect(told).to_contain_text("language gains, vision loses.")
    row = trial.get_by_role("region", name="jobs before and after").get_by_role("row")
    expect(row.nth(1)).to_contain_text("evaluate")
    slider.press("Home")
    expect(told).to_contain_text("language loses.")
    machines = trial.get_by_role("slider", name="a[1-2], b1")
    slider.press("ArrowRight")
    machines.press("ArrowRight")
    expect(trial.locator(".answer .reasons")).to_contain_text("gains, in tasks: work")
    assert place.client.tenant("language").weight == before
    assert len(list(place.client.machines())) == 3


def test_machines_tenants_and_events_are_filtered_by_the_service(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("machines")
    rows = page.get_by_role("rowheader")
    page.get_by_label("where").fill("zone = west")
    expect(rows).to_have_text(["b1"])
    page.goto(f"{place.url}/#machines?order=tasks")
    expect(rows).to_have_count(3)
    page.goto(f"{place.url}/#tenants?parent=research&order=weight")
    expect(rows).to_have_text(["vision", "language"])
    page.goto(f"{place.url}/#events?kind=job_submitted&tenant=vision")
    expect(page.get_by_role("row").nth(1)).to_contain_text("work")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_what_changed_is_marked_in_time(place: Place, signed_in: Callable[..., Page]) -> None:
    place.client.drain("b1")
    place.client.undrain("b1")
    page = signed_in("time")
    expect(page.locator(".marks")).to_contain_text("b1 was drained")
    expect(page.locator(".marks")).to_contain_text("b1 takes tasks again")
    expect(page.locator("svg .event").first).to_be_attached()


def test_the_focus_stays_with_the_same_thing_as_others_come_above_it(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    place.client.drain("a2")
    page = signed_in("time")
    marks = page.locator(".marks li")
    drained = marks.filter(has_text="drained").first.get_by_role("button")
    drained.focus()
    thing = drained.get_attribute("data-thing")
    place.client.undrain("a2")
    expect(marks.filter(has_text="again").first).to_be_visible()
    expect(page.locator(f'.marks [data-thing="{thing}"]')).to_be_focused()
    page.goto(f"{place.url}/#jobs")
    link = page.get_by_role("rowheader", name="evaluate").get_by_role("link")
    link.focus()
    place.submit("above", "sales")
    expect(page.get_by_role("rowheader", name="above")).to_be_visible()
    expect(link).to_be_focused()
    place.client.cancel("above")


def test_what_one_more_machine_would_change_is_a_link_away(
    signed_in: Callable[..., Page],
) -> None:
    page = signed_in("bottlenecks")
    page.get_by_role("link", name="What one more machine of these would change").press("Enter")
    expect(page.get_by_label("Add machines")).to_have_value("1 x a1")
    expect(page.get_by_role("region", name="tenants before and after")).to_contain_text("vision")


def test_jobs_are_filtered_by_the_service_and_the_address_says_by_what(
    signed_in: Callable[..., Page],
) -> None:
    page = signed_in("jobs")
    expect(page.get_by_role("rowheader", name="evaluate")).to_be_visible()
    page.get_by_label("of tenant").fill("vision")
    expect(page.get_by_role("rowheader")).to_have_count(1)
    assert page.url.endswith("#jobs?tenant=vision")
    page.reload()
    expect(page.get_by_role("rowheader", name="work")).to_be_visible()
    expect(page.get_by_role("rowheader")).to_have_count(1)


def test_no_page_of_a_list_is_turned_before_there_is_one(signed_in: Callable[..., Page]) -> None:
    page = signed_in("now")
    held: list[Route] = []
    page.route("**/v1/jobs?*", lambda route: held.append(route))  # noqa: PLW0108  (no method)
    with page.expect_request("**/v1/jobs?*"):
        page.evaluate("location.hash = 'jobs'")
    expect(page.locator("table.live")).to_be_visible()
    expect(page.locator(".pages button:visible")).to_have_count(0)
    for route in held:
        route.continue_()
    page.unroute("**/v1/jobs?*")
    expect(page.get_by_role("link", name="work", exact=True)).to_be_visible()


def test_who_waits_for_exact_shares_sees_for_how_long(signed_in: Callable[..., Page]) -> None:
    """With 1,000 tenants and 6,000 jobs nothing changed on the page for a minute."""
    page = signed_in()
    held: list[Route] = []
    page.route("**/v1/allocation", lambda route: held.append(route))  # noqa: PLW0108  (no method)
    page.evaluate("location.hash = 'water'")
    remark = page.locator("main .soft").last
    expect(remark).to_contain_text(re.compile(r"is being shared exactly, for \d+s now; with thou"))
    for route in held:
        route.continue_()
    page.unroute("**/v1/allocation")
    expect(remark).to_contain_text(re.compile(r"What was present at .*, shared exactly\."))


def test_a_moment_is_chosen_by_keyboard(signed_in: Callable[..., Page]) -> None:
    page = signed_in("time")
    expect(page.locator(".pasts figure").first).to_be_visible()
    page.get_by_role("slider", name="moment").press("ArrowLeft")
    table = page.get_by_role("region", name="tenants at that moment")
    expect(table.get_by_role("rowheader", name="vision")).to_be_visible()
    page.get_by_role("searchbox", name="tenants").fill("nobody")
    expect(page.locator(".pasts")).to_have_text("No tenant has “nobody” in its name.")
    said = said_by(page, "views/time.js", "nothing([], '')")
    assert said.startswith("There was no tenant yet, and of jobs without a tenant")


def test_a_token_that_is_revoked_ends_the_session(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("now", place.token_of("gone", None), expected=FAILS)
    expect(page.get_by_role("rowheader", name="vision")).to_be_visible()
    place.client.revoke_token("gone")
    said = "Your sign-in has ended: the token is not valid."
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(page.get_by_role("rowheader")).to_have_count(0)


def tabbed(page: Page, wanted: Locator) -> None:
    """Goes on by Tab until this has the focus; of each stop on the way that is seen."""
    expect(wanted).to_be_visible()  # the view before has gone, and no longer has the focus
    for _ in range(80):
        page.keyboard.press("Tab")
        assert page.evaluate(SEEN), page.evaluate("document.activeElement.outerHTML")
        if wanted.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"{wanted} is not reached by Tab")


SEEN = """() => {
  const focused = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(focused);
  return focused !== document.body && outlineStyle !== "none" && parseFloat(outlineWidth) >= 1
    && focused.getClientRects().length > 0;
}"""


def test_every_view_is_used_by_keyboard_alone(place: Place, signed_in: Callable[..., Page]) -> None:
    place.submit("first", "sales")
    page = signed_in("water")
    level = page.get_by_role("slider", name="level")
    story = page.locator(".story")
    expect(story).to_contain_text("Level 2 of 2")
    tabbed(page, page.get_by_label("resource"))
    tabbed(page, level)
    page.keyboard.press("ArrowLeft")
    expect(story).to_contain_text("Level 1 of 2")
    place.submit("second", None)  # the picture becomes another one, and what was chosen stays
    expect(page.locator(".key")).to_contain_text("second")
    expect(story).to_contain_text("Level 1 of")
    expect(level).to_be_focused()
    page.goto(f"{place.url}/#bottlenecks")
    east, west = page.get_by_role("button", name="a[1-2]"), page.get_by_role("button", name="b1")
    tabbed(page, page.locator(".choice[aria-pressed=true]"))
    page.keyboard.press("End")
    expect(west).to_be_focused()
    expect(west).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".detail h3")).to_contain_text("b1")
    page.keyboard.press("ArrowUp")
    expect(east).to_be_focused()
    expect(page.locator(".detail h3")).to_contain_text("a[1-2]")
    place.client.cancel_jobs("first", "second")
    place.client.drain("b1")
    place.client.undrain("b1")
    page.goto(f"{place.url}/#time")  # with what is the first mark by now, before it is looked for
    mark = page.locator(".marks li", has_text="b1 takes tasks again").first.get_by_role("button")
    tabbed(page, mark)
    page.keyboard.press("Enter")
    there = page.get_by_role("region", name="tenants at that moment")
    expect(there).to_be_visible()
    expect(page.locator(".marks [aria-pressed=true]")).to_be_focused()
    page.keyboard.press("Escape")
    expect(there).to_have_count(0)
    page.goto(f"{place.url}/#now")
    tabbed(page, page.get_by_role("button", name="2 tenants below research"))
    reason = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="language"))
    tabbed(page, reason.get_by_role("link"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What keeps its tasks")).to_be_visible()
    tabbed(page, page.locator(".trial").get_by_role("slider", name="language", exact=True))
    page.keyboard.press("ArrowRight")
    expect(page.locator(".trial .answer .headline")).to_be_visible()
    page.goto(f"{place.url}/#jobs")
    tabbed(page, page.get_by_role("rowheader", name="evaluate").get_by_role("link"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="evaluate")).to_be_visible()


HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_page_that_nobody_sees_asks_nothing(place: Place, signed_in: Callable[..., Page]) -> None:
    page = signed_in("jobs")
    expect(page.get_by_role("rowheader", name="work")).to_be_visible()
    page.wait_for_load_state("load")
    page.evaluate(HIDE, True)
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))  # noqa: PLW0108 - it takes no built-in
    place.submit("unseen", "sales")
    until(
        lambda: place.client.job("unseen").tasks.waiting + place.client.job("unseen").tasks.running
    )
    place.client.cancel("unseen")
    place.submit("later", "sales")
    page.evaluate("1")  # what was asked before this would have been told by now
    assert asked == []
    page.evaluate(HIDE, False)
    expect(page.get_by_role("rowheader", name="later")).to_be_visible()
    place.client.cancel("later")


def test_the_page_recovers_when_the_service_was_killed(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in("jobs", expected=FAILS)
    expect(page.get_by_role("rowheader", name="work")).to_be_visible()
    place.served.process.kill()
    place.served.process.wait()
    state = page.get_by_role("status")
    expect(state).to_contain_text(re.compile(r"The service is away; trying again in \d+ s\."))
    expect(page.get_by_role("rowheader", name="work")).to_be_visible()  # what was known stays
    other = state.get_by_role("link")
    expect(other).to_have_text(ELSEWHERE)
    expect(other).to_have_attribute("href", f"{ELSEWHERE}/#jobs")
    other.focus()
    expect(state).to_contain_text(re.compile(r"trying again in [01] s\."))
    expect(other).to_be_focused()  # seconds count beside it
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("alert")).to_contain_text("still signed in")
    place.start()
    expect(state).to_be_hidden()
    place.submit("after", "sales")
    expect(page.get_by_role("rowheader", name="after")).to_be_visible()
    place.client.cancel("after")


AS_A_FOLLOWER = f"""{{
  const asked = window.fetch;
  window.follows = true;
  window.fetch = async (...words) => {{
    const answer = await asked(...words);
    const headers = new Headers(answer.headers);
    if (window.follows) {{
      headers.set("Fairlead-Age", "0.3");
      headers.set("Fairlead-Leader", "{ELSEWHERE}");
    }}
    Object.defineProperty(answer, "headers", {{ value: headers }});
    return answer;
  }};
}}"""
"""Answers of the service with what those of a follower say besides."""


def test_a_page_notices_that_its_service_leads_by_now(signed_in: Callable[..., Page]) -> None:
    page = signed_in("jobs", apart=True)  # what is added stays in it
    expect(page.get_by_role("rowheader", name="work")).to_be_visible()
    page.add_init_script(AS_A_FOLLOWER)
    page.reload()
    state = page.get_by_role("status")
    expect(state).to_contain_text("does not lead: as of a moment ago.")
    expect(state.get_by_role("link")).to_have_text(ELSEWHERE)
    page.evaluate("window.follows = false")  # nothing ends and nothing happens: it is asked
    expect(state).to_be_hidden()


def test_every_view_is_tried() -> None:
    main = (FOLDER / "live" / "main.js").read_text(encoding="utf-8")
    table = main.partition("const VIEWS = {")[2].partition("};")[0]
    made = re.findall(r'^  "?([\w-]+)"?: \{ make: ', table, re.MULTILINE)
    assert set(made) == {re.split(r"[/?]", view)[0] for view in VIEWS}, (
        "name each view of files/live/main.js in VIEWS, above"
    )


def test_every_module_of_a_view_is_shown() -> None:
    folder = Path(str(FOLDER))
    modules = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.js"))
    unused = [
        path.name
        for path in (folder / "views").glob("*.js")
        if not re.search(rf'from "[./\w]*/{re.escape(path.name)}"', modules)
    ]
    assert unused == [], "name each view in VIEWS of src/fairlead/dashboard/files/live/main.js"


def test_every_view_fits_all_screens_and_can_be_used_by_everybody(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in()
    for view, shown in VIEWS.items():
        page.goto(f"{place.url}/#{view}")
        expect(page.locator(f"main {shown}").first).to_be_visible()
        assert barred(page) == [], view
        for width in WIDTHS:
            assert widest(page, width) <= width, view


LONG = {
    "name": "gpu-node-rack-07-01.cluster.internal.example.org",
    "state": "quarantined",
    "capacity": {"cpu": "96", "memory": "1Ti", "gpu": "8", "ephemeral_storage": "3Ti"},
    "free": {},
    "labels": {"topology_io_zone": "eu_central_1a_zone_17", "instance": "i0123456789abcdef" * 3},
    "tasks": 0,
    "problem": "/dev/disk/by-id/" + "0123456789abcdef" * 4,
    "quarantine": None,
}
"""A machine of which all texts are long, and have no place to be broken at."""


def test_no_link_of_the_audit_is_cut_off(place: Place, signed_in: Callable[..., Page]) -> None:
    """On screens of 1,001 to 1,120 pixels its table was wider than the page."""
    page = signed_in()
    sentence = (
        "vision lacks 1 task of train for 5 minutes: it waits for machines on which tasks run"
    )
    short = {
        "tenant": "vision",
        "guaranteed": 0.125,
        "has": 0.0625,
        "shortfall": 0.0625,
        "tasks": 1,
        "job": "train",
        "since": 10**15,
        "cause": "held",
        "counts": {"language": 2},
        "lacking": {"cpu": 1},
        "able": 1,
        "machines": "m1",
        "sentence": sentence,
    }
    told = place.client.audit().model_dump(mode="json", by_alias=True) | {"shortfalls": [short]}
    page.route("**/v1/audit*", lambda route: route.fulfill(json=told))
    page.goto(f"{place.url}/#audit")
    expect(page.get_by_role("rowheader", name="vision").first).to_be_visible()
    for width in (1010, 1100, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        wide = "each => [each.scrollWidth, each.parentElement.clientWidth]"
        table, room = page.locator("table.audit").first.evaluate(wide)
        assert table <= room, width


def test_long_texts_of_machines_are_broken_and_not_cut_off(
    place: Place, signed_in: Callable[..., Page]
) -> None:
    page = signed_in()
    page.route("**/v1/machines?*", lambda route: route.fulfill(json={"machines": [LONG]}))
    page.goto(f"{place.url}/#machines")
    expect(page.get_by_role("rowheader", name=str(LONG["name"]))).to_be_visible()
    cut = """() => [...document.querySelectorAll("main .wide, main th, main td")]
        .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth)
        .map((each) => each.textContent)"""
    for width in (768, 900, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(cut) == [], width


@pytest.mark.parametrize(
    ("file", "name", "kinds"),
    [("events.js", "WORDS", EventKind), ("marks.js", "SAID", MarkKind)],
)
def test_every_kind_of_event_and_mark_has_its_words(
    file: str, name: str, kinds: type[EventKind | MarkKind]
) -> None:
    text = (FOLDER / "views" / file).read_text(encoding="utf-8")
    words = text[text.index(f"{name} = {{") : text.index("};")]
    assert set(re.findall(r"^  (\w+):", words, re.MULTILINE)) == {kind.value for kind in kinds}


def test_the_command_opens_the_page_and_says_where(place: Place, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    named = {"FAIRLEAD_STATE": str(place.served.state), "BROWSER": str(browser)}

    def asked(*words: str) -> str:
        done = finished(["fairlead", "dashboard", *words], tmp_path, environment(tmp_path) | named)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert asked("--print") == f"{place.url}/\n"
    assert not os.path.lexists(opened)
    assert asked() == f"{place.url}/\n"
    assert opened.read_text() == f"{place.url}/"
