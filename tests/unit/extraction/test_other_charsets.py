"""Charsets that nobody names, and text in two charsets or encoded twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.extraction import extract
from es_dedup.extraction.reading.charset import decode
from es_dedup.extraction.reading.other_charsets import encoded_once, mostly_utf8

CHINESE = "渡轮周一恢复通航，市政府表示，票价与从前相同，时刻表自春季以来没有变化。"
TRADITIONAL = "渡輪週一恢復通航，市政府表示，票價與從前相同，時刻表自春季以來沒有變化。"
JAPANESE = "月曜日からフェリーの運航が再開されると市議会が発表した。料金は以前と同じで、時刻表は春から変わっていない。"
KOREAN = "월요일부터 여객선이 다시 운항한다고 시의회가 밝혔다. 요금은 이전과 같으며 시간표는 봄 이후로 바뀌지 않았다."
RUSSIAN = "Паром снова ходит, сообщил совет в понедельник. Билеты стоят столько же, и расписание не изменилось с весны."
GERMAN = "Die Fähre fährt wieder, sagte der Rat am Montag. Für alle gleich – „wie früher“, heißt es über die Preise."


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "cp949"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp866"),
        (CHINESE, "gb18030"),
        (TRADITIONAL, "big5hkscs"),
        (GERMAN, "cp1252"),
    ],
)
def test_a_charset_that_nobody_names_is_known_by_its_text(text: str, charset: str) -> None:
    found = decode(f"<p>{text}</p>".encode(charset))
    assert found.text == f"<p>{text}</p>"
    assert found.charset == charset


def test_a_declaration_counts_more_than_a_look() -> None:
    assert decode(RUSSIAN.encode("koi8-r"), "koi8-r").text == RUSSIAN
    assert decode(RUSSIAN.encode("cp1251"), "windows-1251").text == RUSSIAN


@pytest.mark.parametrize("text", [CHINESE, GERMAN, RUSSIAN, JAPANESE])
@pytest.mark.parametrize("wrong", ["latin-1", "cp1252"])
def test_text_encoded_twice_is_read_once(text: str, wrong: str) -> None:
    read = "".join(
        bytes([byte]).decode(wrong if bytes([byte]).decode(wrong, "ignore") else "latin-1")
        for byte in text.encode()
    )
    found = decode(read.encode())
    assert found.text == text
    assert found.notes == ("encoded as UTF-8 twice",)


@pytest.mark.parametrize(
    "text",
    [CHINESE, GERMAN, RUSSIAN, "Une fête à l'été, où l'on a dîné. " * 9, "São João, não é?", "„heiß“ war's"],
)
def test_text_encoded_once_stays(text: str) -> None:
    assert encoded_once(text.encode(), text) is None


def test_a_page_on_such_text_stays() -> None:
    text = GERMAN * 20 + "Aus „ä“ wird dann „Ã¤“."
    assert decode(text.encode()).text == text


def test_a_page_of_two_charsets_is_read_in_both() -> None:
    data = (
        f"<p>{CHINESE * 2}</p>".encode()
        + f"<p>{CHINESE}</p>".encode("gb18030")
        + f"<p>{CHINESE}</p>".encode()
    )
    found = decode(data)
    assert found.text == f"<p>{CHINESE * 2}</p><p>{CHINESE}</p><p>{CHINESE}</p>"
    assert found.notes == ("parts of the page are in another charset",)
    content = extract(b"<title>" + CHINESE[:6].encode() + b"</title>" + data)
    assert content.title == CHINESE[:6]
    assert content.text == f"{CHINESE * 2}\n{CHINESE}\n{CHINESE}"


def test_mostly_gb18030_is_no_utf_8() -> None:
    assert mostly_utf8(f"<p>{CHINESE * 3}</p>".encode("gb18030") + "<p>版权所有</p>".encode()) is None


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes) -> None:
    assert isinstance(decode(data).text, str)
    assert isinstance(decode(CHINESE.encode() + data + CHINESE.encode()).text, str)


@given(st.text(max_size=200))
def test_text_that_is_valid_utf_8_is_changed_only_where_it_looks_encoded_twice(text: str) -> None:
    data = text.encode("utf-8", "ignore")
    found = decode(data)
    if not found.notes and found.charset == "utf-8" and not data.startswith(b"\xef\xbb\xbf"):
        assert found.text == data.decode()
