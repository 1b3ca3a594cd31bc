"""The journal: all that was accepted and decided, in its order, durable before it is acted on."""
