"""Pages of the review console: what is stored and why, as HTML made on the server. Each view takes an open index and gives a page."""
