"""Choosy, Figure 5: the rounds of the offline algorithm."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fairlead.studies.cases import parts_of, share, tasks
from fairlead.studies.choosy.examples import CMMF, slots, users
from fairlead.studies.claims import compare
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.study import About, Findings, Setting, Table

WHERE = slots(9)
USERS = users((1, 2), range(2, 6), range(5, 10))
LEVELS = (2, 3, 4)


def run(_: Setting) -> Findings:
    """Shares nine machines by CMMF; the levels are the rounds."""
    found = share(WHERE, USERS, CMMF)
    names = [user.name for user in USERS]
    return Findings(
        rows=(
            compare(
                "levels of the rounds", "2, 3 and 4", [level.share * 9 for level in found.levels]
            ),
            compare("machines of u1, u2 and u3", "2, 3 and 4", tasks(found)),
            compare(
                "section 5's example of two users: levels",
                "2 and 3",
                [5 * level.share for level in share(WHERE[:5], USERS[:2], CMMF).levels],
            ),
        ),
        tables=(Table("machines", {"user": names, "machines": tasks(found)}),),
        pictures=(
            Picture(
                "Who has which machine",
                "After each round: nobody has more than its level, and whoever was stuck keeps"
                " what it had. Machines that nobody can tell apart are drawn with the same on each."
                " Which ones somebody has, where several are as good, is not the figure's.",
                tuple(_after(level, names) for level in LEVELS),
            ),
        ),
    )


def _after(level: int, names: list[str]) -> Panel:
    """The machines after the round of this level: as many as users have who want no more."""
    wanted = [replace(user, tasks=Fraction(level)) for user in USERS]
    parts = parts_of(share(WHERE, wanted, CMMF, whole=True), WHERE, wanted, "slot")
    return holdings(
        parts, "part of the machine", title=f"round {1 + LEVELS.index(level)}", order=names
    )


STUDY = About(
    figure="Figure 5",
    title="rounds of the offline algorithm",
    shows="The offline algorithm of section 5 raises all users together and freezes those who can"
    " have no more: u1 can use m1 and m2, u2 m2 to m5, u3 m5 to m9, and they freeze at 2, 3"
    " and 4.",
)
