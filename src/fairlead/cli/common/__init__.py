"""What several commands have in common: inputs, the service that is asked, the screen."""
