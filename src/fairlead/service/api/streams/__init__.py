"""What answers that go on tell: entries of the journal, and who stands how."""
