"""Pages on which fairness is seen: their files, and what they draw."""
