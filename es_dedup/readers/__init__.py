"""Input → pages: folders, page files, JSON lines, tables, Parquet, WARC, WET, pipes, object storage.

``read_pages`` is all a caller needs; each item is a ``Page``, or an ``InputFailure`` that names file and line.

Traps:
- a reader never raises for bad input, only for a missing optional package (``MissingExtra``);
- nothing is read ahead: a file is open while its pages are taken, so pages should not be kept in a list;
- ids may repeat: who stores pages keeps the last page of an id, who copies rows tells them apart by their place;
- ids of page files are paths below a root. Who reads into an index more than once gives the root that it has recorded, and records
  that of the call: ``pages = read_pages(paths, ReadOptions(root=dedup.root()))``, then ``dedup.record_root(pages.root)``.
"""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.readers.port import Fields, InputFailure, ReadOptions
    from es_dedup.readers.reading import InputPages, read_pages

__all__ = ["Fields", "InputFailure", "InputPages", "ReadOptions", "read_pages"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attributes(__name__)
