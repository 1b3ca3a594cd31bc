"""Clients beside each other: rates, places, turns and connections, by whose they are."""
