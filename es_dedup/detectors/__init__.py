"""One module per method: its pure functions, then its detector class."""
