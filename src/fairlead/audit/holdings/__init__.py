"""Who holds what, and what anybody could run with it."""
