"""Why a job waits, what would start it and when, and what a change would do."""
