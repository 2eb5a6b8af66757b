"""Bytes of HTML to a ``Document``: charset, what is cut out, tags, blocks, elements; and text that stands outside the markup."""
