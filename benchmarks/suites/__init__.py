"""One benchmark a file; `benchmarks/cases.py` says what such a file has."""
