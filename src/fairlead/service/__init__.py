"""The live service: the loop, the journal, the API."""
