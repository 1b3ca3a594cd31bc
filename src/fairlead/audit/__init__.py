"""The auditor: are the promised properties kept here, and what would change."""
