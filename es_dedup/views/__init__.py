"""What people look at: views of the console, and the HTML report of a scan, which works offline; lists for other programs.

``report_page`` is all that a caller of the report needs. A view of the console takes an open index and gives a page. All are made by the
same templates; ``evidence`` is shared with the command line, so that page and terminal say the same.

Traps:
- every text of a page is hostile: markup stands in ``templates`` only, which escape everything;
- a style attribute would be refused by the policy of report and console: styles go to ``static``.
"""

from typing import TYPE_CHECKING

from es_dedup import lazy

if TYPE_CHECKING:
    from es_dedup.views.report import report_page

__all__ = ["report_page"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attributes(__name__)
