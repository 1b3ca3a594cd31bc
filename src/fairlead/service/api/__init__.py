"""The service's API: handlers that read a request, ask the mailbox, and answer."""
