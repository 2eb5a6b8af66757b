"""What scripts hold as data, in the forms that programs write."""

from __future__ import annotations

import json

import pytest

from es_dedup.extraction import extract
from es_dedup.extraction.reading.hydration import states
from tests.texts import FERRY

ONE, TWO = FERRY
BOTH = f"{ONE}\n{TWO}"
MARKUP = f"<p>{ONE}</p><p>{TWO}</p>"
POST = {"post": {"title": "Ferry", "content": BOTH}}

SCRIPTS = {
    "next": f'<script id="__NEXT_DATA__" type="application/json">{json.dumps({"props": {"article": {"body": MARKUP}}})}</script>',
    "code behind it": f"<script>window.__INITIAL_STATE__ = {json.dumps(POST)};(function(){{var s;}}());</script>",
    "apollo": f"<script>window.__APOLLO_STATE__={json.dumps({'Post:1': {'__typename': 'Post', 'body': MARKUP}})}</script>",
    "article body": f'<script type="application/ld+json">{json.dumps({"@type": "Article", "articleBody": BOTH})}</script>',
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_the_text_is_found_in_the_state(script: str) -> None:
    content = extract(f"<html><title>Ferry</title><body><div id=root></div>{script}</body></html>")
    assert content.text == BOTH
    assert content.why is not None
    assert content.why.rule == "data in a script"


def test_a_page_of_bokeh_is_read() -> None:
    """As Bokeh 3.9.2 writes a document with one ``Div`` (``file_html``), without its code: the text stands in JSON alone."""
    shown = MARKUP.replace("<", "&lt;").replace(">", "&gt;")
    div = {"type": "object", "name": "Div", "id": "p1006", "attributes": {"text": shown}}
    column = {"type": "object", "name": "Column", "id": "p1041", "attributes": {"children": [div]}}
    data = {"143b6a3a": {"version": "3.9.2", "title": "Bokeh Application", "roots": [column]}}
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Ferry</title></head><body>'
        '<div id="b73eaa21" data-root-id="p1041" style="display: contents;"></div>'
        f'<script type="application/json" id="d4b4311c">{json.dumps(data)}</script></body></html>'
    )
    assert extract(page).text == BOTH


@pytest.mark.parametrize(
    "script", ["window.x = {" + "," * 90, "window.x = " + "[" * 90_000, 'window.x = {"a": undefined, }']
)
def test_broken_scripts_give_nothing(script: str) -> None:
    assert list(states([({}, script)])) == []
