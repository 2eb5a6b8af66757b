"""The use cases of the library: reading an index, adding, removing and scanning pages."""
