"""The same workload on the same Slurm: by its own fair tree, in Fairlead's order, and placed by
Fairlead.

`python -m benchmarks.slurm_side_by_side FOLDER` runs all (26 minutes, beside each other), keeps
what was measured in FOLDER, and writes the table and the picture of
`docs/explanation/slurm-side-by-side.md`. `--draw`: from what FOLDER holds, without running.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fairlead.client import Client
from tests.engines.slurm.ground import Ground, path

MODES = {"fair tree": "observe", "order": "order", "place": "place"}
"""What is compared, and the mode of the service, which looks at the shares in each of them."""

SECONDS = 1500
SAMPLE = 5.0
BEGIN = 150
"""Seconds that count for no mean: at first all machines are empty."""

SETTINGS = """\
PriorityFlags=MAX_TRES
PriorityWeightFairshare=1000
PriorityDecayHalfLife=10
PriorityCalcPeriod=1
"""
"""The fair tree alone decides. Its half-life is four jobs long, and usage is counted once a minute,
the least that Slurm takes. The partition bills GPUs (`tests/engines/slurm/accounting.py`)."""

ACCOUNTS = """\
Cluster - tests
Parent - root
Account - vision:Fairshare=1
Account - language:Fairshare=1
Account - physics:Fairshare=1
Account - maps:Fairshare=1
Parent - vision
User - games:Fairshare=1
Parent - language
User - lp:Fairshare=1
Parent - physics
User - man:Fairshare=1
Parent - maps
User - news:Fairshare=1
"""

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "slurm-side-by-side.md"
MADE = re.compile(r"(<!-- made by .* -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a job asks for: on each of `nodes` nodes so many CPUs and GPUs, where that is so."""

    cpus: int
    gpus: int = 0
    where: str = ""
    nodes: int = 1

    def words(self) -> tuple[str, ...]:
        """In the words of sbatch."""
        gpus = (f"--gres=gpu:{self.gpus}",) if self.gpus else ()
        where = ("-C", self.where) if self.where else ()
        return (f"-c{self.cpus}", f"-N{self.nodes}", *gpus, *where)

    def plain(self) -> dict[str, Any]:
        """In Fairlead's words. Memory is what Slurm gives by itself."""
        demand = {"cpu": self.cpus, "memory": f"{100 * self.cpus}MiB"}
        demand |= {"gpu": self.gpus} if self.gpus else {}
        # Who needs a GPU of any model is where there are some.
        where = {"where": self.where} if self.where and "|" not in self.where else {}
        gang = {"gang": self.nodes, "spread": True} if self.nodes > 1 else {}
        return {"demand": demand, "tasks": self.nodes, **where, **gang}


@dataclass(frozen=True, slots=True)
class Group:
    """An account's jobs: who submits them, from which second on, how many a minute, and what each
    asks for; every tenth asks for `large` instead."""

    account: str
    user: str
    begins: int
    rate: float
    asks: Ask
    large: Ask


GROUPS = (
    Group("vision", "games", 0, 4, Ask(2, 1, "a100"), Ask(4, 2, "a100")),
    Group("language", "lp", 0, 5, Ask(2, 1, "a100|v100"), Ask(8, 4, "a100")),
    Group("physics", "man", 0, 6, Ask(4), Ask(2, nodes=4)),
    Group("maps", "news", 500, 6, Ask(4, where="amd"), Ask(8, where="amd")),
)
BACKLOG = 15
"""Jobs of each that come at once when it begins."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A job that comes at this second."""

    at: float
    group: Group
    asks: Ask
    lasts: int


def workload() -> list[Submission]:
    """All of them, in the order in which they come: the same each time."""
    rng, found = random.Random(20), []
    for group in GROUPS:
        count = BACKLOG + int(group.rate * (SECONDS - group.begins) / 60)
        for number in range(count):
            at = group.begins + max(0, number - BACKLOG) * 60 / group.rate
            asks = group.large if number % 10 == 9 else group.asks
            found.append(Submission(at, group, asks, rng.randint(100, 200)))
    return sorted(found, key=lambda each: each.at)


def run(mode: str, file: Path) -> None:
    """One of them, from an empty cluster on."""
    ground = Ground(SETTINGS, ACCOUNTS)
    try:
        state = file.with_suffix(".state")
        state.mkdir(mode=0o711)
        config, cluster = state / "config.yaml", state / "cluster.yaml"
        partition = "partition: fair\n" if mode == "place" else ""
        config.write_text(f"read_every: 1s\n{partition}", encoding="utf-8")
        cluster.write_text(
            "tenants:\n" + "".join(f"  - name: {group.account}\n" for group in GROUPS), "utf-8"
        )
        os.environ |= ground.environment | {"FAIRLEAD_STATE": str(state / "service")}
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{path()}"
        serve = ["serve", "--engine", "slurm", "--mode", MODES[mode], "--config", str(config)]
        if mode == "place":
            serve += ["--cluster", str(cluster)]
        fairlead = (sys.executable, "-m", "fairlead")
        subprocess.run([*fairlead, *serve, "--listen", "127.0.0.1:0", "--detach"], check=True)
        try:
            with Client() as client:
                submit = client.submit if mode == "place" else None
                samples = follow(client, ground, submit)
                jobs = recorded(client) if mode == "place" else accounted(ground)
        finally:
            subprocess.run([*fairlead, "stop"], check=True)
        file.write_text(json.dumps({"samples": samples, "jobs": jobs}), "utf-8")
    finally:
        ground.down()


def follow(
    client: Client, ground: Ground, submit: Callable[..., object] | None
) -> list[dict[str, Any]]:
    """Submits what comes, to Slurm or by `submit`, and looks at the shares meanwhile."""
    began, left, samples = time.monotonic(), workload(), []
    accounts = {group.account for group in GROUPS}
    due = 0.0
    while (now := time.monotonic() - began) < SECONDS:
        while left and left[0].at <= now:
            one = left.pop(0)
            account, asks, number = one.group.account, one.asks, len(left)
            if submit is None:
                words = ("sbatch", "-A", account, "-o", "/dev/null", "--time=5", *asks.words())
                ground.run(*words, f"--wrap=sleep {one.lasts}", user=one.group.user)
                continue
            of = {"name": f"{account}-{number}", "tenant": account}
            submit({**of, **asks.plain(), "command": ["sleep", str(one.lasts)]})
        if now >= due:
            due += SAMPLE
            shares, audit = client.shares(), client.audit()
            found = {each.name: (each.share, each.fair) for each in shares.tenants}
            samples.append(
                {
                    "at": now,
                    "gap": audit.gap,
                    "short": {each.tenant: each.tasks for each in audit.shortfalls},
                    "shares": {name: found[name] for name in accounts if name in found},
                }
            )
        time.sleep(0.05)
    return samples


def recorded(client: Client) -> list[dict[str, Any]]:
    """The same of jobs that Fairlead placed, by its records."""
    found = []
    for job in client.jobs(all=True):
        first = next(iter(client.tasks(job.name))).attempts[:1]
        started = first[0].started if first else None
        waited = None if started is None else (started - job.submitted) / 1e6
        ended = bool(first) and first[0].ended is not None
        found.append({"account": job.tenant, "waited": waited, "ended": ended})
    return found


def accounted(ground: Ground) -> list[dict[str, Any]]:
    """The jobs with the seconds that each waited (null: it waits still), by Slurm's accounting."""
    asked = ("sacct", "-a", "-X", "-n", "-P", "-S", "now-1hours", "-o", "Account,Submit,Start,End")
    found = []
    for line in ground.run(*asked).splitlines():
        account, submit, start, end = line.split("|")
        times = [None if text in ("Unknown", "None", "") else text for text in (submit, start, end)]
        moments = [None if text is None else datetime.fromisoformat(text) for text in times]
        waited = moments[1] and moments[0] and (moments[1] - moments[0]).total_seconds()
        found.append({"account": account, "waited": waited, "ended": moments[2] is not None})
    return found


def rows(results: Mapping[str, Any]) -> list[list[str]]:
    """The table: how much of what is due was held, how far each account was from the exact share,
    how long it waited, and what the auditor says."""
    found = []
    for mode, result in results.items():
        samples = [
            one for one in result["samples"] if one["at"] >= BEGIN and one["gap"] is not None
        ]
        held = 1 - statistics.fmean(one["gap"] for one in samples)
        short = statistics.fmean(bool(one["short"]) for one in samples)
        found.append([f"**{mode}**", f"{100 * held:.1f}%", f"{100 * short:.0f}%", *[""] * 4])
        for group in GROUPS:
            pairs = [one["shares"].get(group.account, (0, None)) for one in samples]
            pairs = [(has, fair) for has, fair in pairs if fair]
            waits = [one["waited"] for one in result["jobs"] if one["account"] == group.account]
            began = [one for one in waits if one is not None]
            held = statistics.fmean(min(1, has / fair) for has, fair in pairs)
            short = statistics.fmean(group.account in _whose(one) for one in samples)
            means = [statistics.fmean(each) for each in zip(*pairs, strict=True)]
            found.append(
                [
                    *(group.account, f"{100 * held:.1f}%", f"{100 * short:.0f}%"),
                    *(f"{each:.3f}" for each in means),
                    *(f"{len(began)} of {len(waits)}", f"{statistics.median(began):.0f} s"),
                ]
            )
    return found


def _whose(sample: Mapping[str, Any]) -> set[str]:
    return {tenant.rpartition("@")[2] for tenant in sample["short"]}


HEADER = (
    *("", "of what is due, held", "time in which the auditor finds it short", "mean share"),
    *("mean exact share", "jobs that began", "median wait of these"),
)


def table(results: Mapping[str, Any]) -> str:
    """The table in Markdown."""
    lines = [HEADER, ["---"] + ["--:"] * (len(HEADER) - 1), *rows(results)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw(results: Mapping[str, Any], file: Path) -> None:
    """Each account's share over time beside the exact one, a row of panels for each mode."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from fairlead.simulation.report.plots import COLOURS, STYLE

    with mpl.rc_context({**STYLE, "svg.hashsalt": "side"}):
        figure = Figure(figsize=(10.4, 2.4 * len(results)), layout="constrained")
        panels = figure.subplots(len(results), len(GROUPS), sharex=True, sharey=True, squeeze=False)
        for line, (mode, result) in zip(panels, results.items(), strict=True):
            for panel, group, colour in zip(line, GROUPS, COLOURS, strict=False):
                pairs = [
                    (one["at"] / 60, *one["shares"].get(group.account, (0, 0)))
                    for one in result["samples"]
                ]
                minutes, has, fair = zip(*pairs, strict=True)
                panel.step(minutes, fair, where="post", color="#1a1a1b", lw=1.1, label="exact")
                panel.step(minutes, has, where="post", color=colour, lw=1.6, label="has")
                panel.set_title(f"{group.account}, {mode}")
        panels[0][0].legend(loc="upper right")
        for panel in panels[-1]:
            panel.set_xlabel("minutes")
        for line in panels:
            line[0].set_ylabel("share")
        panels[0][0].set_ylim(0)
        figure.savefig(file, format="svg", metadata={"Date": None})


def write(results: Mapping[str, Any]) -> None:
    """The table into the page, and its picture beside it."""
    draw(results, PAGE.with_suffix(".svg"))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MADE.sub(rf"\g<1>\n{table(results)}\n\n\g<2>", text), encoding="utf-8")


def main(words: Sequence[str] | None = None) -> None:
    """Runs what is asked for, each mode in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mode", choices=MODES, help="this one alone, and nothing is written")
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    asked = parser.parse_args(words)
    files = {mode: asked.folder / f"{mode.replace(' ', '-')}.json" for mode in MODES}
    if asked.mode:
        run(asked.mode, files[asked.mode])
        return
    if not asked.draw:
        asked.folder.mkdir(parents=True)
        again = (sys.executable, "-m", "benchmarks.slurm_side_by_side", str(asked.folder))
        started = [subprocess.Popen([*again, "--mode", mode]) for mode in MODES]
        codes = [each.wait() for each in started]
        if any(codes):
            raise SystemExit(1)
    write({mode: json.loads(file.read_text(encoding="utf-8")) for mode, file in files.items()})


if __name__ == "__main__":
    main()
