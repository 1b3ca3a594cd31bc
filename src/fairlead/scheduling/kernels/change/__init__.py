"""The changes that events and decisions make, and reservations."""
