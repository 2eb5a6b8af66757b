"""All evidence on one pair, and what the corpus knows, to one relation."""
