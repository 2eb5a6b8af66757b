"""Pages as HTML: paragraphs in the style of the site, in the layout of the site."""

from __future__ import annotations

import html
import json
import re
from calendar import month_name
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from scripts.samplesupport.conversion import to_site_script
from scripts.samplesupport.lists import number, render_list
from scripts.samplesupport.stories import Para, load_extra
from scripts.samplesupport.tables import SAMPLES

if TYPE_CHECKING:
    from scripts.samplesupport.pages import Page


def wrap(text: str, width: int) -> str:
    """Break a text by ``<br>`` after a fixed number of characters, as old editors did."""
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    return "<br>\n".join(html.escape(line, quote=False) for line in lines)


def render_para(para: Para, style: str) -> str:
    """The HTML of one paragraph in the style of the site."""
    text = html.escape(para.text, quote=False)
    if para.kind == "h":
        return f"<b>{text}</b><br>" if style in ("br", "wrap") else f"<h3>{text}</h3>"
    if para.kind == "q":
        return f"<blockquote>{text}</blockquote>"
    if para.kind == "c":
        return f'<p align="right">{text}</p>'
    return {
        "p": f"<p>{text}</p>",
        "indent": f"<p>　　{text}</p>",
        "span": f'<p><span style="font-size: 12pt; font-family: 宋体">　　{text}</span></p>',
        "br": f"&nbsp;&nbsp;&nbsp;&nbsp;{text}<br><br>",
        "wrap": f"　　{wrap(para.text, 26)}<br><br>",
    }[style]


def page_number(page: Page) -> str:
    """The document number of a page."""
    return str(10**6 + number(page.ident) % (9 * 10**6))


def page_url(page: Page) -> str:
    """The address of a page."""
    year, month, day = page.date.split("-")
    slug = page.ident.split("/")[1].removesuffix(".html")
    return page.site.url.format(y=year, m=month, d=day, num=page_number(page), slug=slug)


def meta_charset(declared: str) -> str:
    """The declaration of the character set; nothing for ``none``."""
    if declared == "none":
        return '<meta http-equiv="X-UA-Compatible" content="IE=edge">'
    if declared == "utf-8":
        return '<meta charset="utf-8">'
    return f'<meta http-equiv="Content-Type" content="text/html; charset={declared}">'


def page_values(page: Page) -> dict[str, str]:
    """The values of the plain marks of a shell."""
    year, month, day = page.date.split("-")
    first = next((p.text for p in page.paras if p.kind == "p"), page.title)
    staff = "Newsroom" if page.site.lang == "en" else to_site_script("综合报道", page)
    return {
        "title": html.escape(page.title, quote=True),
        "json_title": json.dumps(page.title, ensure_ascii=False)[1:-1],
        "url": page_url(page),
        "num": page_number(page),
        "small": str(number(page.ident) % 3000 + 12),
        "date": page.date,
        "date_cn": f"{year}年{month}月{day}日",
        "weekday": "星期" + "一二三四五六日"[date.fromisoformat(page.date).weekday()],
        "date_en": f"{int(day)} {month_name[int(month)]} {year}",
        "author": to_site_script(page.story.author or staff, page),
        "source": html.escape(page.site.label),
        "editor": "值班编辑",
        "desc": html.escape(first[:60], quote=True),
        "meta_charset": meta_charset(page.declared),
        "body": "\n".join(render_para(p, page.site.style) for p in page.paras),
        "notice": "\n".join(f"<p>{p.text}</p>" for p in load_extra("notices")[page.story.lang].paras),
    }


@cache
def shell_text(name: str) -> str:
    """The template of a shell."""
    return (SAMPLES / "shells" / f"{name}.html").read_text("utf-8")


def render_page(page: Page) -> bytes:
    """The bytes of a page in its real character set."""
    values = page_values(page)

    def fill(match: re.Match[str]) -> str:
        name, *args = match[1].split(":")
        return render_list(name, args, page) if args else values[name]

    text = re.sub(r"\{\{([a-z0-9_:]+)\}\}", fill, shell_text(page.shell))
    data = text.encode(page.charset, errors="xmlcharrefreplace")
    return b"\xef\xbb\xbf" + data if page.bom else data
