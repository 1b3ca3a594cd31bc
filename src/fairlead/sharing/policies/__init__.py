"""The policies of the papers, one page each."""
