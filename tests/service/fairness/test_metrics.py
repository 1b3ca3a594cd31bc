"""What Prometheus reads: it says what is there, its lines are bounded, and no secret is in it."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from fairlead.engines.interface import Cause
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.service.metrics import MOST_TENANTS, OTHERS, Metrics
from fairlead.service.process.logs import Level, Logs
from fairlead.service.requests import Caller, MakeToken
from fairlead.wire.kinds import Role
from tests.engines.world import Fate
from tests.service.fairness.live import Live, runs

ROOT = Path(__file__).resolve().parents[3]
TENANTS = (Tenant("vision", weight=2), Tenant("language"))
MACHINES = [Machine(f"m{i}", {"cpu": 4, "memory": 8}) for i in (1, 2)]

Lines = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def observed(
    fate: Fate | None = None, tenants: tuple[Tenant, ...] = TENANTS
) -> tuple[Live, Metrics]:
    metrics = Metrics()
    live = Live(MACHINES, tenants, (lambda _: fate) if fate else None, metrics)
    live.service.listeners.append(metrics.count_entries)
    return live, metrics


def lines(live: Live, metrics: Metrics) -> Lines:
    metrics.read(live.service, live.now)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def of(found: Lines, name: str, **labels: str) -> float:
    return found[f"fairlead_{name}", tuple(sorted(labels.items()))]


def test_shares_and_shortfalls() -> None:
    live, metrics = observed()
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=12))
    live.submit(runs("eval", {"cpu": 2}, tenant="language", tasks=3))
    live.step(seconds=2)
    live.step(seconds=2)
    found = lines(live, metrics)
    assert of(found, "tenant_share", tenant="vision") == 0.5  # 8 of 8, weight 2
    assert of(found, "tenant_share", tenant="language") == 0
    assert abs(of(found, "tenant_fair_share", tenant="language") - 1 / 3) < 1e-9
    assert of(found, "tenant_shortfall", tenant="language") == 0.25  # 1 task of 4 is guaranteed
    assert of(found, "tenant_shortfall", tenant="vision") == 0
    assert abs(of(found, "gap") - 1 / 3) < 1e-9  # all that is due to language
    assert of(found, "tenant_running_tasks", tenant="vision") == 8
    assert of(found, "tenant_waiting_tasks", tenant="language") == 3
    assert of(found, "waiting_tasks", reason="no_room") == 7
    assert of(found, "machines", state="up") == 2
    assert of(found, "present_jobs") == 2
    assert of(found, "ready") == 1
    assert of(found, "exact_ok") == 1
    assert of(found, "launches_total") == 8
    assert of(found, "jobs_total", what="submitted") == 2
    assert of(found, "decision_seconds_count") >= 3
    assert of(found, "journal_seconds_count") >= 2
    assert of(found, "entries_total") == live.service.records.seq


def test_ends_by_outcome() -> None:
    live, metrics = observed(Fate(1, Cause.EXITED, code=3))
    live.submit(runs("bad", {"cpu": 1}, tenant="vision", tasks=4, retries=1))
    for _ in range(4):
        live.step(seconds=1)
    found = lines(live, metrics)
    assert of(found, "ends_total", outcome="failed") == 4
    assert of(found, "ends_total", outcome="lost") == 4  # tried again: that is a loss to the core
    assert of(found, "retries_total") == 4


def test_why_tasks_wait() -> None:
    live, metrics = observed(tenants=(Tenant("vision", limit={"cpu": 2}), Tenant("language")))
    live.submit(
        runs("limited", {"cpu": 1}, tenant="vision", tasks=5),
        runs("nowhere", {"cpu": 99}, tenant="language", tasks=2),
        runs("gang", {"cpu": 3}, tenant="language", tasks=4, gang=2),
    )
    found = lines(live, metrics)
    assert of(found, "waiting_tasks", reason="limit") == 3
    assert of(found, "waiting_tasks", reason="nowhere") == 2
    assert of(found, "waiting_tasks", reason="gang") == 2


def test_lines_are_bounded() -> None:
    tenants = tuple(Tenant(f"t{i}") for i in range(MOST_TENANTS + 50))
    live, metrics = observed(tenants=tenants)
    live.submit(*(runs(f"j{i}", {"cpu": 1}, tenant=f"t{i}", tasks=1) for i in range(len(tenants))))
    found = lines(live, metrics)
    shares = [name for name, _ in found if name == "fairlead_tenant_share"]
    assert len(shares) == MOST_TENANTS
    running = sum(
        value for (name, _), value in found.items() if name == "fairlead_tenant_running_tasks"
    )
    assert running == 8
    assert ("fairlead_tenant_waiting_tasks", (("tenant", OTHERS),)) in found


def test_the_api_counts_by_template() -> None:
    _, metrics = observed()
    metrics.api("/v1/jobs/{job}", "GET", 200, 0.01)
    metrics.api("/v1/jobs/{job}", "GET", 404, 0.01)
    text = metrics.text().decode()
    assert (
        'fairlead_api_requests_total{method="GET",route="/v1/jobs/{job}",status="404"} 1.0' in text
    )


def test_the_dashboard_shows_only_what_there_is() -> None:
    live, metrics = observed()
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=1))
    metrics.api("/v1/jobs", "GET", 200, 0.01)
    live.step(seconds=2)
    known = {name for name, _ in lines(live, metrics)}
    families = {
        family.name for family in text_string_to_metric_families(metrics.text().decode())
    } | {
        f"{family.name}_total"
        for family in text_string_to_metric_families(metrics.text().decode())
        if family.type == "counter"
    }
    board = json.loads((ROOT / "packaging" / "grafana-dashboard.json").read_text())
    used = set()
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            used |= set(re.findall(r"\b(?:fairlead|process)_[a-z_]+", target["expr"]))
    assert len(used) >= 15
    assert used <= known | families
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))


def test_every_metric_is_documented() -> None:
    page = (ROOT / "docs" / "howto" / "watch-with-prometheus.md").read_text(encoding="utf-8")
    named = set(re.findall(r"fairlead_[a-z_]+", page.partition("## What there is")[2]))
    families = list(text_string_to_metric_families(Metrics().text().decode()))
    there = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in families
        if family.name.startswith("fairlead_")
    }
    assert there <= named
    assert {name.removesuffix("_bucket") for name in named} <= there


def test_logs_have_no_secrets() -> None:
    written = io.StringIO()
    live, _ = observed(Fate(1, Cause.EXITED, code=1, message="hush: it said 1234"))
    logs = Logs(written, lambda: live.now, Level.ALL)
    live.service.listeners.append(logs.write_entries)
    live.submit(
        runs("train", {"cpu": 1}, tenant="vision", tasks=2, env={"KEY": "hush"}, cwd="/hush")
    )
    live.step(MakeToken(Caller(), "t", Role.ADMIN, None, "hush-salt", "hush-hash"), seconds=1)
    live.drain("m1")
    logs.event("api_refused", route="/v1/jobs", status=403)
    rows = [json.loads(line) for line in written.getvalue().splitlines()]
    assert "hush" not in written.getvalue()
    kinds = [row["event"] for row in rows]
    for kind in ("job_submitted", "launch", "task_failed", "token_made", "machine_drained"):
        assert kind in kinds
    assert rows[-1]["event"] == "api_refused"
    assert all(row["time"].endswith("Z") for row in rows)
    submitted = rows[kinds.index("job_submitted")]
    assert (submitted["job"], submitted["tenant"], submitted["id"]) == ("train", "vision", 1)


def test_few_logs_leave_tasks_out() -> None:
    written = io.StringIO()
    live, _ = observed()
    live.service.listeners.append(Logs(written, lambda: live.now, Level.FEW).write_entries)
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=2))
    assert written.getvalue() == ""
    live.drain("m1")
    kinds = [json.loads(line)["event"] for line in written.getvalue().splitlines()]
    assert kinds == ["drain_asked", "machine_drained"]
