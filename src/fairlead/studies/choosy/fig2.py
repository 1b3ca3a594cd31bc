"""Choosy, Figure 2: each machine is divided among all who can use it."""

from __future__ import annotations

from fairlead.studies.cases import parts_of, share, tasks
from fairlead.studies.choosy.examples import CMMF, FIGURE_1, TEN, users
from fairlead.studies.claims import compare
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table


def run(_: Setting) -> Findings:
    """Divides the machines of Figure 1 independently, and Theorem 1's two."""
    found = share(TEN, FIGURE_1, "independent")
    parts = parts_of(found, TEN, FIGURE_1, "slot")
    names = [user.name for user in FIGURE_1]
    return Findings(
        rows=(
            compare("machines of u1 … u4", "4/3, 5/6, 17/6 and 5", tasks(found)),
            compare(
                "Theorem 1: what the second user gets of the machine that it brought",
                "1/2",
                tasks(share(TEN[:2], users((1, 2), (2,)), "independent"))[1],
            ),
            compare(
                "the same under CMMF", "1", tasks(share(TEN[:2], users((1, 2), (2,)), CMMF))[1]
            ),
        ),
        tables=(Table("machines", {"user": names, "machines": tasks(found)}),),
        pictures=(
            Picture(
                "Who has which machine",
                "Each machine is divided among those who can use it.",
                (holdings(parts, "part of the machine", order=names),),
            ),
        ),
    )


STUDY = About(
    figure="Figure 2",
    title="independent allocation",
    shows="Independent allocation divides each machine of Figure 1 evenly among the users who can"
    " use it, which violates the sharing incentive (Theorem 1): with two machines, one"
    " brought by each user, of which the second can use only its own, the second gets half a"
    " machine.",
)
