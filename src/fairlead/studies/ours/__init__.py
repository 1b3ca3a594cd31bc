"""Studies of what the papers did not do."""
