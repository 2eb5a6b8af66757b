"""Corpora made by construction: distinct texts that share a template, with planted copies, for the quality gate.

Every row of a set but its planted copies is distinct, so each merge of two of them loses a row. Articles are those of the labelled
sets, code that of the Python standard library; rows of forms are filled from lists of names. Copies are re-typed, cut, edited or
given a banner; edits never touch the figures and names of a form, where such an edit is the difference between two rows.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup import Deduplicator
from es_dedup.model import Page
from es_dedup.readers import InputFailure, read_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from es_dedup import Settings

ROOT: Final = Path(__file__).resolve().parent.parent
COPIES: Final = 60
SHINGLE: Final = 8  # characters; enough in both scripts to tell articles apart
OVERLAP: Final = 0.25  # articles that share more of their shingles with one chosen before are not distinct
CODE_CHARS: Final = range(700, 2_500)


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """A corpus whose rows share a template.

    Attributes:
        name: of the set.
        rows: distinct rows, by page id.
        copies: planted copies: page id to its text and the page id of the row it repeats.
        form: rows of a form, which differ by names and figures only.
        title: of every page: none, or the name of the site.
    """

    name: str
    rows: dict[str, str]
    copies: dict[str, tuple[str, str]] = field(default_factory=dict)
    form: bool = False
    title: str = ""

    def pages(self) -> list[Page]:
        """All pages: rows and copies, in an order that says nothing of either."""
        texts = self.rows | {name: text for name, (text, _) in self.copies.items()}
        names = sorted(texts)
        random.Random(7).shuffle(names)
        return [Page(id=name, text=texts[name], title=self.title or None) for name in names]

    def lost_and_found(self, settings: Settings | None = None) -> tuple[int, int]:
        """The rows whose cluster has another one, and the copies in the cluster of their row, one that contains it, or one that it contains."""
        head, around = clustered(self.pages(), settings)
        lost = len(self.rows) - len({head[row] for row in self.rows})
        return lost, sum(bool(around[copy] & around[row]) for copy, (_, row) in self.copies.items())


def clustered(
    pages: Iterable[Page], settings: Settings | None = None
) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Of each page, after a scan in memory: its canonical document, and this with those of the clusters that contain its own."""
    with Deduplicator.open(":memory:", settings=settings) as dedup:
        dedup.scan(pages)
        clusters = list(dedup.clusters())
    by_id = {cluster.id: cluster.canonical for cluster in clusters}
    head, around = {}, {}
    for cluster in clusters:
        for page in (cluster.canonical, *(member.page_id for member in cluster.members)):
            head[page] = cluster.canonical
            around[page] = {cluster.canonical, *(by_id[other] for other in cluster.contained_in)}
    return head, around


def template_sets(folder: Path) -> Iterator[TemplateSet]:
    """All sets.

    Args:
        folder: with the labelled sets ``news-en`` and ``news-zh-2025``.
    """
    english, chinese = (
        distinct_articles(folder / f"{name}.jsonl.xz", 500) for name in ("news-en", "news-zh-2025")
    )
    code = source_code(400)
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")[:800]
    made = _word_articles
    for name, banner in BANNERS.items():
        articles = {"en": english, "zh": chinese}.get(name) or made(name, 500)
        long = banner * -(-(1_200 if name not in ("zh", "ja") else 300) // len(banner))
        yield planted(f"banner on top, {name}", [f"{long}\n\n{text}" for text in articles])
        yield planted(f"disclaimer at the end, {name}", [f"{text}\n\n{long}" for text in articles])
        half = [len(text) // 2 for text in articles]
        yield planted(
            f"notice in the middle, {name}",
            [f"{text[:at]}\n{long}\n{text[at:]}" for text, at in zip(articles, half, strict=True)],
        )
    yield planted("site's name as title, en", english, title="The Harbour Gazette")
    yield planted("site's name as title, zh", chinese, title="海港新闻网")
    yield planted(
        "banner longer than the article, en",
        [f"{_long(BANNERS['en'], 3_000)}\n{text[:900]}" for text in english],
    )
    yield planted("source code under a licence", [f"# {licence}\n\n{text}" for text in code])
    yield planted("chat rows", list(chat_rows(400)))
    yield planted("function calls", list(function_calls(400)))
    yield planted("answers above one quoted letter", list(answers(english)))
    yield planted("reference pages", list(reference_pages()))
    for name, maker in FORMS.items():
        yield planted(name, list(maker(400)), form=True)
    for title, maker in UNDER_ONE_TITLE.items():
        yield planted(f"rows under the title {title}", list(maker(400)), form=True, title=title)


def distinct_articles(file: Path, count: int) -> list[str]:
    """Texts of a labelled set of which none shares more than ``OVERLAP`` of its shingles with one before it."""
    texts = map(_text_of, read_pages([file]))
    return list(islice(_distinct((text for text in texts if 600 <= len(text) <= 6_000), OVERLAP), count))


def _text_of(item: Page | InputFailure) -> str:
    if isinstance(item, InputFailure):
        raise SystemExit(f"error: {item}")
    return item.text or ""


def _distinct(texts: Iterable[str], most: float) -> Iterator[str]:
    """Texts of which none shares more than this share of its shingles with those before it."""
    seen: set[int] = set()
    for text in texts:
        shingles = {hash(text[at : at + SHINGLE]) for at in range(len(text) - SHINGLE)}
        if len(shingles & seen) <= most * len(shingles):
            seen |= shingles
            yield text


def source_code(count: int) -> list[str]:
    """Functions and classes of the Python standard library, of which no two are alike."""
    parts = (
        ast.get_source_segment(source, node) or ""
        for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
        for source in (file.read_text(encoding="utf-8", errors="replace"),)
        for node in ast.parse(source).body
    )
    chosen = list(_distinct((text for text in parts if len(text) in CODE_CHARS), 2 * OVERLAP))
    random.Random(5).shuffle(chosen)
    return chosen[:count]


def planted(name: str, texts: Sequence[str], *, form: bool = False, title: str = "") -> TemplateSet:
    """A set of these rows with copies of some of them."""
    source = random.Random(name)
    rows = {f"row-{at:04}": text for at, text in enumerate(dict.fromkeys(texts))}
    edits: tuple[Callable[[str, random.Random], str], ...] = (retyped, spaced)
    if not form:
        edits += (
            cut,
            lambda text, source: edited(text, source, 0.02),
            lambda text, source: edited(text, source, 0.04),
        )
    copies = {}
    for at, row in enumerate(source.sample(sorted(rows), min(COPIES, len(rows)))):
        edit = edits[at % len(edits)]
        copies[f"{row}-copy-{edit.__name__.strip('<>')}-{at}"] = (edit(rows[row], source), row)
    return TemplateSet(name, rows, copies, form, title)


def retyped(text: str, _: random.Random) -> str:
    """The text in capitals, or with other punctuation."""
    return text.upper() if text.upper() != text else text.replace("，", ",").replace("。", "．")


def spaced(text: str, _: random.Random) -> str:
    """The text with wider spaces and an empty line at its end."""
    return re.sub(r"[ \t]+", "  ", text) + "\n\n"


def cut(text: str, _: random.Random) -> str:
    """The first 85 % of the text."""
    return text[: int(0.85 * len(text))]


def edited(text: str, source: random.Random, share: float) -> str:
    """The text with a share of its words replaced by others of it, never one with a figure."""
    words = re.findall(r"[^\W\d_]+|[\W\d_]+", text)
    if sum(map(len, words)) / max(len(words), 1) > 8:  # no spaces between words: a word is two characters
        words = re.findall(r"[^\W\d_]{2}|.", text, re.DOTALL)
    places = [at for at, word in enumerate(words) if word.isalpha()]
    for at in source.sample(places, max(1, int(share * len(places)))):
        words[at] = words[source.choice(places)]
    return "".join(words)


def _long(text: str, chars: int) -> str:
    return (text * -(-chars // len(text)))[:chars]


BANNERS: Final = {
    "en": "We and our partners store and access information on a device, such as cookies, and process personal data, such as unique "
    "identifiers and standard information sent by a device, for personalised advertising and content, audience research and the "
    "development of services. With your permission we may use precise location data. You may click to consent to this processing, "
    "or click to refuse. Your preferences apply to this website only; you can change them at any time by returning to this site. ",
    "zh": "免责声明：本网转载内容均注明出处，转载是出于传递更多信息之目的，并不意味着赞同其观点或证实其内容的真实性。如涉及版权问题，请作者在两周内与本网联系，"
    "我们将及时更正或删除。未经书面授权，任何单位及个人不得复制、镜像本站文章，违者将依法追究责任。投资有风险，入市需谨慎，文中观点不构成任何建议。",
    "de": "Wir und unsere Partner speichern Informationen auf einem Gerät, beispielsweise Cookies, und verarbeiten personenbezogene Daten wie "
    "eindeutige Kennungen für Anzeigen und Inhalte, die Messung der Leistung und die Entwicklung von Angeboten. Mit Ihrer Erlaubnis "
    "dürfen wir genaue Standortdaten verwenden. Sie können zustimmen oder ablehnen und Ihre Wahl jederzeit auf dieser Seite ändern. ",
    "ja": "当サイトに掲載されている記事、写真、図表などの無断転載を禁じます。掲載内容の正確性については万全を期しておりますが、利用者が当サイトの情報を用いて行う"
    "一切の行為について、当社は責任を負うものではありません。詳しくは利用規約とプライバシーポリシーをご覧ください。お問い合わせは窓口までお願いいたします。",
    "ko": "이 사이트에 실린 기사와 사진을 허락 없이 옮겨 싣는 것을 금합니다. 저희와 협력사는 기기에 쿠키를 저장하고 맞춤 광고와 방문자 조사를 위해 개인 정보를 처리합니다. "
    "동의하거나 거부할 수 있으며 선택은 언제든지 설정에서 바꿀 수 있습니다. 자세한 내용은 이용 약관과 개인 정보 처리 방침을 확인하시기 바랍니다. ",
    "ar": "نستخدم نحن وشركاؤنا ملفات تعريف الارتباط لتخزين المعلومات على جهازك ومعالجة البيانات الشخصية من أجل الإعلانات والمحتوى وقياس الأداء. "
    "يمكنك الموافقة أو الرفض وتغيير اختيارك في أي وقت من إعدادات هذا الموقع. لا يجوز نسخ مواد الموقع دون إذن كتابي من الناشر. ",
    "hi": "हम और हमारे साझेदार आपके उपकरण पर कुकीज़ रखते हैं और विज्ञापन, सामग्री तथा पाठकों के अध्ययन के लिए निजी जानकारी का उपयोग करते हैं। आप सहमति दे सकते हैं या मना कर "
    "सकते हैं और अपना निर्णय इस साइट की सेटिंग में कभी भी बदल सकते हैं। बिना लिखित अनुमति के इस साइट की सामग्री को कहीं और छापना मना है। ",
}
VOCABULARY: Final = {
    "de": "Brücke Hafen Rathaus Sommer Fluss Gemeinde Lehrerin Zug Ernte Wald Museum Kapitän Straße Markt Konzert Schule Winter Antrag Bericht "
    "Halle Forschung Wetter Küste Fähre Insel Gericht Urteil Vertrag Klinik Garten Werkstatt Orchester Bibliothek Bahnhof Turm Messe Verein "
    "öffnet plant baut prüft verkauft findet beginnt endet wächst sinkt steigt fährt zeigt sucht lehnt fordert meldet feiert verliert gewinnt "
    "neue alte kleine große lange kurze frühe späte teure leise helle dunkle warme kalte heute gestern morgen bald oft selten wieder endlich".split(),
    "ja": [*"橋港市夏川町駅山森館海島道店校冬畑庁船空雨雪春秋朝夜人声家会場席本紙石木火水土金星月花"],
    "ko": "다리 항구 시청 여름 강물 마을 교사 기차 수확 숲길 박물관 선장 시장 공연 학교 겨울 신청 보고서 연구 날씨 해안 섬 법원 판결 계약 병원 정원 "
    "도서관 탑 대회 협회 새로운 오래된 작은 커다란 긴 짧은 이른 늦은 조용한 밝은 따뜻한 오늘 어제 내일 자주 다시 마침내 열렸다 계획했다 지었다 찾았다".split(),
    "ar": "الجسر الميناء البلدية الصيف النهر القرية المعلمة القطار الحصاد الغابة المتحف القبطان السوق الحفل المدرسة الشتاء الطلب التقرير البحث الطقس "
    "الساحل الجزيرة المحكمة الحكم العقد المستشفى الحديقة المكتبة البرج المعرض الجمعية الجديد القديم الصغير الكبير الطويل القصير اليوم أمس غدا".split(),
    "hi": "पुल बंदरगाह नगर गर्मी नदी गाँव शिक्षक रेल फसल जंगल संग्रहालय कप्तान बाज़ार संगीत विद्यालय सर्दी आवेदन रिपोर्ट शोध मौसम तट द्वीप न्यायालय "
    "निर्णय अनुबंध अस्पताल बगीचा पुस्तकालय मीनार मेला संघ नया पुराना छोटा बड़ा लंबा सुबह शाम आज कल फिर अक्सर खुला बना मिला बढ़ा".split(),
}


def _word_articles(language: str, count: int) -> list[str]:
    """Articles of random sentences."""
    source, words = random.Random(language), VOCABULARY[language]
    space, stop = ("", "。") if language == "ja" else (" ", ". ")
    return [
        stop.join(
            space.join(source.choices(words, k=source.randint(7, 15))) for _ in range(source.randint(10, 30))
        )
        + stop
        for _ in range(count)
    ]


PLACES: Final = {
    "zh": "临川 平阳 石桥 青浦 安定 永宁 长岭 东港 南岸 西塘 北原 新河 太和 玉泉 金沙 白水 龙门 凤台 云岭 海晏".split(),
    "en": "Ashford Bexley Corston Dunmore Elmham Farleigh Granby Harwell Ingham Kelso Ludlow Marston Norbury Oakley Penrith Ripley "
    "Selby Thirsk Upton Wells".split(),
}
NAMES: Final = "Alder Birch Cedar Dahlia Elm Fern Gorse Hazel Iris Juniper Laurel Maple Nettle Olive Poppy Quince Rowan Sage Teasel Willow".split()
THINGS: Final = "kettle lamp chair drill rucksack bicycle tent clock blanket mirror bench ladder radio scale saw pump stove shelf table fan".split()
TOPICS: Final = (
    "book a table for {n} at {name} in {place}; find the cheapest train from {place} to {other}; translate the letter of {name} into German; "
    "what does a {thing} cost in {place}; convert {n} miles to kilometres for {name}; remind me to return the {thing} to {name}; "
    "how do I mend a {thing} that {name} dropped in {place}; compare the {thing} and the {second}; list the museums of {place} and {other}; "
    "write a poem on {place} for {name}; sum the invoices of {name} from {n}; who repairs a {thing} near {other}"
).split("; ")


def _filled(pattern: str, source: random.Random, place: Sequence[str]) -> str:
    one, two = source.sample(list(place), 2)
    first, second = source.sample(THINGS, 2)
    return pattern.format(
        n=source.randint(2, 990), m=source.randint(10, 9_990), k=source.randint(1, 28), f=f"{source.uniform(0.5, 99):.1f}",
        g=f"{source.uniform(0.5, 99):.1f}", name=source.choice(NAMES), place=one, other=two, thing=first, second=second,
    )  # fmt: skip


def _rows(pattern: str | Sequence[str], language: str) -> Callable[[int], Iterable[str]]:
    def rows(count: int) -> Iterable[str]:
        source = random.Random(str(pattern))
        made: dict[str, None] = {}
        while len(made) < count:
            chosen = pattern if isinstance(pattern, str) else source.choice(pattern)
            made[_filled(chosen, source, PLACES[language])] = None
        return made

    return rows


def function_calls(count: int) -> Iterable[str]:
    """Rows of one preamble with other tools and another question."""
    source = random.Random(11)
    preamble = (
        "SYSTEM: You are a helpful assistant with access to the following functions. Use them if required. Answer in plain words, do not "
        "guess values, ask for what is missing, and return a JSON object with the name of the function and its arguments. "
    )
    for _ in range(count):
        tools = ", ".join(
            f'{{"name": "{source.choice(("get", "find", "make", "send", "count", "check"))}_{source.choice(THINGS)}", "description": '
            f'"{_filled(source.choice(TOPICS), source, PLACES["en"])}", "parameters": {{"{source.choice(NAMES).lower()}": "string"}}}}'
            for _ in range(source.randint(1, 3))
        )
        asked = ". ".join(
            _filled(source.choice(TOPICS), source, PLACES["en"]) for _ in range(source.randint(1, 3))
        )
        yield f"{preamble}{tools}\nUSER: {asked}?\nASSISTANT: {_filled(source.choice(TOPICS), source, PLACES['en'])}."


def chat_rows(count: int) -> Iterable[str]:
    """Conversations that open and close with the same words."""
    source = random.Random(12)
    for _ in range(count):
        turns = "\n".join(
            f"{who}: {_filled(source.choice(TOPICS), source, PLACES['en'])}."
            for who in ("Customer", "Agent") * source.randint(2, 5)
        )
        yield (
            "Agent: Welcome to the help desk. This conversation may be recorded for training purposes. How can I help you today?\n"
            f"{turns}\nAgent: Is there anything else I can help you with? Thank you for contacting the help desk, and have a pleasant day."
        )


def answers(articles: Sequence[str]) -> Iterable[str]:
    """Answers to one letter, which each of them quotes below its own text."""
    quoted = "\n> ".join(re.split(r"(?<=\. )", _long(BANNERS["en"], 900)))
    for text in articles:
        for own in re.findall(r"[A-Z].{350,450}?\. ", text, re.DOTALL):
            yield f"Dear all,\n{own}\n\nOn the first of the month the editors wrote:\n> {quoted}"


def reference_pages() -> Iterable[str]:
    """Documented functions of the Python standard library, each on a page with the menu and the footer of its site."""
    menu = "Home Guides Tutorials Reference Community Downloads Index Search Modules Previous Next Report an issue Show source "
    footer = "Was this page helpful? Yes No. Report an issue or edit this page. This documentation is free software and comes without warranty."
    said = (
        f"{file.stem}.{node.name}({ast.unparse(node.args)})\n\n{ast.get_docstring(node)}"
        for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8", errors="replace")))
        if isinstance(node, ast.FunctionDef) and len(ast.get_docstring(node) or "") > 300
    )
    return (f"{menu}\n{text}\n\n{footer}" for text in _distinct(said, 2 * OVERLAP))


FORMS: Final[dict[str, Callable[[int], Iterable[str]]]] = {
    "weather rows, zh": _rows(
        "{place}市气象台发布未来三天天气预报：今天白天到夜间多云转晴，偏北风三到四级，最高气温{n}度，最低气温{k}度，相对湿度百分之{f}，空气质量良。"
        "请市民根据天气变化及时增减衣物，外出注意交通安全，关注后续预报。", "zh"),
    "weather rows, en": _rows(
        "Forecast for {place}: cloudy with sunny spells during the day and light winds from the north. The high will be {n} and the low {k}, with "
        "a humidity of {f} percent. Residents are advised to dress for the weather and to follow later forecasts. Issued by the {other} office.", "en"),
    "price rows, zh": _rows("{place}农贸市场今日价格：白菜每公斤{f}元，萝卜每公斤{g}元，共成交{m}公斤。以上价格仅供参考，以当日市场实际成交为准。", "zh"),
    "product rows, en": _rows(
        "{name} {thing}, model {m}. Durable, easy to clean and made for daily use. Weight {f} kg. Free delivery on orders over 50. Two years' "
        "warranty. Add to basket. Customers who bought this item also bought the {second}. Price: {n}.99. Returns accepted within 30 days.", "en"),
    "property rows, en": _rows(
        "{k} bedroom house for sale in {place}, close to shops, schools and the station. The property has a fitted kitchen, gas central heating, "
        "a garden to the rear and off-street parking. Floor area {m} square feet. Offers over {n},000. Viewing by appointment with {name} & Sons.", "en"),
    "certificates, zh": _rows(
        "兹证明{place}第{m}号申请人已按规定完成登记，所提交材料齐全，符合法定形式，准予发证。有效期至二〇三〇年十二月{k}日。特此证明。发证机关：{other}登记中心。", "zh"),
    "sports rows, en": _rows(
        "{place} beat {other} {n} to {k} in the regional league on Saturday. {name} scored first and was named player of the match. Attendance: {m}. "
        "The next round will be played in two weeks; tickets are on sale at the club's office.", "en"),
    "letters, en": _rows(
        "Dear {name}, thank you for your letter of the {k}th. Your claim number {m} has been received by our office in {place} and will be "
        "processed within ten working days. Please keep this letter for your records and quote the number in all correspondence. Yours "
        "sincerely, the claims department, {other}.", "en"),
    "public notices, en": _rows(
        "Notice is given that {name} Ltd has applied to the council of {place} for leave to build {n} dwellings and a {thing} works on land off "
        "{other} Road, application {m}. The plans may be seen at the town hall during opening hours. Objections must reach the clerk in "
        "writing within 21 days of this notice and state the grounds on which they are made.", "en"),
    "tables, en": _rows(
        "Item | Stock | Price | Depot\n{thing} | {n} | {f} | {place}\n{second} | {k} | {g} | {other}\n{name} set | {m} | 12.50 | {place}\n"
        "Prices exclude tax. Stock is counted on Sundays. Depots are closed on public holidays.", "en"),
}  # fmt: skip


UNDER_ONE_TITLE: Final[dict[str, Callable[[int], Iterable[str]]]] = {
    "Your order": _rows(
        "Thank you for your order, number {m}{n}. We have received your payment and send the parcel within 3 working days. Our couriers deliver "
        "between 8 am and 6 pm; if nobody is at home, the parcel is left with a neighbour or taken to the depot, where it is kept for 14 days. "
        "Unused goods may be returned within 30 days of delivery. Please quote the number in all letters to customer services.", "en"),
    "国债发行公告": _rows(
        "为筹集财政资金，支持国民经济和社会事业发展，决定发行记账式贴现国债，期限为91天，本期国债竞争性招标面值总额为{m}亿元。本期国债以低于票面金额的"
        "价格贴现发行，到期按面值偿还。招标时间为上午10点35分至11点35分，招标结束后进行分销，分销结束后上市交易。招标方式采用单一价格招标，标的为价格。", "zh"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StorySet:
    """Distinct articles, and one story in many edited copies.

    Attributes:
        name: of the set.
        articles: distinct texts, by page id.
        copies: texts of the story, by page id.
        held: False of a set whose figure is only reported.
    """

    name: str
    articles: dict[str, str]
    copies: dict[str, str]
    held: bool = True

    def pages(self) -> list[Page]:
        """All pages, in an order that says nothing of them."""
        texts = self.articles | self.copies
        names = sorted(texts)
        random.Random(7).shuffle(names)
        return [Page(id=name, text=texts[name]) for name in names]


def story_sets(folder: Path, counts: Sequence[int] = (50, 300)) -> Iterator[StorySet]:
    """Stories with some numbers of copies of two to four edits in a hundred words: bare, below a banner, and between changing lines of their sites.

    Args:
        folder: with the labelled sets ``news-en`` and ``news-zh-2025``.
        counts: of copies of each story.
    """
    for language, file in (("en", "news-en"), ("zh", "news-zh-2025")):
        articles = distinct_articles(folder / f"{file}.jsonl.xz", 140)
        prose = sorted(articles[:40], key=lambda text: sum(map(str.isdigit, text)) / len(text))
        story, others = max(prose[:20], key=len), articles[40:80]
        rest = {f"article-{at}": text for at, text in enumerate(articles[80:])}
        lines = [line for text in others for line in re.split(r"(?<=[.。])", text) if len(line.strip()) > 8]
        banner = _long(BANNERS[language], len(story) // 3)
        for count in counts:
            source = random.Random(f"{language}{count}")
            copies = [edited(story, source, source.uniform(0.02, 0.04)) for _ in range(count)]
            yield StorySet(f"{count} copies, {language}", rest, _named(copies))
            yield StorySet(
                f"{count} copies below a banner, {language}", rest, _named([banner + text for text in copies])
            )
            for share in (0.05, 0.15, 0.25):
                framed = [_framed(text, lines, share, source) for text in copies]
                yield StorySet(
                    f"{count} copies in {share:.0%} changing lines, {language}",
                    rest,
                    _named(framed),
                    held=False,
                )


def _named(texts: Sequence[str]) -> dict[str, str]:
    return {f"copy-{at:04}": text for at, text in enumerate(texts)}


def _framed(text: str, lines: Sequence[str], share: float, source: random.Random) -> str:
    """The text between lines of other texts that make up a share of the whole."""
    size = share / (1 - share) * len(text)
    frame: list[str] = []
    while sum(len(line) for line in frame) < size:
        frame.append(source.choice(lines)[: int(size) + 1])
    half = len(frame) // 2
    return "\n".join([*frame[:half], text, *frame[half:]])
