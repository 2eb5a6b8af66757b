"""Charsets: what the bytes are outranks what they are said to be."""

import codecs
import encodings.aliases
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.extraction.reading.charset import declared_in_markup, decode, normal_name

CHINESE = "<html><head>{meta}</head><body><p>这是一个关于我们的故事，他们在中国的大地上生活了很多年。</p></body></html>"
TRADITIONAL = (
    "<html><body><p>這是一個關於我們的故事，他們在大地上生活了很多年，後來就沒有再說過。</p></body></html>"
)
FRENCH = "<html><body><p>Le café était fermé à Noël ; les élèves préfèrent l'été.</p></body></html>"


@pytest.mark.parametrize(
    ("mark", "name"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_removed(mark: bytes, name: str) -> None:
    found = decode(mark + CHINESE.encode(name), "gbk")
    assert found.text == CHINESE
    assert found.charset == name


@pytest.mark.parametrize(
    "declared", ["utf-8", "gb2312", "gbk", "big5", "latin-1", "windows-1252", "shift_jis", "nonsense", None]
)
@pytest.mark.parametrize(
    ("text", "charset"), [(CHINESE, "utf-8"), (CHINESE, "gb18030"), (TRADITIONAL, "big5hkscs")]
)
def test_bytes_are_read_whatever_is_declared(text: str, charset: str, declared: str | None) -> None:
    found = decode(text.encode(charset), declared)
    assert found.text == text
    assert found.charset == charset


def test_a_lie_is_noted_and_an_ignored_latin_claim_is_not() -> None:
    assert decode(CHINESE.encode(), "gb2312").notes == ("declared gb18030, read as utf-8",)
    assert decode(CHINESE.encode(), "iso-8859-1").notes == ()


def test_a_few_broken_bytes_do_not_turn_utf_8_into_something_else() -> None:
    data = CHINESE.encode() + b"\xe4\xb8" + CHINESE.encode() + b"\xff"
    found = decode(data)
    assert found.charset == "utf-8"
    assert found.text.count("\ufffd") == 2


def test_western_text_is_not_taken_for_chinese() -> None:
    found = decode(FRENCH.encode("cp1252"))
    assert found.text == FRENCH
    assert found.charset == "cp1252"


@pytest.mark.parametrize("declared", ["header", "meta", "late meta", "meta under another header"])
@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("cp1251", "Это было давно и неправда, но люди помнят."),
        ("windows-1256", "جنحت العبارة يوم الاثنين."),
        ("windows-874", "เรือเฟอร์รี่เกยตื้นในวันจันทร์"),
        ("euc_jp", "これは日本語の文章です。"),
    ],
)
def test_another_declared_charset_is_used_when_it_fits(charset: str, text: str, declared: str) -> None:
    style = "<style>p { color: red }</style>" * 500 * (declared == "late meta")
    meta = f"<meta charset={charset}>" if "meta" in declared else ""
    header = {"header": charset, "meta under another header": "ISO-8859-1"}.get(declared)
    page = f"{style}{meta}<p>{text * 5}</p>"
    assert decode(page.encode(normal_name(charset) or ""), header).text == page


def test_seven_bit_charsets_are_not_mistaken_for_utf_8() -> None:
    assert decode("<p>日本語の文章</p>".encode("iso2022_jp"), "iso-2022-jp").text == "<p>日本語の文章</p>"
    assert decode("<p>中文网页</p>".encode("hz"), "hz-gb-2312").text == "<p>中文网页</p>"
    assert decode("<p>한국어</p>".encode("iso2022_kr"), "iso-2022-kr").text == "<p>한국어</p>"
    assert decode(b"<p>a ~{ b</p>").charset == "utf-8"


@pytest.mark.parametrize(
    "meta",
    [
        b'<meta charset="gbk">',
        b"<META CHARSET=GBK>",
        b'<meta http-equiv="Content-Type" content="text/html; charset=gb2312" />',
        b"<?xml version='1.0' encoding='gb2312'?>",
    ],
)
def test_both_meta_forms_and_the_xml_form_are_read(meta: bytes) -> None:
    assert declared_in_markup(meta) == declared_in_markup(b"<html><head>" + meta) == "gb18030"


@pytest.mark.parametrize(
    "label",
    [
        None,
        *"no-such-charset utf-7 base64 idna unicode_escape raw_unicode_escape ü".split(),
        "",
        "\x00",
        "x" * 500,
    ],
)
def test_unusable_labels_are_no_charset(label: str | None) -> None:
    assert normal_name(label) is None


def test_every_charset_of_the_interpreter_may_be_claimed() -> None:
    for label in sorted(set(encodings.aliases.aliases) | {"", "zlib", "rot13", "undefined", "oem", "mbcs"}):
        assert decode(CHINESE.encode("gbk"), label).charset == "gb18030", label


def test_bytes_without_any_look_still_give_text() -> None:
    assert decode(b"\x80").text
    assert decode(b"<p>\xff\xff\xff\xff</p>" * 10).text.startswith("<p>")
    assert decode(b"a" * 500_000 + CHINESE.encode("gbk")).text.endswith(CHINESE)


def test_a_page_of_tags_that_declare_nothing_takes_no_time() -> None:
    begun = time.process_time()
    assert declared_in_markup(b"<meta " * 1_000_000) is None
    assert time.process_time() - begun < 1


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes) -> None:
    assert isinstance(decode(data).text, str)
    assert isinstance(decode(CHINESE.encode() + data + CHINESE.encode()).text, str)


@given(st.text(max_size=200))
def test_valid_utf_8_is_read_as_it_stands(text: str) -> None:
    data = text.encode("utf-8", "ignore")
    found = decode(data)
    if not found.notes and found.charset == "utf-8" and not data.startswith(codecs.BOM_UTF8):
        assert found.text == data.decode()
