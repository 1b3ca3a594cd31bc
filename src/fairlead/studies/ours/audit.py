"""Ours: which promises are kept on two real clusters."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from fairlead.audit.finding import Input, Verdict
from fairlead.audit.holdings.dealing import deal_pools
from fairlead.audit.outcome import Options
from fairlead.audit.run import Refused, audit
from fairlead.sharing.rules.registry import parse
from fairlead.studies.claims import Row, whether
from fairlead.studies.clusters import alibaba, alibaba_files, backlog, google
from fairlead.studies.pictures.charts import grid
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.study import About, Findings, Setting, Table

SPLIT, ENVY, PARETO = "sharing-incentive", "envy-freeness", "pareto-optimality"
PROPERTIES = (SPLIT, ENVY, PARETO)
POLICIES = (
    "tsf",
    "cdrf",
    "drfh",
    "per-machine-drf",
    "cmmf(cpu)",
    "2df",
    "asset",
    "market",
    "most-tasks",
    "independent",
)
OF_GOOGLE = ("tsf", "cdrf", "drfh")
"""Per-machine DRF divides each of the 12,477 machines by itself, and what that wastes is asked on
Alibaba's."""
FEW = ("tsf", "cdrf", "2df")
SIXTEENTH, FEW_PODS = 16, 500
"""Of a quick run: which of the nodes, and how many pods."""
SEED = 1

PODS, POOLS, USERS = "Alibaba, endless pods", "Alibaba, nodes as pools", "Google, users of an hour"


class Case(NamedTuple):
    """A policy on an input; of Alibaba's, which nodes of each kind are there, and how many pods."""

    where: str
    policy: str
    files: tuple[str, ...]
    nth: int = 1
    pods: int | None = None  # all


class Broken(NamedTuple):
    """How many are hurt, of how many, and the worst of it in words; `of` 0: it says nothing."""

    hurt: int
    of: int
    worst: str


def run(setting: Setting) -> Findings:
    """Judges every policy on both clusters."""
    nodes = alibaba_files(setting)
    size = (SIXTEENTH, FEW_PODS) if setting.quick else (1, None)
    cases = [
        Case(where, policy, nodes, *size)
        for where in ((PODS,) if setting.quick else (PODS, POOLS))
        for policy in (FEW if setting.quick else POLICIES)
    ]
    if not setting.quick:
        there = (str(setting.data("google-2011")),)
        cases += [Case(USERS, policy, there) for policy in OF_GOOGLE]
    found = dict(zip(cases, setting.spread(judge, cases), strict=True))
    by = {(case.where, case.policy): one for case, one in found.items()}
    data = [
        (case.where, case.policy, name, broken.hurt, broken.of, broken.worst)
        for case, all_ in found.items()
        for name, broken in zip(PROPERTIES, all_, strict=True)
    ]
    places = list(dict.fromkeys(case.where for case in cases))
    return Findings(
        rows=tuple(_rows(by)),
        tables=(
            Table.of_rows("verdicts", ("input", "policy", "property", "hurt", "of", "worst"), data),
        ),
        pictures=(
            Picture(
                "Who is hurt, in percent",
                "Below an equal split (or the pool that one brought): of the tenants. Envy: of the"
                " pairs. Could have more while nobody has less: of the tenants. Empty: nobody."
                " –: the rule says on which machines nobody is, or was not tried.",
                tuple(_panel(by, where) for where in places),
                height=3.8,
            ),
        ),
        seeds=(SEED,),
    )


def judge(case: Case) -> tuple[Broken, ...]:
    """The three properties of the policy on the input."""
    found = {}
    for one in audit(_input(case), [parse(case.policy)], PROPERTIES, Options(seed=SEED)):
        if isinstance(one, Refused):
            continue
        counts = [number for _, number in one.counts]
        if one.verdict is not Verdict.NOT_APPLICABLE and len(counts) == 2:
            worst = "" if one.witness is None else one.witness.sentence
            found[one.property] = Broken(counts[1], counts[0], worst)
    return tuple(found.get(name, Broken(0, 0, "")) for name in PROPERTIES)


def _input(case: Case) -> Input:
    if case.where == USERS:
        return backlog(google(Path(case.files[0])))
    nodes, pods = case.files
    given = backlog(alibaba((nodes, pods), nth=case.nth, pods=case.pods), endless=True)
    return deal_pools(given, SEED)[0] if case.where == POOLS else given


def _rows(by: dict[tuple[str, str], tuple[Broken, ...]]) -> list[Row]:
    """The promises of the theorems, and those that are known to break."""
    split, envy, pareto = range(3)
    expected = [
        (PODS, "tsf", envy, True, ""),
        (PODS, "tsf", pareto, True, ""),
        (PODS, "cdrf", envy, False, ""),
        (PODS, "2df", split, False, ""),
        (PODS, "per-machine-drf", pareto, False, ""),
        (POOLS, "tsf", split, True, ""),
        (POOLS, "per-machine-drf", split, False, ""),
        (POOLS, "independent", split, False, ""),
        (
            USERS,
            "tsf",
            envy,
            True,
            "perhaps these users' many jobs (up to 129) do: TSF is free of envy for one job each",
        ),
        (USERS, "tsf", split, True, ""),
    ]
    words = ("nobody is below the split, or below its pool", "nobody envies", "nothing is wasted")
    rows = []
    for where, policy, what, kept, because in expected:
        if (where, policy) in by:
            one = by[where, policy][what]
            shown = f"{one.hurt:,} of {one.of:,}"
            claim = f"{where}: under {policy} {words[what]}"
            rows.append(whether(claim, not one.hurt, because, paper=kept, shown=shown))
    return rows


def _panel(by: dict[tuple[str, str], tuple[Broken, ...]], where: str) -> Panel:
    policies = [policy for place, policy in by if place == where]
    cells = [[_percent(by[where, policy][at]) for at in range(3)] for policy in policies]
    words = [[_word(part) for part in line] for line in cells]
    shades = [[0.0 if part is None else part**0.5 for part in line] for line in cells]
    return grid(("below", "envy", "wasted"), policies, words, shades, title=where)


def _percent(one: Broken) -> float | None:
    return one.hurt / one.of if one.of else None


def _word(part: float | None) -> str:
    if part is None:
        return "–"
    return "" if part == 0 else f"{100 * part:.2g}%"


STUDY = About(
    figure="",
    title="promises on two real clusters",
    shows="The papers prove their promises for users of one job each, and show them on examples."
    " Here they are asked of Alibaba's GPU cluster of 2023 (the pods of `gpuspec33`, 447 kinds,"
    " each its own tenant, as if they never ended, on 1,523 nodes), first against an equal split,"
    " then against nodes that each has brought; and of the users of Google's first hour on 12,477"
    " machines. Expected is what the theorems promise, or what they leave open.",
    assumes=(
        "Nodes are dealt out to those who can use them, in an order drawn by the seed.",
        "A pair envies if one could run more with what the other holds.",
        (
            "On Google's machines three policies are judged. Per-machine DRF was stopped after two"
            " and a half minutes of a busy machine; each other takes at most 20 s of a processor."
        ),
    ),
    weight=60.0,
)
