"""What a page says of itself: title, addresses, site, author and time of publication."""
