"""Star clusters around canonical documents, without chaining.

Main names: ``cluster_all`` gives the one partition of a set of pages and verified edges; ``update_clusters`` gives the
assignments to write after pages were added, updated or removed; ``repair`` over all pages reclusters everything.

Traps:

- The partition depends on pages and edges alone, never on the order of arrival; a cluster's *id* has a
  history (``repair`` has its rules), so compare partitions, not ids, with those of a full run.
- Similarity is not transitive: two pages that resemble a third are in one cluster only if each has an edge to
  the canonical document, so a page may stand alone although it has an edge to a member.
- Containment is a pointer between clusters (``containment``), never membership.
- A page's place in the order is part of the input: a changed time, site, length or URL is an update.
"""
