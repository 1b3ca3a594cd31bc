"""The rows of the benchmark `dashboard`: pages that are open on a service that changes once a
second, and tables of many jobs."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from playwright.sync_api import sync_playwright

from benchmarks.cases import Measured
from benchmarks.dashboard_service import THREADS, begin, submit
from benchmarks.dashboard_service import jobs as jobs_of
from benchmarks.dashboard_service import machines as machines_of
from benchmarks.dashboard_service import tenants as tenants_of
from fairlead.client.client import Client
from fairlead.scheduling.reading.core_copy import Spares
from fairlead.service.api.streams.standing import Standing, take_standing
from fairlead.service.requests import Caller
from fairlead.wire.kinds import Role
from tests.service.fairness.at_once import AtOnce

ROOT = Path(__file__).resolve().parent.parent
EACH = 15
"""Pages of a token: a token may have 20 streams."""


class Place:
    """A service in a process of its own, and a client that changes something once a second."""

    def __init__(self, machines: int, tenants: int, jobs: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        sizes = (("machines", machines), ("tenants", tenants), ("jobs", jobs))
        words = [word for name, size in sizes for word in (f"--{name}", str(size))]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.dashboard_service", str(self.folder), *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        atexit.register(self.process.kill)
        assert self.process.stdout is not None  # it was asked for
        self.url = self.process.stdout.readline().strip()
        self.token = (self.folder / "admin-token").read_text().strip()
        self.client = Client(self.url, self.token, patience=60)
        lines = (self.folder / THREADS).read_text().splitlines()
        self._thread = dict(line.rsplit(" ", 1) for line in lines)
        self._number = 0

    def exact(self) -> None:
        """Waits until the exact shares are known."""
        while self.client.shares().exact is None:
            time.sleep(1)

    def updates(self, count: int) -> None:
        """Once a second a job comes or goes."""
        for _ in range(count):
            begun = time.monotonic()
            name = f"update-{self._number // 2}"
            if self._number % 2:
                self.client.cancel(name)
            else:
                job = {"name": name, "tenant": "team-007", "demand": {"cpu": 1}, "tasks": 1}
                self.client.submit(job | {"command": "true"})
            self._number += 1
            time.sleep(max(0.0, 1 - (time.monotonic() - begun)))

    def loop(self) -> float:
        """Seconds of processor time that the loop's thread took so far."""
        return _taken(self.process.pid, self._thread["loop"])

    def whole(self) -> float:
        """Those of the service's process, without the one that computes exact shares."""
        used = psutil.Process(self.process.pid).cpu_times()
        return used.user + used.system


def _taken(process: int, thread: str) -> float:
    """Seconds of processor time that a thread took so far; 0 where it ended."""
    try:
        text = Path(f"/proc/{process}/task/{thread}/schedstat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(text.split()[0]) / 1e9


class Readers:
    """Open pages, as the service sees them: each follows the stream and reads what comes."""

    def __init__(self, place: Place, pages: int) -> None:
        self._place = place
        self._tokens = [
            place.client.make_token(f"wall-{k}", Role.VIEWER, None).token
            for k in range(-(-pages // EACH))
        ]
        self.updates = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(pages,), daemon=True)
        self._open = threading.Semaphore(0)
        self._thread.start()
        for _ in range(pages):
            self._open.acquire()

    def _run(self, pages: int) -> None:
        self._loop.run_until_complete(self._all(pages))

    async def _all(self, pages: int) -> None:
        await asyncio.gather(*(self._one(self._tokens[k // EACH]) for k in range(pages)))

    async def _one(self, token: str) -> None:
        host, _, port = self._place.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
        head = f"GET /v1/updates?shares=true HTTP/1.1\r\nHost: {host}:{port}\r\n"
        writer.write(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
        seen = b""
        opened = False
        while part := await reader.read(2**16):
            seen = (seen + part)[-(2**10) :] if opened else seen + part
            if not opened and b"event: shares" in seen:
                opened = True
                self._open.release()
            self.updates += part.count(b"event: changes")


def open_pages(machines: int, tenants: int, jobs: int, pages: int, updates: int) -> Measured:
    """The first view of one page, what an update costs it and the service's loop, and what many
    open pages cost the service, beyond what the updates cost without any page."""
    place = Place(machines, tenants, jobs)
    place.exact()
    place.updates(2)

    def cost(of: Callable[[], float]) -> float:
        """Seconds of processor time for each update."""
        before = of()
        place.updates(updates)
        return (of() - before) / updates

    def run() -> dict[str, float]:
        loop_alone, whole_alone = cost(place.loop), cost(place.whole)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(place.url)
            page.get_by_label("Token").fill(place.token)
            page.get_by_role("button", name="Sign in").click()
            page.locator("tbody tr").first.wait_for()
            firsts = []
            for _ in range(5):
                page.goto("about:blank")
                page.goto(place.url)
                page.locator("tbody tr").first.wait_for()
                firsts.append(page.evaluate(FIRST))
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            place.updates(2)
            before = _busy(session.send("Performance.getMetrics"))
            loop_one = cost(place.loop)
            busy = (_busy(session.send("Performance.getMetrics")) - before) / updates
            browser.close()
        readers = Readers(place, pages)
        place.updates(2)
        told = readers.updates
        whole_many = cost(place.whole)
        return {
            "first_view_s": sorted(firsts)[len(firsts) // 2] / 1000,
            "page_ms": 1000 * busy,
            "loop_ms": 1000 * (loop_one - loop_alone),
            "cores": whole_many - whole_alone,
            "told": (readers.updates - told) / pages / updates,
            "load": os.getloadavg()[0],
        }

    return run


FIRST = """() => new Promise(done => requestAnimationFrame(() => done(performance.now())))"""
"""Milliseconds from the beginning of the navigation until its rows are there and drawn."""


def _busy(found: dict[str, list[dict[str, float]]]) -> float:
    """Seconds of processor time that the page's main thread took so far."""
    values = {str(one["name"]): float(one["value"]) for one in found["metrics"]}
    return values["TaskDuration"]


def standing(machines: int, tenants: int, jobs: int) -> Measured:
    """What the loop does for an update, and what a thread makes of it: processor time, the best of
    several, in one process and with nothing beside it."""
    service = begin(there=machines_of(machines), tenants=tenants_of(tenants), adviser=AtOnce())
    submit(service, jobs_of(jobs, tenants))
    now = service.records.time + 2_000_000
    service.step(now)
    service.step(now + 100_000)

    def best(function: Callable[[], object], times: int) -> float:
        """In milliseconds."""
        found = []
        for _ in range(times):
            begun = time.thread_time()
            function()
            found.append(time.thread_time() - begun)
        return 1000 * min(found)

    spares = Spares()

    def stand() -> Standing:
        """As the stream does it: what was told is written over."""
        found = take_standing(service, Caller(), now, spares)
        spares.put(found.copy)
        return found

    def run() -> dict[str, float]:
        found = take_standing(service, Caller(), now)
        return {
            "loop_ms": best(stand, 15),
            "thread_ms": best(lambda: (found.shares(own=True), found.audit()), 5),
            "load": os.getloadavg()[0],
        }

    return run


def tables(machines: int, tenants: int, jobs: int) -> Measured:
    """Pages of a hundred rows of so many jobs, as the dashboard asks for them."""
    place = Place(machines, tenants, jobs)
    client = psutil.Process()

    def asked(path: str, times: int = 9) -> float:
        """Milliseconds in the middle."""
        found = []
        for _ in range(times):
            begun = time.perf_counter()
            place.client._transport.ask("GET", path)  # noqa: SLF001  as a page asks
            found.append(time.perf_counter() - begun)
            time.sleep(0.3)
        return 1000 * sorted(found)[len(found) // 2]

    def run() -> dict[str, float]:
        return {
            "newest_ms": asked("/v1/jobs?newest=true&limit=100"),
            "of_tenant_ms": asked("/v1/jobs?newest=true&limit=100&tenant=team-150"),
            "machines_ms": asked("/v1/machines?order=tasks&limit=200"),
            "tenants_ms": asked("/v1/tenants?order=jobs&limit=100"),
            "events_ms": asked("/v1/events/past?limit=100"),
            "load": os.getloadavg()[0],
            "resident_mb": client.memory_info().rss / 1e6,
        }

    return run
