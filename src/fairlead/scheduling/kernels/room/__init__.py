"""Where a task may go and goes: room, sets of machines, permission, the rule's choice."""
