"""A crawl of a local site by Scrapy, in a process of its own: a reactor cannot be started twice.

    python -m tests.integrations.crawl SITE NAME=SETTINGS …

``SETTINGS`` are settings of Scrapy as JSON, one crawl each, all at once; prints what each crawl returned as JSON.
"""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess


class Pages(scrapy.Spider):  # type: ignore[misc] # types of Scrapy are not read
    """Follows the listings of folders; gives an item for each page."""

    name = "pages"

    async def start(self) -> AsyncIterator[Any]:
        """The listing of the site."""
        yield scrapy.Request(self.site)

    def parse(self, response: Any) -> Iterator[Any]:
        """Requests of a listing, or the item of a page."""
        if response.url.endswith("/"):
            yield from response.follow_all(css="a")
        else:
            yield {"url": response.url, "body": response.body, "number": 1}


def main() -> None:
    """Crawl and print."""
    site, *variants = sys.argv[1:]
    process = CrawlerProcess({"LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False})
    found: dict[str, dict[str, Any]] = {}
    for variant in variants:
        name, _, settings = variant.partition("=")
        crawler = process.create_crawler(type(name, (Pages,), {"custom_settings": json.loads(settings)}))
        items: list[Any] = []
        found[name] = {"items": items, "crawler": crawler}

        def keep(item: Any, items: list[Any] = items) -> None:
            items.append({key: value for key, value in item.items() if key != "body"})

        crawler.signals.connect(keep, signal=scrapy.signals.item_scraped, weak=False)
        process.crawl(crawler, site=site)
    process.start()
    for each in found.values():
        stats = each.pop("crawler").stats.get_stats()
        each["stats"] = {key: value for key, value in stats.items() if isinstance(value, int)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
