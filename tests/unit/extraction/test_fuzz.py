"""Random pages: never an exception, never a lone surrogate. Damaged pages are a part of ``make fuzz`` (``tests/fuzz``)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from es_dedup.extraction import create_extractor, extract
from es_dedup.model import Content
from es_dedup.settings.loading import ExtractionConfig

PIECES = (
    b"<", b">", b"</", b"/>", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<!", b"<?", b"\0", b"\xff", b"\xfe\xff", b"\xe4\xb8",
    b"\x81", b"\x1b$B", b"\x0e", b"&", b"&#", b"&#0;", b"&#xD800;", b"&#x110000;", b"&#1;", b"&lt;", b'"', b"'", b"=", b"`",
    b"<p>", b"</p>", b"<div>", b"</div>", b"<b>", b"</b>", b"<table>", b"<td>", b"<title>", b"<script>", b"</script>",
    b"<textarea>", b"<plaintext>", b"<svg>", b"<math>", b"<template>", b"<select>", b"<frameset>", b"<body hidden>",
    b"<base href='http://['>", b"<a href=", b"<meta charset=utf-16>", b"<meta charset=utf-7>", b" style='width:'", b" hidden ",
    b"<time datetime='9999-99-99'>", b"\xed\xa0\x80", b"\xef\xbf\xbf", b"\xe2\x80\xae", b"\r", b"<xmp>", b"<o:p>", b"<a:b:c>",
    b"<\xc3\xa9>", b"<image>", b"<isindex>", b"</html>", b"</body>", b"<html>", b"<head>",
)  # fmt: skip
EXTRACTORS = (
    create_extractor(ExtractionConfig(max_depth=32)),
    create_extractor(ExtractionConfig(max_depth=32, extractor="topic")),
)


markup = st.lists(
    st.one_of(
        st.sampled_from([piece.decode("utf-8", "surrogateescape") for piece in PIECES]),
        st.text(max_size=20),
        st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=5),
        st.sampled_from(["<p>正文，内容。</p>", "<div class='nav'>", "<h1>", "标题", " ", "\n"]),
    ),
    max_size=40,
).map("".join)


@given(st.binary(max_size=2000), st.one_of(st.none(), st.text(max_size=12)))
@settings(max_examples=100)
def test_any_bytes_give_content(data: bytes, claim: str | None) -> None:
    found = extract(data, http_charset=claim)
    found.text.encode("utf-8")


@given(markup, st.one_of(st.none(), st.text(max_size=30)))
@settings(max_examples=100)
def test_any_markup_gives_content(page: str, url: str | None) -> None:
    for extractor in EXTRACTORS:
        found = extractor.extract(page, url=url)
        if isinstance(found, Content):
            found.text.encode("utf-8")
            found.title.encode("utf-8")


@given(
    st.text(
        alphabet=st.characters(codec="gb18030", exclude_categories=("Cs", "Cc", "Cn", "Co")), max_size=200
    )
)
@settings(max_examples=60)
def test_declared_and_true_charsets_agree_on_the_text(text: str) -> None:
    page = f"<html><head><meta charset=gb18030></head><body><p>的一是不了在人有我他，{text.replace('<', '')}。</p></body></html>"
    assert extract(page.encode("gb18030")).text == extract(page).text
