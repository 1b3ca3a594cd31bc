"""What commands print: tables and sentences for people, and the same as data."""
