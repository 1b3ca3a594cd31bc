"""How exact an answer must be to pass: every tolerance of the check, with its reason."""

from __future__ import annotations

EXACT = 1e-9
"""Relative, for everything that is compared: capacities, tasks, limits, levels, weights, prices.

Answers are doubles, shown with 12 digits, and each is made of sums of up to 100,000 terms: that
leaves about 1e-11. What is wrong by more than rounding is wrong by far more than this.
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
