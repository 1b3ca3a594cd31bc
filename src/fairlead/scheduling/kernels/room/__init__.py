"""Room, sets of machines, permission, and the choice of a machine by a rule."""
