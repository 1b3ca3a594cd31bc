"""Every figure and table of the papers, drawn again beside the paper's numbers."""
