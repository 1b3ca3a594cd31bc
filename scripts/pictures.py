"""Makes the pictures of the docs anew: `python -m scripts.pictures`, with Chromium installed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from fairlead.cli.main import main as fairlead
from scripts.check import ROOT

EXAMPLE = ROOT / "examples/gpu-generations"
PICTURES = ROOT / "docs/pictures"

SHOWN = {"fair-shares": ".shares", "water": ".water", "bottlenecks": ".bottlenecks"}
"""The pictures, and the part of the page that each shows."""


def main() -> int:
    """Draws the README's example and photographs its parts; the code of the command that drew."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is not installed (Debian: apt-get install chromium)", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "shares.html"
        files = [str(EXAMPLE / name) for name in ("cluster.yaml", "jobs.yaml")]
        code = fairlead(["allocate", *files, "--quiet", "--html", str(page)])
        if code:
            return code
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 960, "height": 900}, color_scheme="light")
        shown.goto(page.as_uri())
        for name, part in SHOWN.items():
            shown.locator(part).screenshot(path=PICTURES / f"{name}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
