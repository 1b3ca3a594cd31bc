"""The routes: handlers that read a request, ask the mailbox, and answer."""
