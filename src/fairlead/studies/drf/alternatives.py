"""DRF, sections 5 and 7: asset fairness, CEEI and slots beside DRF, and what each violates."""

from __future__ import annotations

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.claims import Row, by_hand, compare, whether
from fairlead.studies.judging import violated
from fairlead.studies.pictures.charts import bars
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

WHERE = machines((9, 18))
USERS = (job("A", 1, 4), job("B", 3, 1))
RULES = {
    "DRF": "tsf",
    "asset fairness": "asset",
    "CEEI": "market",
    "slots": "slots(cpu=3, memory=6)",
}

# An input for each property that an alternative lacks; DRF has it there.
Input = tuple[tuple[Machine, ...], tuple[Job, ...]]
THIRTY: Input = (machines((30, 30)), (job("u1", 1, 3), job("u2", 1, 1)))
HUNDRED: Input = (machines((100, 100)), (job("u1", 16, 1), job("u2", 1, 2)))
LACKS = (
    ("asset fairness", "sharing-incentive", THIRTY),
    ("CEEI", "strategy-proofness", HUNDRED),
    ("slots", "pareto-optimality", (WHERE, USERS)),
)


def run(setting: Setting) -> Findings:
    """Shares section 4.1's machine by each rule, and audits an input for each lack."""
    found = {name: tasks(share(WHERE, USERS, rule)) for name, rule in RULES.items()}
    rows: list[Row] = [
        compare("DRF: tasks of A and B", "3 and 2", found["DRF"]),
        by_hand("asset fairness: tasks of A and B", "2.52 and 2.16", found["asset fairness"]),
        by_hand("CEEI: tasks of A and B", "45/11 and 18/11", found["CEEI"]),
        whether(
            "slots run fewer tasks than DRF",
            sum(found["slots"]) < sum(found["DRF"]),
            shown=f"{sum(found['slots']):g} against {sum(found['DRF']):g}",
        ),
    ]
    trials = 20 if setting.quick else 200
    for name, promise, (where, users) in LACKS:
        words = promise.replace("-", " ")
        mine = violated(promise, where, users, RULES[name], trials=trials)
        of_drf = violated(promise, where, users, "tsf", trials=trials)
        rows.append(whether(f"{name} violates {words}", bool(mine), shown=mine))
        rows.append(whether("… and DRF does not on that input", not of_drf, of_drf))
    return Findings(
        rows=tuple(rows),
        tables=(
            Table.of_rows(
                "tasks",
                ("rule", "A", "B"),
                [(name, *counts) for name, counts in found.items()],
            ),
        ),
        pictures=(
            Picture(
                "Tasks of A and B",
                "9 CPUs and 18 GB; A's tasks take (1, 4), B's (3, 1).",
                (
                    bars(
                        list(found),
                        {
                            "A": [counts[0] for counts in found.values()],
                            "B": [counts[1] for counts in found.values()],
                        },
                        "tasks",
                        numbers=".3g",
                    ),
                ),
            ),
        ),
        seeds=(1,),
    )


STUDY = About(
    figure="sections 5 to 7",
    title="asset fairness, CEEI and slots beside DRF",
    shows="Asset fairness equalizes the sums of shares and violates the sharing incentive;"
    " competitive equilibrium from equal incomes (CEEI) can be lied to; slots of a fixed size leave"
    " resources idle (sections 2, 5, 6, 7). The tasks of CEEI and asset fairness on section 4.1's"
    " machine are those that follow from the paper's definitions, worked out by hand: 2.52 and"
    " 2.16, 45/11 and 18/11.",
    assumes=(
        "DRF is computed as TSF: on one machine without constraints they are the same.",
        "A slot is a third of the machine, 3 CPUs and 6 GB; the excerpt names no size.",
    ),
)
