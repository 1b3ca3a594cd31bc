"""Studies of the TSF paper (Wang, Li, Liang, Li)."""
