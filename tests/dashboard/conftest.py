"""A browser for the tests of pages, and what every page has to keep to."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import in_ci

NO_MORE = (
    "--no-sandbox",  # it refuses to run as root otherwise
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""What a browser does of its own is no part of the page."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window. It ends with its file of tests: while Playwright runs,
    no other test of the process could run an event loop."""
    program = shutil.which("chromium")
    if program is None:
        sentence = "Chromium is not installed (Debian: apt-get install chromium)"
        if in_ci():
            pytest.fail(sentence)
        pytest.skip(sentence)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=NO_MORE)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens addresses, each in a context of its own; at the end nothing was said on the console,
    nothing was thrown, no dialog was shown, and no other host was asked. `expected`: how what the
    browser itself says of requests that fail begins, where some are to fail."""
    wrong: list[str] = []
    contexts = []

    def opened(
        url: str, *, width: int = 1100, dark: bool = False, expected: str | None = None
    ) -> Page:
        scheme: Literal["dark", "light"] = "dark" if dark else "light"
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        own = url.split("/")[2]
        page.on(
            "console",
            lambda said: (
                None
                if expected and said.text.startswith(expected)
                else wrong.append(f"console: {said.text}")
            ),
        )
        page.on("dialog", lambda shown: wrong.append(f"a dialog: {shown.message}"))
        page.on("pageerror", lambda error: wrong.append(f"thrown: {error}"))
        page.on(
            "request",
            lambda asked: (
                wrong.append(f"asked: {asked.url}") if asked.url.split("/")[2] != own else None
            ),
        )
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
