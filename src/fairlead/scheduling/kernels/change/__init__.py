"""What events and decisions change of the state, and reservations."""
