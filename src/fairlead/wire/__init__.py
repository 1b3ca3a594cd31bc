"""What goes over the wire between the service and its clients: one model for each shape."""
