"""Storage of features, clusters and statistics: the port and its adapters."""
