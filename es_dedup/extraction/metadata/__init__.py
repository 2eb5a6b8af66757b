"""What a page says of itself: title, address, site and time of publication."""
