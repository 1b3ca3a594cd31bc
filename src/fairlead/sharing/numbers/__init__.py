"""Exact arithmetic: amounts as rationals, sums of long ones, bounds that doubles prove."""
