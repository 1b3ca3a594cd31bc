"""How exact an answer must be to pass: every tolerance of the check, with its reason."""

from __future__ import annotations

EXACT = 1e-9
"""Relative, for everything that is compared: capacities, tasks, limits, levels, weights, prices.

Answers are doubles, shown with 12 digits, and each is made of sums of up to 100,000 terms: that
leaves about 1e-11. What is wrong by more than rounding is wrong by far more than this.
"""

ROUNDING, LEVEL = 1e-14, 1e-5
"""The gap of a round may be EXACT of its level; and it may be ROUNDING of what all shares are worth
by the round's prices, though no more than LEVEL of its level.

Where many bottlenecks hang on one another, a late round's prices for those who froze long before
add up to 10^8 times the level (5,000 jobs in the benchmarks' local instances). The last bit of
their shares is then worth more than EXACT of the level: doubles cannot tell. LEVEL is there so
that nobody can hide behind large prices.
"""

RISE = 1e-2
"""Relative to its own share, how much further the prices may leave it open to a frozen job to
rise.

What a round leaves open is its gap, and what the excess of the placements is worth. It is rounding,
divided by what the job's own share is worth, so it is 1e-10 where nothing is extreme and up to
5e-3 in the instances above. The bound is for the worst; what is shown is what was reached.
"""

SHOWN = 2e-11
"""Relative, between an answer and its proof: what an answer shows has 12 significant digits."""
