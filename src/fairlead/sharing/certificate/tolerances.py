"""How exact an answer must be to pass: every tolerance of the check, with its reason."""

from __future__ import annotations

EXACT = 1e-9
"""Relative, for everything that is compared: capacities, tasks, limits, levels, weights, prices.

Answers are doubles, shown with 12 digits, and every amount is a sum of at most some 10^5 of them,
which is good for about 1e-11. A job is a million times smaller than a share of 1e-9 could matter
to, and a mistake in the model or the solver shows as a difference many times larger.
"""

RISE = 1e-6
"""Relative to its own share, how much further the prices may leave it open to a frozen job to
rise.

The gap of a round is a rounding error, of about 1e-13. It is divided by the job's part in the
prices, which among thousands of jobs may be a millionth. So this bound cannot be as tight as the
others, and what is shown is the figure that was reached.
"""

SHOWN = 2e-11
"""Relative, between an answer and its proof: what an answer shows has 12 significant digits."""
