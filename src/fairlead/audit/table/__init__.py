"""The papers' table of properties, by looking for a witness against each."""
