"""The dashboard: pages that are open while something happens, and tables of many jobs."""

from __future__ import annotations

from benchmarks.cases import Call, Case, Options

HERE = "benchmarks.dashboard_pages"


def cases(options: Options) -> list[Case]:
    """The rows. What was promised is about their figures (docs/explanation/dashboard-load.md)."""
    quick = options.quick
    machines, tenants = (50, 20) if quick else (1_000, 200)
    size = {"machines": machines, "tenants": tenants, "jobs": 500 if quick else 10_000}
    pages = {**size, "pages": 10 if quick else 100, "updates": 3 if quick else 15}
    many = {**size, "jobs": 2_000 if quick else 100_000}
    return [
        Case("pages", pages, Call("Chromium and streams", f"{HERE}:open_pages", pages)),
        Case("standing", size, Call("in one process", f"{HERE}:standing", size)),
        Case("tables", many, Call("over HTTP", f"{HERE}:tables", many)),
    ]
