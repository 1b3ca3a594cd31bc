"""Jobs, tasks, machines and tokens as the service knows them: a fold over the journal's entries."""
