"""The service as a process: sockets, signals, threads, logs, its first token."""
