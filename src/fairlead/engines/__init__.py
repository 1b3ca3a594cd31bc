"""Where tasks really run: one interface, and the engines behind it."""
