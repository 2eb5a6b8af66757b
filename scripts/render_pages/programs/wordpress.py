"""WordPress with its bundled themes: articles with comments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.render_pages import gold, markup
from scripts.render_pages.composing import Shape
from scripts.render_pages.model import Page, plain
from scripts.render_pages.programs import php
from scripts.render_pages.programs.driving import DRIVERS, payload
from scripts.render_pages.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scripts.render_pages.installing import Work
    from scripts.render_pages.model import Block, Site

VERSION: Final = "6.1.9+dfsg1-0+deb12u1"
THEMES: Final = {
    "twentytwentyone": "GPL-2.0+",
    "twentytwentytwo": "GPL-2.0+",
    "twentytwentythree": "GPL-2.0+",
}
PACKAGES: Final = (
    *php.PACKAGES,
    *php.MARIADB,
    f"wordpress={VERSION}",
    f"wordpress-l10n={VERSION}",
    *(f"wordpress-theme-{name}={VERSION}" for name in THEMES),
    "php-getid3=1.9.22+dfsg-1",
    "libphp-simplepie=1.3.1+dfsg-5",
)
LOCALES: Final = {
    "zh": "zh_CN",
    "zh-hant": "zh_TW",
    "en": "",
    "ja": "ja",
    "de": "de_DE",
    "fr": "fr_FR",
    "ru": "ru_RU",
}
PLAIN: Final = "<?php add_filter('run_wptexturize', '__return_false'); add_filter('pre_http_request', '__return_true');\n"
WIDGETS: Final = (
    "recent-posts",
    "recent-comments",
    "archives",
    "categories",
    "meta",
    "search",
    "tag_cloud",
    "calendar",
    "text",
)
SHAPE: Final = Shape(posts=60, signatures=False)


def _comment(blocks: Sequence[Block]) -> str:
    return "\n\n".join(plain(line) for block in blocks for line in block.texts)


def render(site: Site, work: Work) -> Iterator[Page]:
    """Install the site in a database of its own, fill it and ask for its articles."""
    root = work.debian("wordpress", PACKAGES)
    home = root / "usr/share/wordpress"
    (home / "wp-config.php").unlink(missing_ok=True)
    (home / "wp-config.php").write_text((DRIVERS / "wordpress-config.php").read_text())
    (home / "wp-content/mu-plugins").mkdir(exist_ok=True)
    (home / "wp-content/mu-plugins/plain.php").write_text(PLAIN)
    folder = work.fresh("wordpress", site.theme)
    short = Path("/tmp") / f"render-pages-{site.rng.randrange(10**9)}"  # noqa: S108 - a socket's path must be short
    interpreter = php.Php(root)
    given = payload(
        site,
        _comment,
        locale=LOCALES[site.language],
        theme=site.theme,
        permalinks=site.rng.choice(
            ("", "/%year%/%monthnum%/%postname%/", "/archives/%post_id%", "/%postname%/")
        ),
        comment_order=site.rng.choice(("asc", "asc", "desc")),
        avatars=int(site.chance(0.7)),
        widgets=site.rng.sample(WIDGETS, site.rng.randint(1, 6)),
    )
    for document, shown in zip(site.documents, given["documents"], strict=True):
        shown["body"] = markup.html(document.blocks)
    try:
        with php.mariadb(root, short) as place:
            variables = {
                "RENDER_DATABASE": "site",
                "RENDER_SOCKET": str(place),
                "RENDER_HOST": site.host,
                "RENDER_ROOT": str(home),
            }
            create = f"mysqli_query(mysqli_connect('localhost', 'root', '', '', 0, '{place}'), 'create database site');"
            (folder / "create.php").write_text(f"<?php {create}")
            interpreter.run(folder / "create.php", folder, "", {})
            printed = interpreter.run(DRIVERS / "wordpress-fill.php", folder, json.dumps(given), variables)
            paths = json.loads(printed.strip().splitlines()[-1])
            with interpreter.server(home, variables) as port:
                for document in site.documents:
                    page = php.fetch(port, paths[document.slug], site.host)
                    if page is not None:
                        yield Page(document, paths[document.slug], page, gold.article_text(document))
    finally:
        php.remove(short)


PROGRAM: Final = Program("wordpress", "GPL-2.0-or-later", PACKAGES, THEMES, SHAPE, render)
