"""Makes the pictures of the docs anew: `python -m scripts.pictures`, with Chromium installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from fairlead.cli.main import main as fairlead
from scripts.check import ROOT

EXAMPLE = [ROOT / "examples/gpu-generations" / name for name in ("cluster.yaml", "jobs.yaml")]
PICTURES = ROOT / "docs/pictures"

SHOWN = {"fair-shares": ".shares", "water": ".water", "bottlenecks": ".bottlenecks"}
"""The pictures of the page in a file, and the part of it that each shows."""

LIVE = {
    "now": ("now", "main", "tbody .tick"),
    "why": ("why/pretrain", "main", ".trial input[type=range]"),
    "what-if": ("what-if?add=3+x+h01", "main", "table.moved"),
}
"""Those of the service's page: a view, what of it is shown, and what it has when it is whole."""

SERVE = "--serve"

MANY = 500
"""Tasks of a job that has no end in the example: more than the machines hold."""


def main() -> int:
    """Draws the README's example, from a file and in a service, and photographs its parts; the
    code of the command that drew."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        sentence = "Chromium is not installed (Debian: apt-get install chromium-headless-shell)"
        print(sentence, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "shares.html"
        code = fairlead(["allocate", *map(str, EXAMPLE), "--quiet", "--html", str(page)])
        if code:
            return code
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = opened(browser, page.as_uri())
        for name, part in SHOWN.items():
            shown.locator(part).screenshot(path=PICTURES / f"{name}.png")
        with served(Path(folder)) as (url, token):
            shown = opened(browser, url)
            shown.get_by_label("Token").fill(token)
            shown.get_by_role("button", name="Sign in").click()
            shown.get_by_role("navigation").wait_for()
            for name, (view, part, whole) in LIVE.items():
                shown.goto(f"{url}/#{view}")
                shown.locator(whole).first.wait_for(state="attached", timeout=120_000)
                shown.locator(part).screenshot(path=PICTURES / f"{name}.png")
        browser.close()
    return 0


def opened(browser: Browser, url: str) -> Page:
    """A page as wide as the docs have room for."""
    page = browser.new_page(viewport={"width": 1060, "height": 1400}, color_scheme="light")
    page.goto(url)
    return page


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """A service on the example's machines, with its jobs, and the token of its administrator."""
    words = [sys.executable, "-m", "scripts.pictures", SERVE, str(folder)]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None  # it was asked for
        url = process.stdout.readline().strip()
        yield url, (folder / "admin-token").read_text(encoding="utf-8").strip()
    finally:
        process.terminate()
        process.wait()


def serve(folder: Path) -> int:
    """Serves the example with tasks that do nothing and never end, until it is terminated."""
    from benchmarks.dashboard_service import begin, start, submit
    from fairlead.files import load
    from fairlead.service.fairness.process import WorkerAdviser

    cluster, jobs = load(*map(str, EXAMPLE))
    service = begin(cluster.machines, cluster.tenants, WorkerAdviser())
    submit(
        service,
        [replace(job, command=("true",), tasks=job.tasks or Fraction(MANY)) for job in jobs],
    )
    return start(folder, service)


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[2])) if sys.argv[1:2] == [SERVE] else main())
