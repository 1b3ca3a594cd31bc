"""The output of commands: tables and sentences for people, and the same as data."""
