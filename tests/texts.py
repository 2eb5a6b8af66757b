"""Texts that several test files share: sentences of our own, alphabets for random texts, articles from a seed."""

import random
import sys
import unicodedata
from typing import Final

from hypothesis import strategies as st

ZH: Final = (
    "市水务局昨日表示，城南三座泵站已完成检修，雨季前可全部投用。",
    "记者从现场了解到，这批设备共12台，总价3.5亿元，比去年多出两成。",
    "“我们等了整整七年。”住在河边的老周说，“如今夜里终于能睡安稳了。”",
    "据悉，二〇二六年一月起，新规将在全省四十二个县同时施行！",
    "谁来负责后期维护？会议没有给出答案；代表们要求本月底前书面答复。",
)
FERRY: Final = (
    (
        "The ferry runs again, the council said on Monday. Tickets cost the same as before, and the timetable has "
        "not changed since the spring."
    ),
    (
        "Those who had bought a card can use it until June, said the mayor. The second boat is being repaired in "
        "the yard at the north quay."
    ),
)
"""Two paragraphs that are enough for a main text."""

EN: Final = (
    "The harbour authority reopened its northern quay on Tuesday after eleven weeks of repairs.",
    "Nobody was hurt, said J. O'Neill, who runs version 2.1 of the ticket system at example.com.",
    "Prices rose by 1,250 dollars (about 3.5%), the sharpest increase since 2019!",
    "Will the council pay for it? A spokesman wouldn't say: the budget is still being written.",
)
TRADITIONAL: Final = (
    "這座圖書館在颱風過後重新開放，讀者們都說裡面的書頁還留著濕氣。",
    "頭髮花白的店主發現，後來的客人只買乾麵，不買麵包。",
    "著作權法修正後，電腦軟體的複製規則變得更加嚴格。",
)
FULL_WIDTH: Final = ("ＡＢＣ公司２０２６年第１季度净利润为１２．５％，同比持平。", "ﾃｽﾄ：ｶﾞｷﾞ（株）Ｎｏ．７")
MIXED: Final = (
    "苹果iPhone 17的A19芯片跑分达到v2.3版的1.4倍, reviewers said。",
    "Café Łódź—naïve “quotes” ‘here’ … ½ of ①②③ ㈱ ﬁne №5",
    "ひらがなとカタカナ、한국어 문장도 섞어 써 본다. Ελλάς ΣΟΦΟΣ; İstanbul ǅ.",
    "a\u0301e\u0308 \u0915\u094d\u0937 \u09c7\u09be \u1112\u1161\u11ab 👩\u200d👩\u200d👧 🇨🇳 \U00020000\U0002a6d6",
)
SENTENCES: Final = (*ZH, *EN, *TRADITIONAL, *FULL_WIDTH, *MIXED)

SIMPLE_ALPHABET: Final = (
    "一二两十百万亿〇年月日个电讯第甲乙丙丁网页新闻天气ab12xyz09 \n。，！？；：、.,:;!?-“”（）"
)
MIXED_ALPHABET: Final = (
    SIMPLE_ALPHABET
    + "後髮發乾麵裡著覆沈瞭甦藉瞭解開關係臺颱"
    + "ＡｂＣ１２，．：ｶﾞﾊﾟ"
    + "éÉßİıΣσςÅＡﬁ½①㈱ﾞ゛ガか\u3099\u309aㄱㅏ가힣\u1100\u1161\u11a8"
    + "e\u0301\u0308\u0327\u0331H\u0345\u09c7\u09be\u0dd9\u0dcf\u1025\u102e٣٤"
    + "\u200b\u200d\ufeff\xad\u180e\u061c\u202e\u2060\ufff9\x00\x07\x0b\x0c\r\t\x1c\x85\xa0\u3000\u2028\u2029"
    + "‘’‚“”„「」『』‐–—―─…·•"
    + "😀👩🇨\U00020000\U0002f800\U0001d400\U000e0067\U000110bd\ue000\uffff"
)
SURROGATES: Final = "\ud83d\ude00\udc00\ud800"

simple_texts: Final = st.text(st.sampled_from(SIMPLE_ALPHABET), max_size=80)
mixed_texts: Final = st.one_of(
    st.text(st.sampled_from(MIXED_ALPHABET), max_size=60),
    st.text(st.sampled_from(MIXED_ALPHABET + SURROGATES), max_size=40),
    st.text(st.characters(), max_size=40),
    st.lists(st.sampled_from(SENTENCES), max_size=4).map("".join),
    st.lists(st.one_of(st.sampled_from(SENTENCES), st.text(st.sampled_from(MIXED_ALPHABET), max_size=9)), max_size=5).map(
        "".join
    ),
)  # fmt: skip
page_texts: Final = st.one_of(simple_texts, mixed_texts)
pages_of_texts: Final = st.lists(page_texts, max_size=6)

_SYLLABLES: Final = "".join(chr(code) for code in range(0x4E00, 0x9FA0, 7))
_LETTERS: Final = "etaoinshrdlu"


def article(seed: int, *, sentences: int = 30, language: str = "zh") -> str:
    """Text of random sentences, with full stops and commas (``zh``) or words (``en``); one per seed."""
    rng = random.Random(seed)
    if language == "en":
        words = ["".join(rng.choices(_LETTERS, k=rng.randint(2, 9))) for _ in range(sentences * 12)]
        return " ".join(word + ("." if place % 12 == 11 else "") for place, word in enumerate(words))
    clauses = ["".join(rng.choices(_SYLLABLES, k=rng.randint(4, 18))) for _ in range(2 * sentences)]
    return "".join(clause + ("。" if place % 2 else "，") for place, clause in enumerate(clauses))


def every_character() -> str:
    """All code points, surrogates included."""
    return "".join(map(chr, range(sys.maxunicode + 1)))


def invisible(character: str) -> bool:
    """Control, format and surrogate characters, but for ends of lines and tab."""
    return character not in "\n\r\t" and unicodedata.category(character) in ("Cc", "Cf", "Cs")


def topical(seed: int, *, sentences: int = 60) -> str:
    """Chinese text of random sentences over forty common characters of its own, the first ones more often."""
    rng = random.Random(seed)
    level_1 = [bytes((row, cell)).decode("gb2312") for row in range(0xB0, 0xD7) for cell in range(0xA1, 0xFF)]
    alphabet = rng.sample(level_1, 40)
    weights = [1 / (rank + 3) for rank in range(len(alphabet))]
    return "".join(
        "".join(rng.choices(alphabet, weights, k=rng.randint(8, 16))) + "。" for _ in range(sentences)
    )
