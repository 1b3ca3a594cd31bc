"""Strategy-proofness: the papers' lies with their numbers, what the search finds and what it does
not, and how a liar's gain is counted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.audit.change import apply
from fairlead.audit.finding import Change, Finding, Input, Lie, Split, Verdict
from fairlead.audit.outcome import Options, Shown, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.audit.properties.strategy_least import MOST, least, room_for
from fairlead.audit.properties.strategy_lies import directed, scale_tasks, scene_of
from fairlead.audit.properties.strategy_value import claims_of, gets
from fairlead.audit.witness.file import witness_from_json, witness_json
from fairlead.audit.witness.replay import Again, replay
from fairlead.model.eligibility import may_use
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.studies.properties.inputs import Family, instance
from tests.audit.build import given, shown_again, witness_of
from tests.papers.cases import job, machines
from tests.papers.test_tsf import FIGURE_2, U1, U2, U2_LIES

NAME = "strategy-proofness"
FIG_2 = given(FIGURE_2, (U1, U2))
FORCED = given(machines((1, 4), (3, 1)), (job("u1", 1, 1), job("u2", 1, 2, on=[1])))
KDF = given(machines((200, 200, 200)), (job("u1", 40, 8, 8), job("u2", 8, 5, 1)))
HALF = job("u1", 20, 4, 4)
POOLS = given(
    machines((1,), (6,), (6,), (2,)),
    (
        Job("j1", {"a": 1}, tenant="u1", machines=["m2", "m3", "m4"]),
        Job("j2", {"a": 4}, tenant="u2", machines=["m2", "m4"]),
    ),
    (Tenant("u1", pool=["m1", "m2"]), Tenant("u2", pool=["m3", "m4"])),
)
SPLIT = given(machines((1,), (1,)), (job("u", 1), job("v", 1, on=[1])))
CHOOSY = given(machines((1,), (1,)), (job("u1", 1, on=[1]), job("u2", 1)))


def searched(
    what: Input, policy: str, trials: int = 8, seed: int = 1, smallest: int | None = None
) -> Finding:
    options = Options(trials=trials, seed=seed, smallest=smallest)
    return PROPERTIES[NAME].check(solve(what, policy), options)


def told(what: Input, policy: str, change: Change, *who: str) -> Shown:
    """The numbers of one lie."""
    before = solve(what, policy)
    shown = PROPERTIES[NAME].measure(before, solve(apply(change, what), policy), who)
    assert shown is not None
    return shown


def claims(*jobs: Job) -> Lie:
    return Lie(tuple(job.tenant or job.name for job in jobs), jobs)


LIES: dict[str, tuple[Input, str, Change, tuple[str, ...], float, float]] = {
    "FACTS: constrained CDRF, forced in every placement": (
        FORCED,
        "cdrf",
        claims(job("u2", 1, 2)),
        ("u2",),
        2 / 3,
        6 / 7,
    ),
    "k-DF is not scale-free: half tasks": (KDF, "2df", claims(HALF), ("u1",), 25 / 13, 25 / 9),
    "TSF's Theorem 3 where a pool cannot be used": (
        POOLS,
        "tsf",
        claims(Job("j1", {"a": 1}, tenant="u1")),
        ("u1",),
        10.5,
        32 / 3,
    ),
    "splitting oneself in two pays under TSF, the weight divided": (
        SPLIT,
        "tsf",
        Split(
            "u",
            (
                Job("p", {"a": 1}, tenant="p", machines=["m1"]),
                Job("q", {"a": 1}, tenant="q", machines=["m2"]),
            ),
            (Tenant("p", weight=Fraction(1, 2)), Tenant("q", weight=Fraction(1, 2))),
        ),
        ("u",),
        1,
        4 / 3,
    ),
}


@pytest.mark.parametrize("case", LIES)
def test_a_lie_of_the_papers_pays_as_much_as_they_say(case: str) -> None:
    what, policy, change, who, truth, lie = LIES[case]
    shown = told(what, policy, change, *who)
    assert (shown.before, shown.after) == pytest.approx((truth, lie))
    assert shown.slack == pytest.approx(1 - truth / lie)


HURTING = {
    "TSF, Figure 2 under TSF: six tasks on m2 in the truth, fewer in some placement of the lie": (
        FIG_2,
        "tsf",
        claims(U2_LIES),
    ),
    "TSF, Figure 2 under constrained CDRF: in some placement nothing usable": (
        FIG_2,
        "cdrf",
        claims(U2_LIES),
    ),
    "Choosy, section 4.2.2: who claims both machines may lose its own": (
        CHOOSY,
        "cmmf(a)",
        claims(job("u1", 1)),
    ),
}


@pytest.mark.parametrize("case", HURTING)
def test_a_lie_that_some_placement_punishes_does_not_count(case: str) -> None:
    what, policy, change = HURTING[case]
    shown = told(what, policy, change, *change.liars)
    assert shown.after < shown.before
    assert shown.slack == 0


def test_figure_2b_gives_nothing_to_six_true_tasks() -> None:
    after = solve(apply(claims(U2_LIES), FIG_2), "cdrf")
    found = gets(U2, claims_of(FIG_2, after.input, U2), after)
    assert (found.least, found.most) == pytest.approx((0, 6), abs=1e-6)


def test_figure_2_tells_the_possible_gain_apart() -> None:
    finding = searched(FIG_2, "cdrf")
    assert finding.verdict is Verdict.NOT_FOUND
    assert "not counted, because only some placements give it" in finding.note
    assert "0 to 6 true tasks" in finding.note


def test_what_fits_in_every_placement_is_a_hand_made_number() -> None:
    # u claims m2 too and gets 3 of the 4 places; m1 alone is its own: at least 1, at most 2.
    claim = Job("u", {"a": 1}, tenant="U")
    lie = given(machines((2,), (2,)), (claim, job("v", 1)), (Tenant("U", weight=3),))
    true = Job("u", {"a": 1}, tenant="U", machines=["m1"])
    found = gets(true, [claim], solve(lie, "tsf"))
    assert (found.least, found.most) == pytest.approx((1, 2))


def test_true_tasks_are_counted_by_the_scarcest_component_and_capped_by_their_number() -> None:
    true = job("u", 2, 1, tasks=3)
    what = given(machines((8, 8)), (job("u", 1, 1), job("v", 1, 1)))
    after = solve(what, "tsf")  # 4 claimed tasks: 4 of a, 2 true tasks
    assert gets(true, [what.jobs[0]], after).least == pytest.approx(2)
    assert gets(job("u", "1/2", "1/2", tasks=3), [what.jobs[0]], after).most == pytest.approx(3)


CHEATABLE = [(FORCED, "cdrf"), (KDF, "2df"), (POOLS, "tsf")]


@pytest.mark.parametrize(("what", "policy"), CHEATABLE, ids=["cdrf", "2df", "pools"])
def test_the_search_finds_the_known_lies_and_they_can_be_replayed(what: Input, policy: str) -> None:
    finding = searched(what, policy, trials=40 if policy == "2df" else 8)
    witness = witness_of(finding)
    assert finding.best is not None
    assert finding.best == pytest.approx(witness.after / witness.before - 1)
    shown = shown_again(witness)
    assert shown is not None
    assert (shown.before, shown.after) == pytest.approx((witness.before, witness.after))
    assert replay(witness_from_json(witness_json(witness))).again is Again.SAME


def test_a_pool_that_its_owner_cannot_use_is_named() -> None:
    said = "cannot use all of what they brought as pools"
    assert f"u1 and u2 {said}" in searched(POOLS, "tsf").note
    free = Input(POOLS.cluster, tuple(Job(j.name, j.demand, tenant=j.tenant) for j in POOLS.jobs))
    assert said not in searched(free, "tsf", trials=1).note


def test_splitting_is_told_apart_and_can_be_replayed() -> None:
    finding = searched(SPLIT, "tsf")
    assert finding.verdict is Verdict.NOT_FOUND
    (witness,) = finding.apart
    assert isinstance(witness.change, Split)
    assert (witness.before, witness.after) == pytest.approx((1, 4 / 3))
    assert replay(witness_from_json(witness_json(witness))).again is Again.SAME


def test_claiming_a_machine_that_is_nobodys_is_told_apart() -> None:
    what = given(
        machines((1,), (1,), (4,)),
        (Job("a", {"a": 1}, tenant="A"), Job("b", {"a": 1}, tenant="B")),
        (Tenant("A", pool=["m1"]), Tenant("B", pool=["m2"])),
    )
    finding = searched(what, "tsf")
    assert finding.verdict is Verdict.NOT_FOUND
    (witness,) = finding.apart
    assert isinstance(witness.change, Lie)
    assert (witness.before, witness.after) == pytest.approx((3, 5))


def test_of_two_liars_the_one_that_gains_less_counts() -> None:
    halves = (HALF, job("u2", 4, "5/2", "1/2"))
    both = told(KDF, "2df", claims(*halves), "u1", "u2")
    one = told(KDF, "2df", claims(HALF), "u1")
    assert one.slack > 0
    # Both tell the same tale: what one gains the other loses.
    assert both.slack == 0


def test_two_who_both_gain_are_a_violation(tmp_path: Path) -> None:
    # Whoever asks for both resources is paid twice: two who lie take from the third.
    policy = planted(tmp_path, "np.where((problem.demand > 0).all(axis=1), 2.0, 1.0)")
    what = given(machines((6, 60)), (job("u", 1), job("v", 1), job("w", 1)))
    shown = told(what, policy, claims(job("u", 1, "1/9"), job("v", 1, "1/9")), "u", "v")
    assert (shown.before, shown.after) == pytest.approx((2, 12 / 5))
    assert "v gains more" in shown.sentence or "u gains more" in shown.sentence


def planted(folder: Path, factor: str) -> str:
    """A policy of a file: TSF's scale times a factor."""
    file = folder / "planted.py"
    file.write_text(
        "import fairlead\nimport numpy as np\n\n\n"
        '@fairlead.policy("planted")\ndef planted(problem):\n'
        f"    return problem.alone * ({factor})\n",
        encoding="utf-8",
    )
    return f"{file}:planted"


PLANTED = {
    "larger tasks": "problem.demand.sum(axis=1) ** 2",
    "smaller tasks": "problem.demand.sum(axis=1) ** -1.0",
    "fewer machines": "1.0 / problem.usable.sum(axis=1)",
    "more machines": "1.0 * problem.usable.sum(axis=1)",
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_reward_for_a_lie_is_found(tmp_path: Path, what: str) -> None:
    policy = planted(tmp_path, PLANTED[what])
    free = given(
        machines((4, 6), (6, 4), (5, 5)), (job("u", 1, 2), job("v", 2, 1), job("w", 1, 1, on=[1]))
    )
    where = FORCED if what == "more machines" else free
    assert searched(where, policy, trials=10, smallest=4).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("family", [Family.GENERAL, Family.POOLS])
@pytest.mark.parametrize("seed", range(2))
def test_no_lie_is_found_under_tsf(family: Family, seed: int, cases: int) -> None:
    for number in range(cases):
        what = instance(family, seed, number)
        finding = searched(what, "tsf", trials=8, seed=seed, smallest=8)
        assert finding.verdict is Verdict.NOT_FOUND
        assert finding.trials is not None
        assert finding.trials > 0
        assert finding.best is not None
        assert finding.best <= 1e-6


def test_the_same_seed_gives_the_same_finding() -> None:
    first, again = (searched(FORCED, "cdrf", seed=7) for _ in range(2))
    assert first == again


def test_no_more_lies_are_told_than_asked_for_beside_the_smallest() -> None:
    finding = searched(FIG_2, "tsf", trials=5)
    assert finding.trials == 5 + dict(finding.counts)["of them tried"]
    options = Options(trials=5, smallest=0)
    assert PROPERTIES[NAME].check(solve(FIG_2, "tsf"), options).trials == 5


def test_a_lie_about_one_machine_is_always_tried() -> None:
    # t0 may use m3 and claims m2 as well, or m1, m2 and m3: only the first pays in every placement.
    what = given(
        [Machine(f"m{i}", {"r": amount}) for i, amount in enumerate((2, 2, 12))],
        (
            Job("j0", {"r": 1}, tenant="t0", machines=["m2"]),
            Job("j1", {"r": 1}, tenant="t1", tasks=10, machines=["m1"]),
            Job("j2", {"r": 1}, tenant="t2"),
            Job("j3", {"r": 4}, tenant="t3", machines=["m1"]),
        ),
        (Tenant("t0"), Tenant("t1", weight=3), Tenant("t2", weight=2), Tenant("t3")),
    )
    for seed in range(2):
        finding = searched(what, "cdrf", trials=1, seed=seed)
        assert "it may use m1 and m2" in witness_of(finding).sentence
        assert "of the smallest lies were tried" in finding.note


def test_a_machine_and_a_resource_that_are_not_needed_are_claimed_together() -> None:
    # Claiming m0 alone pays in some placements: with a demand of b there is no place for it there.
    what = given(
        [
            Machine("m0", {"a": "8/3", "b": 4}),
            Machine("m1", {"a": 4, "b": "28/9"}),
            Machine("m2", {"a": "2/3", "b": "24/7"}),
        ],
        (
            Job("j0", {"a": "3/2"}, tenant="t0", machines=["m1", "m2"]),
            Job("j2", {"a": "1/4", "b": 2}, tenant="t2", machines=["m0", "m2"]),
            Job("j3", {"b": 2}, tenant="t3", machines=["m0", "m2"]),
            Job("j4", {"a": "5/7", "b": "4/11"}, tenant="t4", tasks=2, machines=["m2"]),
            Job("j5", {"a": "1/5"}, tenant="t5", machines=["m0", "m1"]),
        ),
        (
            Tenant("t0"),
            Tenant("t2", weight=2),
            Tenant("t3"),
            Tenant("t4", weight="1/3"),
            Tenant("t5", weight=3),
        ),
    )
    sentence = witness_of(searched(what, "cdrf", trials=1)).sentence
    assert "not 1.5 a and claiming that it may use m0, m1 and m2" in sentence


def test_the_smallest_lies_are_each_of_one_thing() -> None:
    where = [
        Machine("m1", {"a": 4, "b": 4}, {"zone": "east"}),
        Machine("m2", {"a": 4, "b": 4}, {"zone": "east"}),
        Machine("m3", {"a": 2, "b": 4}, {"zone": "west", "disk": "fast"}),
    ]
    mine = Job("u", {"a": 2, "b": 1}, where="zone = east", tasks=3)
    scene = scene_of(solve(given(where, (mine, Job("v", {"a": 1, "c": 0}))), "tsf"))
    one, two = least(scene, [liar for liar in scene.liars if liar.tenant == "u"])
    claims = [claim for lie, _ in one for claim in lie.claimed]
    open_to = [tuple(m.name for m in where if may_use(c, m)) for c in claims]
    # All three (the term dropped), and one of the two that are alike: asking for what m3 has leaves
    # none.
    assert {names for names in open_to if names != ("m1", "m2")} == {("m1", "m2", "m3"), ("m2",)}
    assert sorted({c.tasks for c in claims if c.tasks is not None}) == [2, 3, 4]
    demands = {
        (float(c.demand["a"]), float(c.demand["b"])) for c in claims if c.demand != mine.demand
    }
    assert demands == {(4.0, 1.0), (0.0, 1.0), (2.0, 2.0), (2.0, 0.0)}
    assert len(two) == len(demands)


def test_of_many_smallest_lies_some_are_drawn_and_that_is_said() -> None:
    options = Options(trials=1, smallest=3)
    finding = PROPERTIES[NAME].check(solve(FIG_2, "tsf"), options)
    assert f"3 of the {dict(finding.counts)['smallest lies']} smallest lies" in finding.note
    scene = scene_of(solve(FIG_2, "tsf"))
    assert room_for(scene, 20) == MOST
    assert room_for(replace(scene, members=scene.members * 100_000), 20) == 20


def test_lies_of_every_kind_are_directed() -> None:
    where = [
        Machine("m1", {"a": 4, "b": 4}, {"zone": "east"}),
        Machine("m2", {"a": 4, "b": 2}, {"zone": "west"}),
        Machine("m3", {"a": 2, "b": 4}, {"zone": "west"}),
    ]
    mine = Job("u", {"a": 2, "b": 1}, where="zone = west")
    scene = scene_of(solve(given(where, (mine, Job("v", {"a": 1, "b": 1}))), "tsf"))
    lies = directed(scene, scene.liars[0])
    assert mine not in lies
    assert len(lies) == len(set(lies))
    assert scale_tasks(mine, Fraction(2)) in lies
    assert scale_tasks(mine, Fraction(1, 2)) in lies
    assert any(lie.where != mine.where and not lie.where and lie.machines is None for lie in lies)
    assert any(lie.machines == ("m2",) for lie in lies)
    assert any(lie.demand["b"] > 1 and lie.demand["a"] == 2 for lie in lies)
    assert any(lie.demand["b"] < 1 and lie.demand["a"] == 2 for lie in lies)
    assert any(lie.demand != mine.demand and lie.machines != mine.machines for lie in lies)


def test_merged_and_split_tasks_are_as_much_work() -> None:
    mine = job("u", 2, 1, tasks=5)
    assert scale_tasks(mine, Fraction(2)) == job("u", 4, 2, tasks=3)
    assert scale_tasks(mine, Fraction(1, 2)) == job("u", 1, "1/2", tasks=10)


def test_tenants_whose_lies_cannot_be_counted_are_not_tried() -> None:
    what = given(
        machines((4,), (4,)),
        (
            Job("a", {"a": 1}, tenant="A"),
            Job("b", {"a": 2}, tenant="A"),
            Job("c", {"a": 1}, spread=True),
        ),
    )
    finding = searched(what, "tsf")
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "one job" in finding.note
