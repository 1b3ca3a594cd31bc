"""What the exact allocation of the present jobs says to the core, and how the core takes it."""
