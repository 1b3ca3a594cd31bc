"""What the page "What we learned" says is what its studies found: each sentence's figures are made
again from the results among the docs."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "explanation" / "what-we-learned.md"
SMALL = {2: "two"}
"""Numbers that the page writes as a word."""


@cache
def rows(study: str) -> dict[str, tuple[str, str]]:
    """By claim what came out, and the verdict. Of claims that occur again the first counts."""
    tree = json.loads((DOCS / "studies" / study / "study.json").read_text(encoding="utf-8"))
    found: dict[str, tuple[str, str]] = {}
    for row in tree["rows"]:
        found.setdefault(row["claim"], (row["ours"], row["verdict"]))
    return found


def ours(study: str, claim: str) -> str:
    """What came out for the one claim that begins so."""
    (found,) = [one for name, (one, _) in rows(study).items() if name.startswith(claim)]
    return found


def numbers(text: str) -> list[float]:
    """The numbers in a text."""
    return [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def number(study: str, claim: str) -> float:
    """The one number that came out."""
    (found,) = numbers(ours(study, claim))
    return found


def table_i() -> list[str]:
    refuted = {
        policy: sum(
            found.startswith("no")
            for claim, (found, _) in rows("tsf-table1").items()
            if claim.startswith(f"{policy}: ") and "equal split" not in claim
        )
        for policy in ("tsf", "drfh", "cdrf", "per-machine-drf")
    }
    assert refuted["tsf"] == refuted["drfh"] == 0
    (inputs,) = numbers(ours("tsf-table1", "tsf: strategy-proofness"))
    return [
        f"in {inputs:g} small inputs of each kind",
        f"{refuted['cdrf']} of constrained CDRF's and {refuted['per-machine-drf']} of per-machine",
    ]


def claimed_machines() -> list[str]:
    before, after = numbers(ours("tsf-fig2", "under constrained CDRF the lie pays"))
    models = re.search(r"CDRF (0\.\d+)", ours("ours-gpu", "exact: of the fair policies CDRF"))
    assert models is not None
    return [f"{after:g} tasks instead of {before:g}", f"{models[1]} of what `tsf` gives them"]


def useless_memory() -> list[str]:
    times = number("ours-unusable", "… half of the memory useless: DRFH")
    return [f"gives one of {SMALL[int(times)]} equals twice as many tasks"]


def machine_by_machine() -> list[str]:
    each, both = numbers(ours("cdrf-section3", "per-machine DRF: tasks of both"))
    fits, all_ = numbers(ours("cdrf-section3", "CDRF: tasks of both"))
    assert (each, fits) == (both, all_)
    return [f"both get {each:g} tasks where {fits:g} each would fit"]


def slots() -> list[str]:
    most, all_ = numbers(ours("drf-slots", "slots run fewer tasks"))
    return [f"{most:g} tasks run where {all_:g} would"]


def two_df() -> list[str]:
    more = [
        100 * number("kdf-table1", f"C = {c}, 2-DF") / number("kdf-table1", f"C = {c}, DRF") - 100
        for c in (3, 5)
    ]
    envy = [100 - number("kdf-fairness", f"C = {c}: envy-free") for c in (3, 5)]
    assert ours("tsf-table1", "k-DF, Theorem 2: 2-DF").startswith("no")
    return [
        f"{more[0]:.0f}% to {more[1]:.0f}% more tasks",
        f"leaves {envy[0]:.0f}% to {envy[1]:.0f}% of all cases with envy",
    ]


def pools() -> list[str]:
    least = numbers(ours("tsf-fig6", "exact shares: tasks of each job"))
    assert all(one >= due for one, due in zip(least, (10, 30, 20, 30), strict=True))
    assert ours("tsf-fig6", "Table II: no job is slower").startswith("no")
    return ["nobody's exact share is below its own pool's", "may still end later"]


def online() -> list[str]:
    study = "choosy-schedulers"
    near = [
        number(study, f"{kind}: mean distance of the sorted")
        for kind in ("restricted", "preemption")
    ]
    times = numbers(ours(study, "those that solve take a hundred times"))
    return [
        f"{near[0]:.1f}% to {near[1]:.1f}% of the cluster",
        f"{min(times):.0f} to {max(times):.0f} times as long",
    ]


def long_tasks() -> list[str]:
    formula = number("choosy-fig6", "α = 1.9, pickiness 0.85: wait ÷ mean task time, by the")
    google = number("choosy-fig7", "Google, 10,000 jobs: wait ÷ mean task time")
    return [f"waits {SMALL[round(formula)]} mean task times", f"of 10,000 Google jobs {google:.0f}"]


def jobs_start() -> list[str]:
    fifo, tsf = numbers(ours("tsf-google", "Figure 9a (times of 10,000 jobs): jobs wait longest"))
    similar = "Figure 9b (times of 10,000 jobs): fair policies do not differ"
    assert ours("tsf-google", similar).startswith("yes")
    return [f"{tsf:.0f} s in the mean instead of {fifo / 60:.0f} min"]


SENTENCES = (
    table_i,
    claimed_machines,
    useless_memory,
    machine_by_machine,
    slots,
    two_df,
    pools,
    online,
    long_tasks,
    jobs_start,
)


def sentences() -> list[str]:
    """The page's ten sentences, each on one line."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^\d+\. (.*?)(?=^\d+\. |^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    return [" ".join(one.split()) for one in found]


def test_each_sentence_has_a_figure_of_a_study_and_is_checked() -> None:
    found = sentences()
    assert len(found) == len(SENTENCES)
    for sentence in found:
        (picture,) = re.findall(r"\]\(\.\./(studies/[^)]+\.png)\)", sentence)
        assert (DOCS / picture).is_file()


@pytest.mark.parametrize("at", range(len(SENTENCES)), ids=[one.__name__ for one in SENTENCES])
def test_a_sentence_says_what_the_studies_found(at: int) -> None:
    for phrase in SENTENCES[at]():
        assert phrase in sentences()[at], phrase
