"""What every detector must do: one test per sentence of the port.

A detector's test class inherits ``DetectorContract`` and supplies a fixture ``detector``. It may override
``contents`` (ordinary pages, some of them near-duplicates), ``poor`` (pages that give the method nothing) and
``tags`` (the tags of its terms).
"""

from __future__ import annotations

import copy
import json
import random
import re
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Final

import pytest

from es_dedup.model import Content, Relation, Skipped, Verdict

if TYPE_CHECKING:
    from es_dedup.detectors.port import Detector

TERM_BITS: Final = 48
TAG_BITS: Final = 40
SEED: Final = 20261121
HOSTILE: Final = {
    "control characters": "\x00\x01\x07\x0b\x0c\x1b\x7f\x85\r\n\t\ufeff\u200b" * 50,
    "controls between words": "网\x00页\u200b去\ufeff重。" * 60,
    "one letter": "a" * 100_000,
    "one ideograph": "好" * 100_000,
    "one full stop": "。" * 100_000,
    "one digit": "7" * 100_000,
    "one space": " " * 100_000,
    "one combining mark": "a" + "\u0301" * 20_000,
    "one sentence": "泵站完成检修。" * 15_000,
    "emoji": "😀👩\u200d👩\u200d👧🇨🇳👍🏽。" * 200,
    "lone surrogates": "甲\ud800乙\udfff丙\udc00。丁\ud83d" * 50,
    "surrogates alone": "\ud800\udc00" * 10,
    "mixed scripts": "网页 page страница σελίδα صفحة पृष्ठ ページ 페이지。 " * 40,
    "right to left": "\u202e\u0627\u0644\u0639\u0631\u0628\u064a\u0629\u202c。" * 40,
    "other planes": "\U00020000\U0002a6d6\U0001d400\U000e0067\U0010ffff。" * 40,
    "numbers": "1,234.56 12:30 三十五万 二〇二六年 3.14。" * 40,
    "many short lines": "甲\n" * 5_000,
}


def ordinary_contents() -> list[Content]:
    """Pages of random Chinese and English sentences, some of them cut or lengthened copies; always the same."""
    rng = random.Random(SEED)  # noqa: S311 - seeded, no secrets

    def sentence(language: str) -> str:
        if language == "zh":
            clauses = (
                "".join(chr(rng.randrange(0x4E00, 0x9F00)) for _ in range(rng.randint(5, 14))) for _ in "ab"
            )
            return "，".join(clauses) + f"{rng.randrange(100)}年。"
        return " ".join("".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 8))) for _ in range(10)) + ".。 "

    contents = []
    for language, count in (("zh", 4), ("zh", 30), ("en", 30), ("zh", 300)):
        sentences = [sentence(language) for _ in range(count)]
        for part in (sentences, sentences[: max(3, count // 2)], [*sentences[1:], sentence(language)]):
            title = part[0][:16]
            contents.append(
                Content("".join(part), title=title, language=language, url="https://example.com/a")
            )
    return contents


class DetectorContract:
    """One test per guarantee of ``Detector``."""

    @pytest.fixture
    def detector(self) -> Detector[Any]:
        """The detector under test."""
        raise NotImplementedError

    @pytest.fixture
    def contents(self) -> list[Content]:
        """Pages the detector has features of; neighbours are near-duplicates."""
        return ordinary_contents()

    @pytest.fixture
    def poor(self) -> list[Content]:
        """Pages that give the method nothing to compare."""
        return [*map(Content, ("", " \n\t", "。！？…", "\x00\u200b")), Content("", title="泵站")]

    @pytest.fixture
    def tags(self) -> frozenset[int]:
        """Tags (upper 8 of 48 bits) of the detector's terms."""
        raise NotImplementedError

    @pytest.fixture
    def features(self, detector: Detector[Any], contents: list[Content]) -> list[Any]:
        found = detector.featurise_many(contents)
        assert not [one for one in found if isinstance(one, Skipped)]
        return found

    def test_name_and_version_are_usable_as_keys(self, detector: Detector[Any]) -> None:
        assert detector.name == detector.name.lower()
        assert detector.name.isidentifier()
        assert isinstance(detector.version, int)
        assert detector.version >= 1

    def test_features_depend_on_the_page_alone(
        self, detector: Detector[Any], contents: list[Content], poor: list[Content]
    ) -> None:
        mixed = [*contents, *poor]
        given = copy.deepcopy(mixed)
        alone = [detector.featurise(content) for content in mixed]
        assert mixed == given
        assert detector.featurise_many(mixed) == alone
        assert detector.featurise_many(mixed[::-1]) == alone[::-1]
        assert [*detector.featurise_many(mixed[:5]), *detector.featurise_many(mixed[5:])] == alone
        assert detector.featurise_many([mixed[0]] * 3) == [alone[0]] * 3
        assert detector.featurise_many([]) == []

    def test_answers_depend_on_the_features_alone_and_do_not_change_them(
        self, detector: Detector[Any], contents: list[Content]
    ) -> None:
        first, second = detector.featurise_many(contents), detector.featurise_many(contents)
        answers = [
            [
                (
                    detector.pack(one),
                    detector.terms(one),
                    detector.candidate_query(one),
                    detector.verify(of_page[0], one),
                )
                for one in of_page
            ]
            for of_page in (first, second, first)
        ]
        assert answers[0] == answers[1] == answers[2]

    def test_unrelated_pages_are_different(self, detector: Detector[Any], features: list[Any]) -> None:
        unrelated = features[::3]
        assert all(one != other for at, one in enumerate(unrelated) for other in unrelated[:at])
        assert detector.verify(features[0], features[3]).relation is Relation.DIFFERENT

    def test_pages_with_something_to_compare_and_without(
        self, detector: Detector[Any], contents: list[Content], poor: list[Content], tags: frozenset[int]
    ) -> None:
        for content in contents:
            assert self.check_page(detector, content, tags), content
        for content in poor:
            assert not self.check_page(detector, content, tags), content

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
    def test_hostile_contents_never_raise(
        self, detector: Detector[Any], text: str, tags: frozenset[int]
    ) -> None:
        title = text[:500]
        for content in (Content(text), Content(text, title=title), Content("正常的一句话。", title=title)):
            self.check_page(detector, content, tags)

    def test_pages_find_themselves_and_near_copies_and_verdicts_turn_with_the_pages(
        self, detector: Detector[Any], features: list[Any]
    ) -> None:
        for left, right in combinations_with_replacement(features, 2):
            there, back = detector.verify(left, right), detector.verify(right, left)
            if there.relation.same:
                assert self.finds(detector, left, right)
                assert self.finds(detector, right, left)
            assert back.relation == there.relation.reversed
            assert back.score == there.score
            assert back.evidence.keys() == there.evidence.keys()
            self.check_verdict(detector, there)

    def test_damaged_bytes_are_a_value_error(self, detector: Detector[Any], features: list[Any]) -> None:
        payload = detector.pack(features[0])
        for damaged in (payload[:-1], payload + b"\0", payload[1:]):
            with pytest.raises(ValueError, match=r"\w"):
                detector.unpack(damaged)

    def test_random_bytes_are_a_value_error_or_features(
        self, detector: Detector[Any], features: list[Any]
    ) -> None:
        print(f"seed {SEED}")  # noqa: T201 - random tests print their seed
        rng = random.Random(SEED)  # noqa: S311 - seeded, no secrets
        for number in range(300):
            payload = bytearray(detector.pack(features[number % len(features)]))
            for _ in range(rng.randint(1, 4)):
                payload[rng.randrange(min(len(payload), 60))] = rng.randrange(256)
            payload = payload if number % 3 else bytearray(rng.randbytes(rng.randrange(120)))
            try:
                detector.unpack(bytes(payload))
            except ValueError as error:
                assert str(error)  # noqa: PT017 - either outcome is right

    def check_page(self, detector: Detector[Any], content: Content, tags: frozenset[int]) -> bool:
        """Check all that a detector says of one page; whether it has terms."""
        features = detector.featurise(content)
        if isinstance(features, Skipped):
            assert re.fullmatch(r"[^\W\dA-Z]+(-[^\W\dA-Z]+)*", features.reason)
            return False
        terms, query, payload = (
            detector.terms(features),
            detector.candidate_query(features),
            detector.pack(features),
        )
        assert isinstance(terms, tuple)
        assert len(set(terms)) == len(terms)
        assert all(type(term) is int and 0 <= term < 1 << TERM_BITS for term in terms)
        assert {term >> TAG_BITS for term in terms} <= tags
        for group in query.groups if query else ():
            assert len(set(group.terms)) == len(group.terms)
            assert {term >> TAG_BITS for term in group.terms} <= tags
            assert not terms or 1 <= group.min_shared <= len(group.terms)
        assert not terms or self.finds(detector, features, features)
        assert isinstance(payload, bytes)
        again = detector.unpack(payload)
        assert again == features
        assert (detector.pack(again), detector.terms(again)) == (payload, terms)
        for verdict in (detector.verify(features, features), detector.verify(again, features)):
            self.check_verdict(detector, verdict)
            assert verdict.relation is Relation.DUPLICATE
            assert not terms or verdict.score == 1.0
        return bool(terms)

    @staticmethod
    def finds(detector: Detector[Any], querying: Any, stored: Any) -> bool:
        """Whether the stored terms of one page match the candidate query of another; True without a query."""
        candidate_query = detector.candidate_query(querying)
        terms = frozenset(detector.terms(stored))
        return candidate_query is None or any(
            len(terms & set(group.terms)) >= group.min_shared for group in candidate_query.groups
        )

    @staticmethod
    def check_verdict(detector: Detector[Any], verdict: Verdict) -> None:
        """A verdict carries its method's name, a score in [0, 1], and plain numbers, words and flags: measures and thresholds."""
        assert verdict.detector == detector.name
        assert 0.0 <= verdict.score <= 1.0
        assert isinstance(verdict.relation, Relation)
        assert json.loads(json.dumps(dict(verdict.evidence))) == dict(verdict.evidence)
        assert all(type(value) in (int, float, str, bool) for value in verdict.evidence.values())
        assert {name.startswith(("min_", "max_")) for name in verdict.evidence} == {True, False}
