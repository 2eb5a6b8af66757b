"""The whole-corpus plan: features in worker processes, self-join, verification in batches, clusters."""
