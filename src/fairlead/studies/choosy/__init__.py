"""Studies of the Choosy paper (Ghodsi, Zaharia, Shenker, Stoica, EuroSys 2013)."""
