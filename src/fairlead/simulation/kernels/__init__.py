"""The simulator's compiled functions: the queue of completions and the event loop."""
