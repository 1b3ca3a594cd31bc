"""Parts that several commands share: inputs, the service that is asked, the screen."""
