"""A service that does not lead: it follows the journal of the one that does, answers what can be
read, and takes over when that one is gone."""
