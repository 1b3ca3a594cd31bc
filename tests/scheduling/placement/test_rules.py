"""The promises of every placement rule, and of each of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.quantity import Amount
from fairlead.scheduling.advice.ranking import MILLION
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision, Launch
from fairlead.scheduling.events import (
    Advice,
    AdviceChanged,
    Event,
    JobSubmitted,
    MachineChanged,
    MachineJoined,
    MachineLeft,
    TaskFinished,
)
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement import registry
from fairlead.scheduling.placement.registry import DEFAULT, placement_names
from fairlead.scheduling.state.ids import Unit
from tests.reference.online_scores import SCORES
from tests.scheduling.agreement import CHECKED
from tests.scheduling.exact_shares import advise
from tests.scheduling.loop import run
from tests.vopr.plan import PLACEMENTS

RULES = placement_names()
LENGTH = 60
"""Events of a story."""
NOT_IN_LIVES = {"alignment"}
"""Differs from the other fits in nothing but its score, which the core's sequences look at."""
SECOND = 10**6
UNITS = (Unit("cpu", Fraction(1, 2)), Unit("memory"), Unit("gpu"))


def test_every_rule_has_its_score_once_more_and_is_drawn() -> None:
    assert {*SCORES} == {*RULES}, (
        "write each rule's score once more into tests/reference/online_scores.py"
    )
    assert {*RULES} - {*PLACEMENTS} == NOT_IN_LIVES, (
        "name each rule in PLACEMENTS of tests/vopr/plan.py, or here with the reason why not"
    )


def test_every_page_is_a_rule_that_can_be_chosen() -> None:
    pages = {path.stem for path in Path(registry.__file__).parent.glob("*.py")}
    assert pages - {"__init__", "registry"} == {*registry.BUILT_IN.values()}, (
        "name each page in BUILT_IN of src/fairlead/scheduling/placement/registry.py"
    )


@dataclass
class Story:
    """A core with a rule, told a random story, and a plain account of what it has placed."""

    core: Core
    random: Random
    machines: dict[str, Machine] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    waiting: Counter[str] = field(default_factory=Counter)
    held: dict[tuple[str, int], str] = field(default_factory=dict)
    said: list[list[Decision]] = field(default_factory=list)
    now: int = 0

    def go_on(self) -> None:
        """One event, and the decisions on it."""
        self.now += SECOND
        self.core.apply(self._event())
        decisions = self.core.decide()
        for each in decisions:
            assert isinstance(each, Launch)
            self.waiting[each.job] -= 1
            self.held[each.job, each.task] = each.machine
        self.said.append(decisions)

    def _event(self) -> Event:
        kind = self.random.random()
        if kind < 0.15 or not self.machines:
            zone = self.random.choice("ab")
            capacity = {
                "cpu": self.random.choice([1, 2, 4]),
                "memory": self.random.choice([1, 2, 4]),
                "gpu": self.random.choice([0, 0, 1]),
            }
            machine = Machine(f"m{len(self.machines)}", capacity, {"zone": zone})
            self.machines[machine.name] = machine
            return MachineJoined(self.now, machine)
        if kind < 0.45 or not self.held:
            demand: dict[str, Amount] = {
                "cpu": self.random.choice([Fraction(1, 2), Fraction(1), Fraction(2)]),
                "memory": self.random.choice([0, 1, 2]),
                "gpu": self.random.choice([0, 0, 0, 1]),
            }
            job = Job(
                f"j{len(self.jobs)}",
                demand,
                tasks=self.random.randint(1, 6),
                where=self.random.choice(["", "", "zone = a", "zone = b"]),
                spread=self.random.random() < 0.2,
            )
            self.jobs[job.name] = job
            self.waiting[job.name] += int(job.tasks or 0)
            return JobSubmitted(self.now, job)
        if kind < 0.55:
            return self.advice()
        job_name, task = self.random.choice(sorted(self.held))
        del self.held[job_name, task]
        return TaskFinished(self.now, job_name, task)

    def advice(self) -> AdviceChanged:
        """The exact allocation's advice for those who are here; part of it left out at times."""
        count = Counter(job for job, _ in self.held)
        present = [
            replace(job, tasks=Fraction(self.waiting[name] + count[name]))
            for name, job in self.jobs.items()
            if self.waiting[name] + count[name] > 0
        ]
        event = advise(self.now, Cluster(self.machines.values()), present)
        if self.random.random() < 0.5:
            return event
        return replace(event, advice=tuple(a for a in event.advice if self.random.random() < 0.7))

    def free(self, machine: str, resource: str) -> Fraction:
        used = sum(
            (
                self.jobs[job].demand.get(resource, Fraction(0))
                for (job, _), at in self.held.items()
                if at == machine
            ),
            Fraction(0),
        )
        return self.machines[machine].capacity.get(resource, Fraction(0)) - used

    def fits(self, job: Job, machine: Machine) -> bool:
        on = any(mine == job.name and at == machine.name for (mine, _), at in self.held.items())
        return (
            job.where.matches(machine.labels)
            and not (job.spread and on)
            and all(
                self.free(machine.name, resource) >= need
                for resource, need in job.demand.items()
                if need
            )
        )


def begun(rule: str, seed: int) -> Story:
    core = Core(UNITS, policy="tsf", placement=rule, options=Options(reserve_after=None))
    return Story(core, Random(seed))


@cache
def known(rule: str, seed: int) -> Story:
    """A story that several tests read, of a core that is checked now and then and at the end."""
    story = begun(rule, seed)
    for number in range(LENGTH):
        story.go_on()
        if number % CHECKED == 0 or number + 1 == LENGTH:
            story.core.check()
    return story


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_places_only_where_a_task_may_run_and_fits(rule: str, cases: int) -> None:
    launched = 0
    for seed in range(cases):
        story = known(rule, seed)
        for machine in story.machines.values():
            assert all(story.free(machine.name, unit.name) >= 0 for unit in UNITS)
        for (job, _), at in story.held.items():
            assert story.jobs[job].where.matches(story.machines[at].labels)
        spread = Counter((j, m) for (j, _), m in story.held.items() if story.jobs[j].spread)
        assert max(spread.values(), default=1) == 1
        launched += sum(map(len, story.said))
    assert launched > 25 * cases


@pytest.mark.parametrize("rule", RULES)
def test_no_machine_is_idle_that_somebody_waits_for_and_the_same_events_give_the_same_decisions(
    rule: str, cases: int
) -> None:
    for seed in range(cases):
        story = begun(rule, seed)  # the one that was told before is checked
        for _ in range(LENGTH):
            story.go_on()
            idle = [
                (job.name, machine.name)
                for job in story.jobs.values()
                if story.waiting[job.name] > 0
                for machine in story.machines.values()
                if story.fits(job, machine)
            ]
            assert idle == []
        again = known(rule, seed)
        assert again.said == story.said
        assert again.core.digest() == story.core.digest()


def placed(rule: str, machines: list[Machine], jobs: list[Job], *more: Event) -> list[str]:
    """The machines that the tasks of the last job are launched on."""
    core = Core(UNITS, placement=rule, checked=True)
    for machine in machines:
        core.handle(MachineJoined(0, machine))
    for event in more:
        core.handle(event)
    found: list[Decision] = []
    for job in jobs:
        found = core.handle(JobSubmitted(0, job))
    return [each.machine for each in found if isinstance(each, Launch)]


def test_scarce_last_keeps_the_gpu_node_free_and_uses_it_when_nothing_else_is_left() -> None:
    gpu = Machine("gpu", {"cpu": 2, "gpu": 1})
    plain = [Machine(f"plain{i}", {"cpu": 4}) for i in range(2)]
    job = Job("j", {"cpu": 2}, tasks=5)
    assert placed("best-fit", [gpu, *plain], [job])[0] == "gpu"
    found = placed("scarce-last", [gpu, *plain], [job])
    assert found == ["plain0", "plain0", "plain1", "plain1", "gpu"]
    assert placed("scarce-last", [gpu, *plain], [Job("k", {"cpu": 1, "gpu": 1}, tasks=1)]) == [
        "gpu"
    ]


def test_by_default_a_rare_label_is_left_alone_before_anybody_asks_for_it() -> None:
    machines = [
        Machine("rare", {"cpu": 1}, {"zone": "a"}),
        *(Machine(f"common{i}", {"cpu": 1}, {"zone": "b"}) for i in range(3)),
    ]
    job = Job("j", {"cpu": 1}, tasks=4)
    assert placed("best-fit", machines, [job])[0] == "rare"
    assert placed(DEFAULT, machines, [job])[-1] == "rare"


def test_what_one_machine_has_is_scarcer_than_two_things_that_half_of_them_have() -> None:
    machines = [
        Machine("h100", {"cpu": 1}, {"model": "h100"}),
        *(
            Machine(f"m{i}", {"cpu": 1}, {"disk": "ssd", "net": "fast"} if i < 4 else {})
            for i in range(7)
        ),
    ]
    ends = placed(DEFAULT, machines, [Job("j", {"cpu": 1}, tasks=8)])
    assert ends == ["m4", "m5", "m6", "m0", "m1", "m2", "m3", "h100"]


def test_a_label_that_is_another_on_every_machine_makes_none_scarce() -> None:
    machines = [
        Machine("large", {"cpu": 4}, {"host": "a", "serial": 1}),
        *(Machine(f"m{i}", {"cpu": 2}, {"host": f"b{i}", "serial": i + 2}) for i in range(3)),
    ]
    assert placed(DEFAULT, machines, [Job("j", {"cpu": 1}, tasks=1)]) == ["m0"]  # the best fit


def test_numbers_are_one_label_however_they_are_written() -> None:
    machines = [
        Machine("other", {"cpu": 1}, {"disk": 5}),
        Machine("one", {"cpu": 1}, {"disk": "4"}),  # a text
        Machine("m1", {"cpu": 1}, {"disk": Decimal("4.0")}),
        Machine("m2", {"cpu": 1}, {"disk": 4}),
    ]
    assert placed(DEFAULT, machines, [Job("j", {"cpu": 1}, tasks=2)]) == ["m1", "m2"]


def test_scarcity_follows_machines_that_come_change_and_go() -> None:
    def machine(name: str, model: str) -> Machine:
        return Machine(name, {"cpu": 1}, {"model": model})

    machines = [machine("a0", "a"), *(machine(f"b{i}", "b") for i in range(2))]
    job = Job("j", {"cpu": 1}, tasks=1)
    assert placed(DEFAULT, machines, [job]) == ["b0"]
    came = [MachineJoined(0, machine(f"a{i}", "a")) for i in range(1, 4)]
    assert placed(DEFAULT, machines, [job], *came) == ["a0"]
    assert placed(
        DEFAULT,
        machines,
        [job],
        *came,
        MachineLeft(0, "a1"),
        MachineLeft(0, "a2"),
        MachineLeft(0, "a3"),
    ) == ["b0"]
    assert placed(DEFAULT, machines, [job], MachineChanged(0, machine("b0", "a"))) == ["a0"]


def test_by_default_a_gpu_is_free_for_the_job_that_comes_after_those_without() -> None:
    # The GPU nodes joined first and are the smaller ones, which best fit would fill.
    nodes = [
        *(Machine(f"gpu{i}", {"cpu": 4, "memory": 4, "gpu": 1}) for i in range(2)),
        *(Machine(f"cpu{i}", {"cpu": 8, "memory": 8}) for i in range(2)),
    ]
    plain = Job("plain", {"cpu": 4, "memory": 4}, tasks=4)
    for rule, expected in (("best-fit", []), (DEFAULT, ["gpu0", "gpu1"])):
        training = Job("training", {"cpu": 4, "memory": 1, "gpu": 1}, tasks=2)
        assert placed(rule, nodes, [plain, training]) == expected


def test_by_default_what_a_job_asks_for_by_label_is_left_to_those_who_come_later() -> None:
    nodes = [
        Machine("h100", {"cpu": 8, "gpu": 2}, {"gpu-model": "h100"}),
        *(Machine(f"v100-{i}", {"cpu": 8, "gpu": 2}, {"gpu-model": "v100"}) for i in range(2)),
    ]
    demand: dict[str, Amount] = {"cpu": 8, "gpu": 1}
    anywhere, picky = Job("anywhere", demand, tasks=2), Job("p", demand, where="gpu-model = h100")
    for rule, expected in (("best-fit", []), (DEFAULT, ["h100"])):
        assert placed(rule, nodes, [anywhere, picky]) == expected


def gpu_delay(rule: str, seed: int) -> int:
    """The microseconds that jobs with GPUs wait, all together, where jobs without keep coming."""
    random = Random(seed)
    nodes = [Machine(f"gpu{i}", {"cpu": 4, "memory": 4, "gpu": 2}) for i in range(3)]
    nodes += [Machine(f"cpu{i}", {"cpu": 4, "memory": 4}) for i in range(6)]
    core = Core(UNITS, placement=rule)
    events: list[Event] = [MachineJoined(0, node) for node in nodes]
    came: dict[str, int] = {}
    for second in range(300):
        came[name := f"plain{second}"] = second * SECOND
        demand: dict[str, Amount] = {"cpu": random.choice([1, 2]), "memory": random.choice([1, 2])}
        events.append(JobSubmitted(second * SECOND, Job(name, demand, tasks=1)))
        if second % 20 == 19:
            came[name := f"gpu{second}"] = second * SECOND
            demand = {"cpu": 3, "memory": 1, "gpu": 2}
            events.append(JobSubmitted(second * SECOND, Job(name, demand, tasks=1)))
    seen = run(core, events, lambda _job, _task: random.randint(4, 14) * SECOND, 400 * SECOND)
    started: dict[str, int] = {}
    for time, running in zip(seen.times, seen.running, strict=True):
        for name in running:
            started.setdefault(name, time)
    return sum(started[name] - time for name, time in came.items() if name.startswith("gpu"))


def test_by_default_jobs_with_gpus_wait_less_than_half_as_long_as_by_best_fit() -> None:
    by_best_fit = sum(gpu_delay("best-fit", seed) for seed in range(5))
    assert by_best_fit > 5 * SECOND
    assert 2 * sum(gpu_delay(DEFAULT, seed) for seed in range(5)) < by_best_fit


def test_alignment_puts_a_task_where_what_it_needs_is_free() -> None:
    machines = [Machine("cpus", {"cpu": 8, "memory": 8}), Machine("ram", {"cpu": 8, "memory": 8})]
    fill = [
        Job("f", {"cpu": Fraction(1, 2), "memory": 6}, machines=["cpus"], tasks=1),
        Job("g", {"cpu": 6, "memory": 1}, machines=["ram"], tasks=1),
    ]
    # Free: 7.5 CPUs and 2 of memory on the one, 2 and 7 on the other.
    assert placed("alignment", machines, [*fill, Job("j", {"cpu": 2, "memory": 1}, tasks=1)]) == [
        "cpus"
    ]
    assert placed("alignment", machines, [*fill, Job("j", {"cpu": 1, "memory": 2}, tasks=1)]) == [
        "ram"
    ]


def table_ii(rule: str) -> tuple[list[int], list[int]]:
    """How many tasks of jobs 3 and 4 of TSF's Table II run after each instant from 185 s on."""
    nodes = [Machine(f"n{i:02d}", {"cpu": 1 if i <= 25 else 2, "memory": 2}) for i in range(1, 51)]
    mixed = [node.name for node in nodes[:10] + nodes[25:35]]
    one: dict[str, Amount] = {"cpu": 1, "memory": 1}
    half: dict[str, Amount] = {"cpu": Fraction(1, 2), "memory": 1}
    jobs = {
        "1": Job("1", one, tasks=1000),
        "2": Job("2", half, tasks=150, machines=[node.name for node in nodes[:25]]),
        "3": Job("3", half, tasks=100, machines=mixed),
        "4": Job("4", one, tasks=100, machines=mixed),
    }
    submit = {"1": 0, "2": 10 * SECOND, "3": 150 * SECOND, "4": 150 * SECOND}
    events: list[Event] = [MachineJoined(0, node) for node in nodes]
    for time in sorted({*submit.values(), 100 * SECOND}):
        events += [JobSubmitted(time, jobs[name]) for name in jobs if submit[name] == time]
        # Job 2 is over at 84 to 91 s.
        here = [n for n in jobs if submit[n] <= time and (n != "2" or time < 100 * SECOND)]
        events.append(advise(time, Cluster(nodes), [jobs[name] for name in here]))
    mean = {"1": 23.2, "2": 18.3, "3": 21.3, "4": 55.6}
    random = Random(1)

    def duration(job: str, task: int) -> int:
        del task
        return round(mean[job] * random.uniform(0.8, 1.2) * SECOND)

    core = Core(UNITS, policy="tsf", placement=rule)
    seen = run(core, events, duration, 240 * SECOND)
    found = [seen.between(185 * SECOND, 240 * SECOND, job) for job in "34"]
    return found[0], found[1]


def test_price_guided_reaches_the_optimum_in_whole_tasks_on_table_ii_and_best_fit_does_not() -> (
    None
):
    three, four = table_ii("price-guided")
    # The exact optimum is 8/35 each: 22.9 and 17.1 tasks.
    assert (max(three), max(four)) == (23, 17)
    assert sum(three) / len(three) > 22.5
    assert sum(four) / len(four) > 16.5
    three, four = table_ii("best-fit")
    assert sum(min(a / 100, b / 75) for a, b in zip(three, four, strict=True)) / len(three) < 0.21


def one_cpu_machines(number: int) -> list[Machine]:
    return [Machine(f"m{i}", {"cpu": 1}) for i in range(number)]


def test_without_advice_price_guided_is_best_fit() -> None:
    for seed in range(3):
        core = Core(UNITS, placement="best-fit", options=Options(reserve_after=None))
        plain = Story(core, Random(seed))
        guided = Story(
            Core(UNITS, placement="price-guided", options=Options(reserve_after=None)), Random(seed)
        )
        for story in (plain, guided):
            story.advice = lambda story=story: AdviceChanged(story.now, ())  # type: ignore[method-assign, misc]  # nobody is advised
            for _ in range(60):
                story.go_on()
        assert plain.said == guided.said


def test_a_pair_of_rank_0_goes_first_whatever_the_shares() -> None:
    rank = (Advice("old", ("m0",), 1, 0), Advice("new", ("m0",), 0, MILLION))
    core = Core(UNITS, placement="price-guided", checked=True)
    core.handle(MachineJoined(0, Machine("m0", {"cpu": 1})))
    core.handle(MachineJoined(0, Machine("m1", {"cpu": 9})))
    first = core.handle(JobSubmitted(0, Job("new", {"cpu": 1}, tasks=20)))
    core.apply(JobSubmitted(1, Job("old", {"cpu": 1}, tasks=5)))
    core.apply(AdviceChanged(1, rank))
    assert core.decide() == []
    on_m0 = next(each for each in first if isinstance(each, Launch) and each.machine == "m0")
    # `old` has nothing, `new` nearly everything; the machine is `new`'s by the advice.
    (launch,) = core.handle(TaskFinished(2, "new", on_m0.task))
    assert isinstance(launch, Launch)
    assert launch.job == "new"


def test_who_is_ranked_behind_gets_the_machine_when_nobody_else_waits_for_it() -> None:
    core = Core(UNITS, placement="price-guided", checked=True)
    core.handle(MachineJoined(0, Machine("m0", {"cpu": 1})))
    core.apply(JobSubmitted(0, Job("j", {"cpu": 1}, tasks=1)))
    core.apply(AdviceChanged(0, (Advice("j", ("m0",), 3, 0),)))
    assert [each.machine for each in core.decide() if isinstance(each, Launch)] == ["m0"]


def test_within_a_rank_the_pair_furthest_below_its_target_goes_first() -> None:
    advice = (
        Advice("a", ("m0", "m1", "m2"), 1, MILLION),
        Advice("b", ("m0", "m1", "m2"), 1, 2 * MILLION + 1),
    )
    core = Core(UNITS, placement="price-guided", checked=True)
    core.apply(JobSubmitted(0, Job("a", {"cpu": 1}, tasks=9)))
    core.apply(JobSubmitted(0, Job("b", {"cpu": 1}, tasks=9)))
    for machine in one_cpu_machines(3):
        core.apply(MachineJoined(0, machine))
    core.apply(AdviceChanged(0, advice))
    assert [each.job for each in core.decide() if isinstance(each, Launch)] == ["b", "b", "a"]


def test_a_pair_that_is_not_named_comes_after_those_that_are() -> None:
    advice = (Advice("a", ("m0",), 0, MILLION), Advice("b", ("m1",), 5, MILLION))
    core = Core(UNITS, placement="price-guided", checked=True)
    core.apply(JobSubmitted(0, Job("a", {"cpu": 1}, tasks=1, machines=["m1"])))
    core.apply(JobSubmitted(0, Job("b", {"cpu": 1}, tasks=9)))
    for machine in one_cpu_machines(2):
        core.apply(MachineJoined(0, machine))
    core.apply(AdviceChanged(0, advice))
    found = [(each.job, each.machine) for each in core.decide() if isinstance(each, Launch)]
    assert found == [("b", "m1"), ("b", "m0")]


def test_a_job_of_which_nothing_is_said_is_served_by_its_share() -> None:
    core = Core(UNITS, placement="price-guided", checked=True)
    core.apply(JobSubmitted(0, Job("known", {"cpu": 1}, tasks=9)))
    core.apply(JobSubmitted(0, Job("new", {"cpu": 1}, tasks=9)))
    for machine in one_cpu_machines(2):
        core.apply(MachineJoined(0, machine))
    core.apply(AdviceChanged(0, (Advice("known", ("m0", "m1"), 1, 2 * MILLION),)))
    assert [each.job for each in core.decide() if isinstance(each, Launch)] == ["new", "new"]
