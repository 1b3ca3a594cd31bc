"""What a study found, for people: a page, plots and a table."""
