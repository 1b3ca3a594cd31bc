"""Who is next: levels, tries over the waiting jobs, and the search through them."""
