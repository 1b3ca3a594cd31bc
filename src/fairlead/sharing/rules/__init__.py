"""What can be shared by, and how it is found: the registry, its grammar, mechanisms, views."""
