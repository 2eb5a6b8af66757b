"""What exact copies have in common; without numpy, because readers need it."""

from __future__ import annotations

from hashlib import blake2b
from unicodedata import normalize


def content_form(text: str) -> str:
    """What exact copies of a text have in common: the text in Unicode NFC, with newlines as line ends and without outer white space."""
    if not text.isascii():
        text = normalize("NFC", text)
    return (text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text).strip()


def content_digest(*parts: str | bytes | None) -> bytes:
    """16 bytes that texts share with their exact copies, see ``content_form``; bytes count as they are."""
    digest = blake2b(digest_size=16)
    for part in parts:
        raw = content_form(part).encode("utf-8", "surrogatepass") if isinstance(part, str) else part or b""
        digest.update(b"%d:" % len(raw) + raw)
    return digest.digest()


def content_id(content: str | bytes, title: str | None) -> str:
    """The page id of a row without one: a digest of its text or HTML and its title."""
    return f"content-{content_digest(content, title).hex()}"
