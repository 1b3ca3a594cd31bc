"""The loop: inputs become events, the core decides, the journal commits, engines are told."""
