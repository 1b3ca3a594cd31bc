"""Choosy, Figure 4: constrained max-min fairness of Figure 1, divided and in whole machines."""

from __future__ import annotations

from fairlead.model.machine import Cluster
from fairlead.sharing.allocate import allocate
from fairlead.studies.cases import parts_of, share, tasks
from fairlead.studies.choosy.examples import CMMF, FIGURE_1, TEN
from fairlead.studies.claims import compare, whether
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table


def run(_: Setting) -> Findings:
    """Shares the ten machines by CMMF, divided and in whole machines."""
    divided = share(TEN, FIGURE_1, CMMF)
    whole = allocate(Cluster(TEN), FIGURE_1, CMMF, "whole")
    market = share(TEN, FIGURE_1, "market")
    names = [user.name for user in FIGURE_1]
    panels = tuple(
        holdings(
            parts_of(found, TEN, FIGURE_1, "slot"), "part of the machine", title=title, order=names
        )
        for title, found in (("divided", divided), ("whole machines", whole))
    )
    return Findings(
        rows=(
            compare("machines of u1 … u4, divided", "3/2, 3/2, 3 and 4", tasks(divided)),
            whether(
                "whole machines: 2, 1, 3 and 4 or 1, 2, 3 and 4",
                tasks(whole) in ([2, 1, 3, 4], [1, 2, 3, 4]),
                shown=", ".join(f"{count:g}" for count in tasks(whole)),
            ),
            compare(
                "Nash bargaining gives the same (section 4.3), here without removing machines"
                " that one user alone can use",
                "1.500, 1.500, 3.000 and 4.000",
                tasks(market),
            ),
        ),
        tables=(
            Table(
                "machines",
                {"user": names, "divided": tasks(divided), "whole": tasks(whole)},
            ),
        ),
        pictures=(
            Picture(
                "Who has which machine",
                "One of many placements with these numbers of machines; machines that nobody can"
                " tell apart are drawn with the same on each where they are divided.",
                panels,
            ),
        ),
    )


STUDY = About(
    figure="Figure 4",
    title="CMMF of Figure 1",
    shows="Constrained max-min fairness of Figure 1: 1.5, 1.5, 3 and 4 machines where machines"
    " can be divided, in whole machines 2, 1, 3 and 4 (the figure) or 1, 2, 3 and 4.",
)
