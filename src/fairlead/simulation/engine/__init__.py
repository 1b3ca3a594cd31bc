"""One run: the event loop around the core, its feed, failures and options."""
