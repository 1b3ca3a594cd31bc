"""Why tasks wait: reasons as values, and how they are read from the core."""
