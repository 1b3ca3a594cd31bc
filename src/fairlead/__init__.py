"""Fair shares of a cluster whose jobs need several resources and only some of the machines."""
