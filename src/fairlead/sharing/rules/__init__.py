"""The rules that one can share by, and how they are found: the registry, its grammar, mechanisms,
views."""
