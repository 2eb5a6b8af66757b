"""What scripts hold as data, in the forms that frameworks write."""

from __future__ import annotations

import json

import pytest

from es_dedup.extraction import extract
from es_dedup.extraction.reading.hydration import first_value, states
from tests.texts import FERRY

ONE, TWO = FERRY
BOTH = f"{ONE}\n{TWO}"
MARKUP = f"<p>{ONE}</p><p>{TWO}</p>"
POST = {"post": {"title": "Ferry", "content": BOTH}}


def pushed(row: str) -> str:
    return f"<script>self.__next_f.push([1,{json.dumps(row)}])</script>"


def element(text: str) -> str:
    return json.dumps(["$", "p", None, {"children": text}])


SCRIPTS = {
    "next": f'<script id="__NEXT_DATA__" type="application/json">{json.dumps({"props": {"article": {"body": MARKUP}}})}</script>',
    "parts of a text": '<script id="__NEXT_DATA__" type="application/json">'
    + json.dumps({"parts": [{"type": "paragraph", "text": ONE}, {"type": "paragraph", "text": TWO}]})
    + "</script>",
    "elements of server components": pushed(
        f'5:["$","div",null,{{"children":[{element(ONE)},{element(TWO)}]}}]\n'
    ),
    "rows cut in two": pushed('7:{"article":{"con') + pushed(f'tent":{json.dumps(MARKUP)}}}}}\n'),
    "a row of text": pushed(f"3:I[77,[]]\n8:T{len(BOTH.encode()):x},{BOTH}9:[]\n"),
    "nuxt by places": '<script type="application/json" id="__NUXT_DATA__">'
    + json.dumps([{"data": 1}, {"article": 2}, {"title": 3, "content": 4}, "Ferry", MARKUP])
    + "</script>",
    "code behind it": f"<script>window.__INITIAL_STATE__ = {json.dumps(POST)};(function(){{var s;}}());</script>",
    "parsed": f"<script>window.__PRELOADED_STATE__ = JSON.parse({json.dumps(json.dumps(POST))});</script>",
    "apollo": f"<script>window.__APOLLO_STATE__={json.dumps({'Post:1': {'__typename': 'Post', 'body': MARKUP}})}</script>",
    "no value": f'<script>window.__STATE__={{"a":undefined,"post":{json.dumps(POST)}}}</script>',
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_the_text_is_found_in_the_state(script: str) -> None:
    content = extract(f"<html><title>Ferry</title><body><div id=root></div>{script}</body></html>")
    assert content.text == BOTH
    assert content.why is not None
    assert content.why.rule == "data in a script"


def test_a_list_of_comments_is_not_taken_for_the_parts_of_a_text() -> None:
    comments = [
        {"type": "c", "author": "x", "text": "I was there, and it rained. It always does. " * 3}
        for _ in range(9)
    ]
    state = json.dumps({"body": BOTH, "comments": comments})
    assert extract(f"<title>F</title><script type=application/json>{state}</script>").text == BOTH


@pytest.mark.parametrize(
    "source",
    ["", "{", '{"a":', "[" * 90_000, "undefined", '{"a": undefined, }', "self.__next_f.push([1,", "\ud800"],
)
def test_broken_data_are_no_value(source: str) -> None:
    assert first_value(source) is None


@pytest.mark.parametrize(
    "script",
    [
        "self.__next_f.push([1,{}])",
        "window.x = JSON.parse('{\\'}')",
        "window.x = {" + "," * 90,
        'self.p.push([1,"' + "T" * 90 + '"])',
    ],
)
def test_broken_scripts_give_nothing(script: str) -> None:
    values = list(states([({}, script.ljust(100))]))
    assert not [value for value in values if value]


def test_many_rows_take_linear_time() -> None:
    rows = "".join(f'{n:x}:{{"a":1}}\n' for n in range(60_000))
    assert len(list(states([({}, f"self.__next_f.push([1,{json.dumps(rows)}])")]))) == 60_000
