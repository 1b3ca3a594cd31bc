"""The only place where solver libraries are imported."""
