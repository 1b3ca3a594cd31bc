"""Inputs of the CDRF paper's examples."""

from __future__ import annotations

from fairlead.studies.cases import job, machines

WHERE = machines((4, 6), (4, 4))
USERS = (job("u1", 1, 3), job("u2", 2, 1))
