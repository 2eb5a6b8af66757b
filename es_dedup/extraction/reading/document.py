"""A page as a tree of elements, from bytes of any kind: decoded, guarded, parsed by lxml."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from lxml import etree

from es_dedup.extraction.blocks import Blocks, read_blocks
from es_dedup.extraction.reading.charset import decode
from es_dedup.extraction.reading.feeds import feed_markup
from es_dedup.extraction.reading.json_ld import Structured, parsed, read_structured
from es_dedup.extraction.reading.parser_limits import FLATTENING, with_fewer_attributes, with_fewer_elements
from es_dedup.extraction.white_space import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.etree import _Element

    from es_dedup.extraction.reading.parser_limits import Deadline
    from es_dedup.settings.loading import ExtractionConfig

_TAG: Final = re.compile(rb"</?[a-zA-Z]|<!")
_END_OF_PAGE: Final = re.compile(rb"</(?:body|html|BODY|HTML|Body|Html)(?=[\s/>])[^>]*+>?|<html\s*/>")
_OPEN_TITLE: Final = re.compile(
    rb"(<title(?:\s[^>]{0,500}+)?>[^<]{0,2000}+)(?=<(?:body|link|meta|script|style|/head)[\s>])",
    re.IGNORECASE,
)
_OF_HEAD: Final = frozenset("title meta link base script style noscript template object".split())
_PARSER_DEPTH: Final = 250  # libxml2 reads 256 levels, and 2,048 when it is asked to
MOST_DEPTH: Final = 2_000
"""No page has a use for more, whatever the settings allow."""

_META_KEYS: Final = ("property", "name", "itemprop", "http-equiv")
_MAX_KEY_CHARS: Final = 80
_HEAD_BYTES: Final = 64


class Document:
    """A parsed page.

    Args:
        root: its outermost element.
        url: where the page was found, if known.
        charset: in which it was served; None for text.
        notes: what was odd, in plain words.
        data: a JSON document, when the page is one.
    """

    def __init__(
        self,
        root: _Element,
        *,
        url: str | None = None,
        charset: str | None = None,
        notes: tuple[str, ...] = (),
        data: str = "",
    ) -> None:
        self.root, self.url, self.charset, self.notes = root, url, charset, notes
        self._data = data

    @cached_property
    def scripts(self) -> list[tuple[dict[str, str], str]]:
        """Attributes ``id`` and ``type``, and source, of each script; a JSON document counts as one."""
        if self._data:
            return [({"type": "application/json"}, self._data)]
        return [
            ({name: value for name in ("id", "type") if (value := script.get(name))}, script.text)
            for script in self.tagged["script"]
            if script.text
        ]

    @cached_property
    def blocks(self) -> Blocks:
        """Containers and blocks of text."""
        return read_blocks(self.root)

    @cached_property
    def lines(self) -> list[str]:
        """Text of each block; of preformatted text with its line ends."""
        texts = (self.blocks.text(place) for place in range(len(self.blocks.texts)))
        return [
            clean(text) if "\n" not in text else "\n".join(filter(None, map(clean, text.split("\n"))))
            for text in texts
        ]

    @cached_property
    def tagged(self) -> dict[str, list[_Element]]:
        """Elements of the tags in ``_TAGGED``, in page order, by one walk for all."""
        found: dict[str, list[_Element]] = {tag: [] for tag in _TAGGED}
        for element in self.root.iter(*_TAGGED):
            found[element.tag].append(element)
        return found

    @cached_property
    def declaring(self) -> list[_Element]:
        """Elements with ``rel`` or ``itemprop``, in page order."""
        return cast("list[_Element]", _DECLARING(self.root))

    def marked(self, says: Callable[[str], bool]) -> Iterator[_Element]:
        """Elements whose class or id says something, in page order; ``says`` is asked once for equal values."""
        known: dict[str, bool] = {}
        last: _Element | None = None
        for value in cast("list[Any]", _CLASSES_AND_IDS(self.root)):
            if known[value] if value in known else known.setdefault(value, says(value)):
                if (element := value.getparent()) is not last:
                    yield element
                last = element

    @cached_property
    def metas(self) -> dict[str, str]:
        """``name``, ``property``, ``itemprop`` and ``http-equiv`` in small letters to content; the first of equal names wins."""
        found: dict[str, str] = {}
        for element in self.tagged["meta"]:
            if not (content := (element.get("content") or "").strip()):
                continue
            for attribute in _META_KEYS:
                if key := element.get(attribute):
                    for name in {key, *key.split()}:
                        found.setdefault(name.strip().lower()[:_MAX_KEY_CHARS], content)
        return found

    @cached_property
    def structured(self) -> Structured:
        """What the page says of itself in JSON-LD."""
        return read_structured(self.scripts)

    @cached_property
    def title(self) -> str:
        """Text of the first title element that says something; may be empty."""
        titles = (
            clean(element.text or "")
            for element in self.tagged["title"]
            if (parent := element.getparent()) is None or parent.tag != "svg"
        )
        return next(filter(None, titles), "")


_TAGGED: Final = ("meta", "title", "script", "h1", "h2", "h3", "time")
_DECLARING: Final = etree.XPath("descendant-or-self::*[@rel | @itemprop]")
_CLASSES_AND_IDS: Final = etree.XPath("descendant-or-self::*/@*[name() = 'class' or name() = 'id']")


def read_document(
    html: bytes | str,
    config: ExtractionConfig,
    deadline: Deadline,
    *,
    url: str | None,
    http_charset: str | None,
) -> Document | None:
    """The page as a tree; None when there is neither markup nor text.

    Args:
        html: as served, or decoded; text without any tag is taken as it is.
        config: limits.
        deadline: when to give up.
        url: where it was found, if known.
        http_charset: of the HTTP header, if known.

    Raises:
        DeadlineExceeded: the time is up.
    """
    charset: str | None = None
    notes: tuple[str, ...] = ()
    if isinstance(html, bytes):
        decoded = decode(html, http_charset)
        html, charset, notes = decoded.text, decoded.charset, decoded.notes
    data = html.encode("utf-8", "replace").replace(b"\x00", b"")
    first = data[:_HEAD_BYTES].lstrip()[:1]
    if first in (b"{", b"[") and isinstance(parsed(text := data.decode()), dict | list):
        return Document(_empty(), url=url, charset=charset, notes=notes, data=text)
    if first == b"<" and (feed := feed_markup(data)):
        data = feed
    if not _TAG.search(data):
        data = b"<body><pre>" + data.replace(b"&", b"&amp;").replace(b"<", b"&lt;") + b"</pre>"
    root, more = parse(data, config, deadline)
    if root is None:
        return None
    return Document(root, url=url, charset=charset, notes=(*notes, *more))


def parse(data: bytes, config: ExtractionConfig, deadline: Deadline) -> tuple[_Element | None, list[str]]:
    """The tree of markup, and which limits were hit.

    Args:
        data: in UTF-8, without null bytes.
        config: limits.
        deadline: when to give up.

    Raises:
        DeadlineExceeded: the time is up.
    """
    notes: list[str] = []
    markup = with_fewer_elements(data, config.max_nodes)
    if len(markup) < len(data):
        notes.append(f"more than {config.max_nodes} elements, the rest was cut")
    markup = with_fewer_attributes(markup)
    depth = min(config.max_depth, MOST_DEPTH)
    root = _parse(markup, depth)
    if root is _TOO_DEEP:
        notes.append(f"nested deeper than {depth}, flattened")
    for tags, instead in FLATTENING:
        deadline.check()
        if root is _TOO_DEEP:
            markup = tags.sub(instead, markup)
            root = _parse(markup, depth)
    deadline.check()
    if root is not None:
        _end_head(root)
    return root, notes


def _end_head(root: _Element) -> None:
    """Move what is no part of a head to the body: before the tag of a body, libxml2 leaves tags that it does not know, such as ``article``, in the head."""
    head = root.find("head")
    others = [] if head is None else [element for element in head if element.tag not in _OF_HEAD]
    if others:
        body = root.find("body")
        body = etree.SubElement(root, "body") if body is None else body
        others[-1].tail = (others[-1].tail or "") + (body.text or "")
        body.text = None
        body[:0] = others


def _parse(data: bytes, max_depth: int) -> _Element | None:
    """The tree; ``_TOO_DEEP`` where it is nested too deeply, None where there is nothing."""
    # what stands behind the end of a page is shown, but libxml2 leaves it out; a title without its end would take the whole page
    data = _OPEN_TITLE.sub(rb"\1</title>", _END_OF_PAGE.sub(b"", data))
    for huge in (False, True):
        parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=huge)
        try:
            root = etree.fromstring(data, parser)
        except etree.XMLSyntaxError:
            return None
        is_whole = not any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log)
        if is_whole:
            may_be_deep = root is not None and (huge or max_depth < _PARSER_DEPTH)
            return _TOO_DEEP if may_be_deep and _is_deep(root, max_depth) else root
        if max_depth < _PARSER_DEPTH:
            break
    return _TOO_DEEP


def _is_deep(root: _Element, depth: int) -> bool:
    """Some element is nested deeper than ``depth`` below the body."""
    level = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        level += 1 if event == "start" else -1
        if level > depth + 2:
            return True
    return False


def _empty() -> _Element:
    return etree.Element("html")


_TOO_DEEP: Final = etree.Element("html")
