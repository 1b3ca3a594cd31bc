"""Traces by OpenTelemetry: spans of requests, jobs and attempts."""
