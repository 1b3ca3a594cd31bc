"""Any engine in a supervised child process: driver, frames, messages."""
