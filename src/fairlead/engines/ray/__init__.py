"""Tasks on a Ray cluster: Ray places and runs what the service decided, and decides nothing.

`launcher`, `command`, `function` and `files` run on the nodes. They are sent there by value, so
that the nodes need nothing but Ray; therefore they import nothing of Fairlead but each other.
"""
