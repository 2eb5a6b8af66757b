"""Where the text of an article begins and ends, and what stands in it without belonging to it."""
