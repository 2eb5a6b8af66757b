"""Notices of rights and consent at the edges of a text are no text; a text about rights is one."""

from __future__ import annotations

import pytest

from es_dedup.extraction import extract
from es_dedup.extraction.notices import is_notice, without_notices
from es_dedup.model import PageKind
from tests.texts import FERRY

NOTICES = [
    "免责声明：本文仅代表作者个人观点，与本网无关，请读者仅作参考，版权归原作者。",
    "版权声明：凡本网注明来源的作品，未经授权，不得转载、摘编，违者将追究法律责任。",
    "Copyright 2026 The Paper. All rights reserved. No part may be reproduced.",
    "We use cookies to improve your experience on this site. By continuing you accept our policy.",
]


@pytest.mark.parametrize(
    "line",
    [
        *FERRY,
        "法院认为，该公司侵权，应当赔偿。",
        "The author holds the copyright.",
        "版权和授权的历史。" * 60,
        "Bake the cookies for ten minutes, and let them cool.",
        "",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert not is_notice(line)


def test_notices_between_paragraphs_stay() -> None:
    lines = [NOTICES[0], FERRY[0], NOTICES[1], FERRY[1], NOTICES[2], NOTICES[3]]
    assert without_notices([0, 1, 2, 3, 4, 5], lines) == [1, 2, 3]
    assert without_notices([0, 2], lines) == []
    assert without_notices([], lines) == []


@pytest.mark.parametrize("notice", NOTICES)
def test_a_page_keeps_none_behind_its_text(notice: str) -> None:
    page = f"<body><div>{''.join(f'<p>{line}</p>' for line in FERRY * 2)}<p>{notice}</p></div>"
    assert notice not in extract(page).text


def test_a_page_of_notices_alone_has_no_text_and_says_so() -> None:
    found = extract(f"<body><div><p>{NOTICES[1]}</p></div></body>")
    assert found.text == ""
    assert found.kind is PageKind.EMPTY
    assert "only notices" in found.notes[0]
