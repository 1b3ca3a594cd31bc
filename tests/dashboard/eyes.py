"""What every page has to keep to: it fits all screens, and nothing serious bars anyone."""

from __future__ import annotations

import json

from playwright.sync_api import Page

from tests.dashboard.test_types import NODE

AXE = NODE / "node_modules/axe-core/axe.min.js"

WIDTHS = (1400, 900, 360)

HIGH = 900

DRAWN = """new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
  () => done(document.documentElement.scrollWidth))))"""
"""How wide the page is once it is drawn for its width."""

LOOKED = {
    "light": "axe.run({resultTypes: ['violations']})",
    "dark": "axe.run({resultTypes: ['violations'], runOnly: ['color-contrast']})",
}
"""What axe looks at in each theme: in the dark nothing but colours is otherwise."""


def widest(page: Page, width: int) -> int:
    """How wide the page is on a screen of that width."""
    page.set_viewport_size({"width": width, "height": HIGH})
    found: int = page.evaluate(DRAWN)
    return found


def said_by(page: Page, module: str, call: str, given: object = None) -> str:
    """What a function of a module says that the page has loaded: a call in JavaScript, in which
    `given` is what is given."""
    base = "document.querySelector('script').src"  # of live/main.js, of the page's own build
    loaded = f"import(new URL('../{module}', {base}))"
    found: str = page.evaluate(f"given => {loaded}.then(module => module.{call})", given)
    return found


def barred(page: Page) -> list[str]:
    """What axe finds serious or critical, in light and in the dark, as the page is now."""
    # A page with a strict policy takes no script but its own: what tests it comes by another door.
    session = page.context.new_cdp_session(page)
    found = []
    for theme, looked in LOOKED.items():
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        known = session.send("Runtime.evaluate", {"expression": "typeof axe"})["result"]["value"]
        if known == "undefined":
            session.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        answer = session.send(
            "Runtime.evaluate",
            {
                "expression": f"{looked}.then(found => JSON.stringify(found.violations))",
                "awaitPromise": True,
            },
        )
        found += [
            f"{theme}: {one['id']}: {one['nodes'][0]['html']}"
            for one in json.loads(answer["result"]["value"])
            if one["impact"] in ("serious", "critical")
        ]
    page.emulate_media(color_scheme="light")
    session.detach()
    return found
