"""Code that runs on the nodes of a Ray cluster: commands, functions, files."""
