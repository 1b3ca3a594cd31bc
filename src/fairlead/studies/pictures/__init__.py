"""Pictures of studies: kinds of charts, and how they are drawn."""
