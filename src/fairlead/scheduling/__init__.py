"""The online core: events in, decisions out."""
