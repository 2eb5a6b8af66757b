"""Many pages at once: features in worker processes, self-join, verification, clusters; and what people have decided, as journals in the index."""
