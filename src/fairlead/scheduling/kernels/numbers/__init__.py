"""Exact numbers in compiled code: fractions, and doubles of twice the length."""
