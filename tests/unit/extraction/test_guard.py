"""Limits before the parser: what could hurt it is taken out, in linear time, and the text stays."""

import gzip

import pytest

from es_dedup.extraction.reading.parser_limits import (
    MOST_ATTRIBUTES,
    binary_kind,
    with_fewer_attributes,
    with_fewer_elements,
)

GIANT = {
    "without values": " ".join(f"a{n}" for n in range(1000)),
    "with signs in quotation": " ".join(f"a{n}='>'" for n in range(1000)),
    "without space between": "".join(f'a{n}="b"' for n in range(1000)),
    "behind quotes out of step": 'a=="b c=">" ' + " ".join(f"a{n}=1" for n in range(1000)),
    "behind a name that begins with a sign": '=a=">" ' + " ".join(f"a{n}=1" for n in range(1000)),
    "without an end": " ".join(f"a{n}=1" for n in range(1000)),
}


@pytest.mark.parametrize("name", GIANT)
def test_tags_with_very_many_attributes_keep_the_first(name: str) -> None:
    end = "" if name == "without an end" else ">y"
    markup = f'<p id=a>x</p><p class="b" {GIANT[name]}{end}'.encode()
    found = with_fewer_attributes(markup)
    assert found.startswith(b'<p id=a>x</p><p class="b" ')
    assert found.endswith(end.encode())
    assert len(found) < 1000


@pytest.mark.parametrize(
    "markup",
    [
        "<p " + " ".join(f"a{n}" for n in range(MOST_ATTRIBUTES)) + ">",
        "<p title='" + "x y=z " * 1000 + "'>",
        "a < b " * 1000,
        "<p>" * 1000,
        "<custom-tag>x</custom-tag>",
        "",
    ],
)
def test_ordinary_tags_pass_unchanged(markup: str) -> None:
    assert with_fewer_attributes(markup.encode()) == markup.encode()


def test_elements_beyond_the_limit_are_cut() -> None:
    assert with_fewer_elements(b"<p>x</p>" * 100, 10) == b"<p>x</p>" * 10
    assert with_fewer_elements(b"<p>x</p>" * 10, 10) == b"<p>x</p>" * 10
    assert with_fewer_elements(b"1 < 2 " * 100, 10) == b"1 < 2 " * 100


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"%PDF-1.7\n", "PDF"),
        (gzip.compress(b"<p>x", mtime=0), "gzip"),
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG"),
        (b"GIF89a", "GIF"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"PK\x03\x04", "ZIP"),
        (b"\0\0\0\x18ftypmp42", "MP4"),
        (bytes(range(1, 9)) * 50, "unknown binary"),
        (b"<html>\x00\x00\x00", None),
        ("<p>中</p>".encode("utf-16-le"), None),
        ("<p>中文</p>".encode("gbk"), None),
        (b"", None),
    ],
)
def test_binary_files_are_named(data: bytes, kind: str | None) -> None:
    assert binary_kind(data) == kind
