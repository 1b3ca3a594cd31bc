"""An independent reference in rational arithmetic: the exact shares, straight from the model."""
