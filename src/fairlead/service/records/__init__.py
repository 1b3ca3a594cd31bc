"""What is known of all jobs, tasks, machines and tokens: a fold over the journal's entries."""
