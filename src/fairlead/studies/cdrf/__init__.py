"""Studies of the CDRF paper (Friedman, Ghodsi, Psomas, EC 2014)."""
