"""A study's results for people: a page, plots and a table."""
