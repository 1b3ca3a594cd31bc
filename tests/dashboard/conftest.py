"""A browser for the tests of pages, and what every page has to keep to."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Error,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.conftest import in_ci
from tests.dashboard.eyes import HIGH

if TYPE_CHECKING:
    from tests.dashboard.test_live import Place

PATIENT = 60_000
"""Milliseconds until a test gives up."""

expect.set_options(timeout=PATIENT)

NO_MORE = (
    "--no-sandbox",  # it refuses to run as root otherwise
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Each address that a test opens would have a new process, which takes longer than the page.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
)
"""What a browser does of its own is no part of the page."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window. It ends with this folder's tests: while Playwright runs,
    no other test of the process could run an event loop."""
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        sentence = "Chromium is not installed (Debian: apt-get install chromium-headless-shell)"
        if in_ci():
            pytest.fail(sentence)
        pytest.skip(sentence)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=NO_MORE)
        yield started
        started.close()


@pytest.fixture(scope="package")
def first_context(browser: Browser) -> BrowserContext:
    """The context that all tests open their first page in: a new one for each is a new
    process, which takes more of a processor than most pages."""
    return browser.new_context(reduced_motion="reduce")


@pytest.fixture(scope="package")
def first_page(first_context: BrowserContext) -> Page:
    """Its page. Nothing of a test is left in it: see `open_page`."""
    return first_context.new_page()


@pytest.fixture
def open_page(browser: Browser, first_page: Page) -> Iterator[Callable[..., Page]]:
    """Opens addresses, the first one in the page that all tests share, or `apart` as each
    other one in a context of its own, or `beside` the first one, signed in as it is; at the end
    nothing was said on the console, nothing was thrown, no dialog was shown, and no other host was
    asked. `token`: whose owner is signed in before. `expected`: how what the browser itself says of
    requests that fail begins, where some are to fail."""
    wrong: list[str] = []
    contexts: list[BrowserContext] = []
    listening: list[Callable[[], None]] = []

    def opened(
        url: str,
        *,
        width: int = 1100,
        dark: bool = False,
        token: str | None = None,
        expected: str | None = None,
        apart: bool = False,
        beside: bool = False,
    ) -> Page:
        page = first_page
        if beside:
            page = first_page.context.new_page()
        elif apart or listening:
            contexts.append(browser.new_context(reduced_motion="reduce"))
            page = contexts[-1].new_page()
        page.set_viewport_size({"width": width, "height": HIGH})
        page.emulate_media(color_scheme="dark" if dark else "light")
        own = url.split("/")[2]

        def on_console(said: ConsoleMessage) -> None:
            if not (expected and said.text.startswith(expected)):
                wrong.append(f"console: {said.text}")

        def on_dialog(shown: Dialog) -> None:
            wrong.append(f"a dialog: {shown.message}")

        def on_error(error: Error) -> None:
            wrong.append(f"thrown: {error}")

        def on_request(asked: Request) -> None:
            if asked.url.split("/")[2] != own:
                wrong.append(f"asked: {asked.url}")

        def leave() -> None:
            """The page forgets the test, and the test the page."""
            page.goto("about:blank")
            page.unroute_all()
            page.context.clear_cookies()
            page.remove_listener("console", on_console)
            page.remove_listener("dialog", on_dialog)
            page.remove_listener("pageerror", on_error)
            page.remove_listener("request", on_request)
            if beside:
                page.close()

        page.on("console", on_console)
        page.on("dialog", on_dialog)
        page.on("pageerror", on_error)
        page.on("request", on_request)
        listening.append(leave)
        if token is not None:
            signed = page.request.post(f"http://{own}/v1/session", data={"token": token})
            assert signed.ok, signed.text()
        page.goto(url)
        return page

    yield opened
    for leave in listening:
        leave()
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def signed_in(place: Place, open_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a view as the owner of a token, the administrator's by default, who is signed in
    already: how one signs in, others try."""

    def opened(view: str = "now", token: str | None = None, **options: object) -> Page:
        page = open_page(f"{place.url}/#{view}", token=token or place.token, **options)
        page.get_by_role("navigation").wait_for(timeout=PATIENT)
        return page

    return opened
