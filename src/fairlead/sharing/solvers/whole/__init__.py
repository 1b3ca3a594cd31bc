"""Programs over whole tasks: packings of machines, flows, branch and cut."""
