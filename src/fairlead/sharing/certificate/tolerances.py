"""How exact an answer must be to pass: every tolerance of the check, with its reason."""

from __future__ import annotations

EXACT = 1e-9
"""Relative, for everything that is compared: capacities, tasks, limits, levels, weights, prices.

Answers are doubles, shown with 12 digits, and each is made of sums of up to 100,000 terms: that
leaves about 1e-11. What is wrong by more than rounding is wrong by far more than this.
"""

RISE = 1e-4
"""Relative to its own share, how much further the prices may leave it open to a frozen job to
rise.

What a round leaves open is its gap, and what the excess of the placements is worth: rounding, of
1e-15 to 1e-12 of what all shares are worth. It is divided by what the job's share is worth. Among
thousands of jobs with other demands that can be a part of 1e-9 (it costs next to nothing to serve
a job whose bottleneck hardly anyone else needs), so this bound cannot be as tight as the others.
What is shown is the figure that was reached.
"""

SHOWN = 2e-11
"""Relative, between an answer and its proof: what an answer shows has 12 significant digits."""
