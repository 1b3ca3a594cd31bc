"""The dashboard: pages that draw what the service and the sharing say, without computing any of
it."""
