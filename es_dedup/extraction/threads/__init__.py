"""Whether people talk on a page, about what, and which of its blocks are theirs."""
