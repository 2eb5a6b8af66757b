"""Makes pages with too many tags, or nested too deeply, harmless in one linear scan: flattened, cut, long tags shortened.

Ordinary pages never come here.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Final

MAX_FORMATTING_DEPTH: Final = 24
"""Nested formatting tags (``<b>``, ``<font>`` …) beyond this are dropped; browsers rebuild them at quadratic cost."""
MAX_TAG_CHARS: Final = 2_000
"""A longer tag is rewritten with few, short attributes: duplicates are looked up at quadratic cost in parsers."""
MAX_READ_CHARS: Final = 200_000
"""Of a long tag; attributes behind it are left out."""

MAX_ATTRIBUTES: Final = 48
MAX_VALUE_CHARS: Final = 4_000
MAX_JSON_CHARS: Final = 2_000_000
PARSER_DEPTH: Final = 900
"""No page has a use for more, whatever the settings allow; parsers behind our seam stop reading at 2,048."""

_TOKEN: Final = re.compile(
    r"""<(?:(/?)([a-zA-Z][^\s/>]*+)([^>=]*+(?:=\s*+(?:"[^"]*+"|'[^']*+')?[^>=]*+)*+)>?|!--|[!?][^>]*+>?)"""
)
_COMMENT_END: Final = re.compile(r"--!?>")
_ATTRIBUTE: Final = re.compile(r"""([a-zA-Z][\w:.-]{0,60})\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>"']++)""")
_RAW: Final = frozenset(
    {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext"}
)
_RAW_END: Final = {name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in _RAW}
_KEPT_RAW: Final = frozenset({"title", "xmp"})
_FORMATTING_TAG: Final = 1
_SELF_CLOSING: Final = 2
_RAW_TEXT: Final = 3
_KINDS: Final = {
    **dict.fromkeys("a b big code em font i nobr s small strike strong tt u".split(), _FORMATTING_TAG),
    **dict.fromkeys(
        "area base basefont bgsound br col embed frame hr img input keygen link meta param".split(),
        _SELF_CLOSING,
    ),
    **dict.fromkeys(
        "source track wbr p li dt dd tr td th thead tbody tfoot option optgroup".split(), _SELF_CLOSING
    ),
    **dict.fromkeys(_RAW, _RAW_TEXT),
}
"""Every other tag is 0: it nests, and its end is looked for."""

_MAGIC: Final = (
    (b"%PDF", "PDF"), (b"\x1f\x8b", "gzip"), (b"\x89PNG", "PNG"), (b"GIF8", "GIF"), (b"\xff\xd8\xff", "JPEG"),
    (b"PK\x03\x04", "ZIP"), (b"RIFF", "RIFF"), (b"\x7fELF", "ELF"), (b"BZh", "bzip2"), (b"7z\xbc\xaf", "7z"),
    (b"\xd0\xcf\x11\xe0", "OLE document"), (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"wOF", "font"),
    (b"ID3", "MP3"), (b"OggS", "Ogg"), (b"\x00\x00\x01\x00", "icon"), (b"Rar!", "RAR"), (b"SQLite format", "SQLite"),
)  # fmt: skip
_HIGH_BYTES: Final = bytes(range(128, 256))
_ENOUGH_BYTES: Final = 256  # of a shorter page one stray byte is a large share
_ZLIB_BYTES: Final = 32
_ZLIB_STARTS: Final = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
_MOST_ASCII: Final = 0.7  # of random bytes half are
_MOST_CONTROLS: Final = 0.1  # of the first bytes; UTF-16 has some
_MOST_CONTROLS_IN_TEXT: Final = 0.03  # the same where no byte is zero; random bytes have a tenth
_CONTROL_BYTES: Final = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b\x00"))


class DeadlineExceeded(Exception):
    """Raised inside the room when ``max_seconds`` have passed; never leaves it."""


class Deadline:
    """A point in time that our own loops check.

    Args:
        seconds: time from now, above 0.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise ``DeadlineExceeded`` when the time is up."""
        if time.monotonic() > self._end:
            raise DeadlineExceeded


@dataclass(slots=True)
class Guarded:
    """Markup that is safe to parse.

    Attributes:
        markup: without scripts, styles, comments, declarations and null bytes.
        scripts: attributes and content of each script of at most ``MAX_JSON_CHARS`` characters, in page order.
        notes: limits that were hit.
    """

    markup: str
    scripts: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def binary_kind(data: bytes) -> str | None:
    """What kind of binary file the bytes are, or None when they may be text.

    Looks at the magic number and at the share of control bytes in the first 4,096 bytes (zero bytes do not count:
    UTF-16 has many, and broken pages have some).
    """
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[4:8] == b"ftyp":
        return "MP4"
    head = data[:4096]
    if _is_zlib(head):
        return "zlib"
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    most = _MOST_CONTROLS if 0 in head or len(head) < _ENOUGH_BYTES else _MOST_CONTROLS_IN_TEXT
    return "unknown binary" if head and controls > most * len(head) else None


def _is_zlib(head: bytes) -> bool:
    """The two bytes that such data begin with, and no more ASCII than chance has."""
    ascii_bytes = len(head.translate(None, _HIGH_BYTES))
    return (
        len(head) >= _ZLIB_BYTES and head.startswith(_ZLIB_STARTS) and ascii_bytes < _MOST_ASCII * len(head)
    )


def guard(text: str, *, max_depth: int, max_nodes: int, deadline: Deadline) -> Guarded:
    """Drop what could hurt the parser.

    Args:
        text: decoded HTML of any content; already cut to the byte limit.
        max_depth: nesting beyond this is flattened; at most ``PARSER_DEPTH`` takes effect.
        max_nodes: everything after this many opening tags is cut.
        deadline: when to give up.

    Raises:
        DeadlineExceeded: the time is up.
    """
    return _Scan(text.replace("\x00", ""), min(max_depth, PARSER_DEPTH), max_nodes, deadline).run()


class _Scan:
    def __init__(self, text: str, max_depth: int, max_nodes: int, deadline: Deadline) -> None:
        self.text, self.max_depth, self.max_nodes, self.deadline = text, max_depth, max_nodes, deadline
        self.kept: list[str] = []
        self.copied = 0  # everything before this place is in ``kept`` or dropped
        self.stack: list[str] = []
        self.open: dict[str, int] = {}
        self.dropped: dict[str, int] = {}
        self.formatting = self.nodes = 0
        self.cut = self.flattened = self.shortened = False
        self.unclosed: set[str] = set()
        self.scripts: list[tuple[str, str]] = []

    def run(self) -> Guarded:
        position: int | None = 0
        while position is not None:
            position = self._scan_from(position)
        return self._result()

    def _scan_from(self, position: int) -> int | None:
        """Go from tag to tag; where to go on after a part that holds no tags, or None at the end."""
        stack, count, kinds, nodes = self.stack, self.open, _KINDS, self.nodes
        for token in _TOKEN.finditer(self.text, position):
            slash, name = token.group(1, 2)
            if name is None:
                self.nodes = nodes
                return self._skip_declaration(token)
            name = name.lower()
            kind = kinds.get(name, 0)
            if slash:
                nodes += name == "p"  # a stray ``</p>`` makes an element too
                if not kind and stack and stack[-1] == name and not self.flattened:
                    stack.pop()
                    count[name] -= 1
                elif kind < _SELF_CLOSING:
                    self._close(name, token)
                continue
            nodes += 1
            if nodes > self.max_nodes:
                self._cut(token.start())
                return None
            if not nodes & 1023:
                self.deadline.check()
            if token.end() - token.start() > MAX_TAG_CHARS and (kind < _RAW_TEXT or name in _KEPT_RAW):
                self._shorten(name, token)
            if kind < _SELF_CLOSING:
                self._open(name, kind, token)
            elif kind == _RAW_TEXT:
                self.nodes = nodes
                return self._skip_raw(name, token)
        return None

    def _result(self) -> Guarded:
        notes: list[str] = []
        self.kept.append(self.text[self.copied :])
        if self.cut:
            notes.append(f"more than {self.max_nodes} elements, the rest was cut")
        if self.flattened:
            notes.append(f"nested deeper than {self.max_depth}, flattened")
        if self.shortened:
            notes.append("tags with very many or very long attributes were shortened")
        return Guarded("".join(self.kept), self.scripts, notes)

    def _cut(self, start: int) -> None:
        self._drop(start, len(self.text))
        self.cut = True

    def _drop(self, start: int, end: int) -> None:
        if start > self.copied:
            self.kept.append(self.text[self.copied : start])
        self.copied = max(self.copied, end)

    def _skip_declaration(self, token: re.Match[str]) -> int:
        end = token.end()
        if token[0] == "<!--":
            found = _COMMENT_END.search(self.text, end - 2 if self.text[end : end + 1] == ">" else end)
            end = found.end() if found else len(self.text)
        self._drop(token.start(), end)
        return end

    def _open(self, name: str, formatting: int, token: re.Match[str]) -> None:
        if len(self.stack) >= self.max_depth or (formatting and self.formatting >= MAX_FORMATTING_DEPTH):
            self.flattened = self.flattened or not formatting
            self.dropped[name] = self.dropped.get(name, 0) + 1
            self._drop(token.start(), token.end())
            return
        self.stack.append(name)
        self.open[name] = self.open.get(name, 0) + 1
        self.formatting += formatting

    def _close(self, name: str, token: re.Match[str]) -> None:
        if self.dropped.get(name):
            self.dropped[name] -= 1
            self._drop(token.start(), token.end())
            return
        if not self.open.get(name):
            self._drop(token.start(), token.end())
            return
        if _KINDS.get(name) and self.stack[-1] != name:
            return  # misnested: the parser closes it where it stands; the block around it stays open
        while True:
            last = self.stack.pop()
            self.open[last] -= 1
            self.formatting -= _KINDS.get(last, 0)
            if last == name:
                return

    def _shorten(self, name: str, token: re.Match[str]) -> None:
        self._drop(token.start(), token.end())
        pairs: dict[str, str] = {}
        for count, found in enumerate(_ATTRIBUTE.finditer(token[3][:MAX_READ_CHARS])):
            if count >= MAX_ATTRIBUTES:
                break
            if len(found[2]) <= MAX_VALUE_CHARS:
                pairs.setdefault(found[1].lower(), found[2])
        self.kept.append(f"<{name} {' '.join(f'{key}={value}' for key, value in pairs.items())}>")
        self.shortened = self.shortened or len(pairs) >= MAX_ATTRIBUTES

    def _skip_raw(self, name: str, token: re.Match[str]) -> int:
        """Leave out a script, style or the like; its content is no markup."""
        found = None if name in self.unclosed else _RAW_END[name].search(self.text, token.end())
        if found is None:
            self.unclosed.add(name)  # searching again would be quadratic
            swallow = name in ("script", "style")  # what follows is code, not text
            end = len(self.text) if swallow else token.end()
            self._drop(token.start(), end)
            return end
        if name in _KEPT_RAW:
            return found.start()
        if name == "script" and 0 < found.start() - token.end() <= MAX_JSON_CHARS:
            self.scripts.append((token[3][:MAX_TAG_CHARS], self.text[token.end() : found.start()]))
        self._drop(token.start(), found.start())
        close = self.text.find(">", found.end())
        end = close + 1 if close >= 0 else len(self.text)
        self._drop(token.start(), end)
        return end
