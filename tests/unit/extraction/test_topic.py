"""The published block method, rule by rule."""

from __future__ import annotations

from es_dedup.extraction import extract
from es_dedup.settings.loading import ExtractionConfig

LONG = "这是正文的第一段，讲述了事情的经过和结果，一共有许多个字，足够作为一个块。" * 2
OTHER = (
    "这是另一个块里的文字，它比正文的块要短一些，但也超过了最少的字数限制，所以不会被删除。"
    + "补充说明。" * 3
)
LINKS = "".join(f'<a href="/{n}">第{n}条新闻的标题在这里</a>' for n in range(20))


def topic(body: str, *, min_block_chars: int = 50) -> str:
    config = ExtractionConfig(extractor="topic", min_block_chars=min_block_chars)
    return extract(f"<html><head><title>t</title></head><body>{body}</body></html>", config=config).text


def test_the_block_with_the_smallest_link_share_wins() -> None:
    assert topic(f"<div>{LINKS}{OTHER}</div><div>{LONG}<a href=x>一</a></div>") == LONG + "一"


def test_equal_shares_are_decided_by_the_longest_text() -> None:
    assert topic(f"<div>{OTHER}</div><div>{LONG * 2}</div>") == LONG * 2


def test_inner_blocks_are_dropped_for_the_block_around_them() -> None:
    assert topic(f"<div>引言<p>{LONG}</p><p>{OTHER}</p></div>") == f"引言\n{LONG}\n{OTHER}"


def test_hidden_blocks_are_deleted() -> None:
    assert topic(f'<div>{OTHER}</div><div style="visibility: hidden">{LONG * 3}</div>') == OTHER
    assert topic(f'<div>{OTHER}</div><div style="display:none"><div>{LONG * 3}</div></div>') == OTHER
    assert topic(f"<div>{OTHER}</div><div hidden>{LONG * 3}</div>") == OTHER


def test_hiding_everything_is_undone() -> None:
    assert topic(f'<div style="visibility: hidden">{LONG}</div>') == LONG


def test_children_that_look_alike_are_replaced_by_their_parent() -> None:
    child = '<div class="item"><p>{}</p></div>'
    body = f"<div>{child.format(LONG)}{child.format(OTHER)}</div>"
    assert topic(body) == f"{LONG}\n{OTHER}"


def test_children_that_look_different_stand_for_themselves() -> None:
    body = f'<div>{LINKS}<div class="a"><p>{LONG}</p></div><div class="b"><p>{LINKS}</p></div></div>'
    assert topic(body) == LONG


def test_narrow_blocks_are_deleted() -> None:
    wide, narrow = '<table width="100%"><tr><td>{}</table>', '<table width="30%"><tr><td>{}</table>'
    assert topic(wide.format(OTHER) + narrow.format(LONG * 3)) == OTHER


def test_pixels_are_held_against_the_widest_block() -> None:
    body = '<div style="width: 960px"><p>{}</p></div><div style="width:300px"><p>{}</p></div>'
    assert topic(body.format(OTHER, LONG * 3)) == OTHER


def test_unknown_widths_are_kept_and_a_rule_that_leaves_nothing_is_undone() -> None:
    assert topic(f'<div>{LONG}</div><div style="width: auto">{OTHER}</div>') == LONG
    assert topic(f'<div width="10%">{LONG}</div>') == LONG


def test_short_blocks_are_not_chosen() -> None:
    assert topic(f"<div>短文字</div><div>{LONG}<a>链接</a></div>") == LONG + "链接"
    assert topic("<div>短文字</div><div>更短</div>", min_block_chars=2) == "短文字"
