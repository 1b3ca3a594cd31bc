"""Many runs: studies, their sources, files and workers."""
