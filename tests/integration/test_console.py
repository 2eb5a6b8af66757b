"""The console: who may see it, what its views show, and what pages may not do to it."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from es_dedup.views.frame import file_address
from tests.serving import OTHER, TEXT, serving

HOSTILE = "<script>alert(1)</script>\u202e\x00\" onload='x' "


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("console")
    with serving(str(folder / "c.db"), folder) as api:
        pages = [
            {"id": "a/1?x=<i>", "text": TEXT, "title": "Ferry aground", "published": "2026-03-02T09:00"},
            {"id": "b", "text": TEXT, "title": HOSTILE, "site": HOSTILE, "url": "javascript:alert(1)"},
            {"id": "c", "text": f"{OTHER} {HOSTILE}", "title": "t" * 100_000},
        ]
        assert api.lines("/v1/pages", *pages).json()["stored"] == 3
        yield api


@pytest.fixture(scope="module")
def browser(api: Any) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=api.address, trust_env=False, timeout=60) as client:
        answer = client.post(
            "/console/sign-in", data={"token": api.tokens["read"], "to": "/console/clusters"}
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/clusters")
        cookie = answer.headers["set-cookie"]
        assert {"HttpOnly", "Path=/console", "SameSite=strict"} <= set(cookie.split("; "))
        assert api.tokens["read"] not in cookie
        yield client


def test_only_who_has_a_token_sees_anything(api: Any) -> None:
    with httpx.Client(base_url=api.address, trust_env=False, timeout=60) as client:
        for asked in (
            "",
            "/clusters",
            "/clusters/b",
            "/pages/b",
            "/search?q=ferry",
            "/compare?left=b&right=c",
        ):
            answer = client.get(f"/console{asked}")
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/console/sign-in?to=%2Fconsole")
        wrong = client.post("/console/sign-in", data={"token": "x" * 43, "to": "/console"})
        assert wrong.status_code == 403
        assert "not known" in wrong.text
        assert "es-dedup.tokens" in wrong.text
        given = {"token": api.tokens["read"]}
        foreign = client.post("/console/sign-in", data=given, headers={"Origin": "http://evil.example"})
        assert (foreign.status_code, "evil.example" in foreign.text) == (403, True)
        assert not client.cookies
        outside = client.post("/console/sign-in", data={**given, "to": "//evil.example"})
        assert outside.headers["location"] == "/console"
        assert client.get("/console").status_code == 200
        client.post("/console/sign-out")
        assert client.get("/console").status_code == 303


def test_views_lead_from_clusters_to_pages_and_pairs(browser: httpx.Client) -> None:
    listed = browser.get("/console/clusters")
    (cluster,) = _links(listed.text, "clusters/")
    shown = browser.get(cluster)
    assert shown.text.count("<tr>") == 3
    assert "canonical" in shown.text
    assert "2026-03-02 09:00" in shown.text
    (pair,) = _links(shown.text, "compare")
    compared = browser.get(pair).text
    assert "merged as an exact copy" in compared
    assert 'class="row"' in compared
    differing = browser.get("/console/compare?left=b&right=c").text
    assert 'class="row differs"' in differing
    assert '<mark title="only here">' in differing
    page = next(each for each in _links(shown.text, "pages/") if each.endswith("/b"))
    candidates = browser.get(page).text
    assert "Candidates" in candidates
    assert _links(candidates, "compare")
    found = browser.get("/console/search", params={"q": "ferry"}).text
    assert "1 hits" in found
    assert "The <mark>ferry</mark> ran aground" in found
    assert "+1" in found
    overview = browser.get("/console").text
    assert re.search(r"<b>3</b><span>pages", overview)


def test_content_of_pages_is_shown_as_text(browser: httpx.Client) -> None:
    addresses = ["", "/clusters?min_size=1", "/clusters/b", "/pages/b", "/pages/c", "/compare?left=b&right=c"]
    addresses += ["/search?q=%3Cscript%3E", "/pages/%3Cscript%3E", "/clusters?min_size=x", "/nothing<script>"]
    for address in addresses:
        answer = browser.get(f"/console{address}")
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["referrer-policy"] == "same-origin"  # else browsers send forms from `null`
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "inline" not in policy
        for tag, attributes in _tags(answer.text):
            assert tag != "script" or attributes["src"] == file_address("console.js")
            assert not [name for name in attributes if name == "style" or name.startswith("on")]
            assert not (attributes.get("href") or "").startswith("javascript:")
        assert not re.search("[\x00\u202e]", answer.text)
        assert len(answer.content) < 60_000


def test_an_error_is_a_page_with_its_status(browser: httpx.Client) -> None:
    for address, status in (("/pages/none", 404), ("/nothing", 404), ("/clusters?min_size=0", 400)):
        answer = browser.get(f"/console{address}")
        assert (answer.status_code, "<h1>" in answer.text) == (status, True)
        assert "query." not in answer.text
        assert "openapi" not in answer.text
    assert 'name="left"' in browser.get("/console/compare?right=b").text


def test_who_may_write_decides_and_undoes(api: Any, browser: httpx.Client) -> None:
    pages = {"page": ["a/1?x=<i>", "b"], "reason": HOSTILE, "author": "mz"}
    with httpx.Client(base_url=api.address, trust_env=False, timeout=60) as client:
        client.post("/console/sign-in", data={"token": api.tokens["write"], "to": "/console"})
        pair = _links(client.get("/console/clusters/b").text, "compare")[0]
        assert 'value="different"' in client.get(pair).text
        assert 'value="different"' not in browser.get(pair).text
        refused = browser.post("/console/overrides", data={**pages, "kind": "different"})
        foreign = {"Origin": "http://evil.example"}
        sent = client.post("/console/overrides", data={**pages, "kind": "different"}, headers=foreign)
        assert (refused.status_code, sent.status_code) == (403, 403)
        assert client.post("/console/overrides", data={**pages, "kind": "x"}).status_code == 400
        assert api.get("/v1/overrides").json() == {"overrides": []}
        done = client.post("/console/overrides", data={**pages, "kind": "different"})
        cluster = "/console/clusters/a%2F1%3Fx%3D%3Ci%3E"
        assert done.status_code == 303
        assert done.headers["location"].startswith(f"{cluster}?done=")
        decided = client.get(done.headers["location"]).text
        assert decided.count("<tr>") == 2
        assert "Never in one cluster" in decided
        assert 'action="/console/overrides/' in decided
        assert "Undo" in decided
        assert (
            'name="author" required maxlength="1000" autocomplete="name" value="mz"' in client.get(pair).text
        )
        explained = client.get(pair).text
        assert "decided different by mz" in explained
        assert "without this accepted" in explained
        conflict = client.post("/console/overrides", data={**pages, "kind": "same"})
        assert conflict.status_code == 409
        assert "&lt;script&gt;" in client.get(pair).text
        (found,) = api.get("/v1/overrides").json()["overrides"]
        undone = client.post(f"/console/overrides/{found['id']}/undo", data={"author": "mz", "reason": "no"})
        assert undone.status_code == 303
        assert client.get("/console/clusters/b").text.count("<tr>") == 3
        assert "mz no" in client.get("/console/overrides").text
        passage = {"kind": "ignore", "site": "s.example", "text": HOSTILE, "reason": "menu", "author": "mz"}
        assert client.post("/console/overrides", data={**passage, "text": " "}).status_code == 400
        ignored = client.post("/console/overrides", data=passage)
        assert ignored.headers["location"].startswith("/console/overrides?done=")
        for address in ("/console/overrides", "/console/overrides?offset=1000"):
            assert "s.example: &lt;script&gt;" in client.get(address).text
        assert api.get("/v1/overrides").json()["overrides"][0]["site"] == "s.example"
        chosen_page = {"page": "b", "kind": "canonical", "reason": "older", "author": "mz"}
        assert client.post("/console/overrides", data=chosen_page).status_code == 303
        assert api.get("/v1/clusters/b").json()["canonical"]["page_id"] == "b"


def test_it_speaks_chinese_to_who_reads_it(browser: httpx.Client) -> None:
    answer = browser.get("/console", headers={"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"})
    assert '<html lang="zh">' in answer.text
    assert "<h1>概览</h1>" in answer.text
    compared = browser.get("/console/compare?left=b&right=c", headers={"Accept-Language": "zh"}).text
    assert "按顺序列出规则" in compared
    verdict = compared[compared.index("<article") : compared.index('<div class="pair"')]
    evidence = verdict + compared[compared.index("度量值") : compared.index("按名称列出特征")]
    names = "<b>.*?</b>", '<span class="n">.*?</span>', "<p>只见于非共有文字的区分标题词：.*?</p>", "<[^>]*>"
    for part in names:
        evidence = re.sub(part, " ", evidence, flags=re.DOTALL)
    assert not re.findall("[A-Za-z]{3,}", evidence), "evidence in English"


def _tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    found: list[tuple[str, dict[str, str | None]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.append((tag, dict(attrs)))  # type: ignore[method-assign]
    parser.feed(text)
    return found


def _links(text: str, start: str) -> list[str]:
    found = re.findall(rf'href="(/console/{start}[^"]*)"', text)
    return [each.replace("&amp;", "&") for each in dict.fromkeys(found)]
