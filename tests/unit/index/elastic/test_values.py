"""Addresses, tokens, queries and names: what the adapter makes without a server."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_dedup.errors import (
    ConfigError,
    IndexError_,
    IndexInterrupted,
    IndexReadOnly,
    IndexRefused,
    IndexUnavailable,
)
from es_dedup.index.elastic.address import parse_address
from es_dedup.index.elastic.connecting import credentials
from es_dedup.index.elastic.documents import LONG, hash_of, hash_token, key_of, storable, tokens_of
from es_dedup.index.factory import beside, elastic_options, shown
from es_dedup.settings.loading import describe, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable


class TestAddress:
    def test_parts(self) -> None:
        found = parse_address("https://me:se%40cret@search.example/my-pages")
        assert found.hosts == ("https://search.example:9200",)
        assert (found.name, found.user, found.password) == ("my-pages", "me", "se@cret")

    def test_a_password_is_never_shown(self) -> None:
        address = "http://me:secret@search.example:9201/pages"
        assert "secret" not in repr(parse_address(address))
        assert shown(address) == "http://search.example:9201/pages"
        with pytest.raises(ConfigError) as caught:
            parse_address("http://me:secret@search.example:9201/Pages")
        assert "secret" not in str(caught.value)

    def test_several_nodes(self) -> None:
        found = parse_address("http://a:9231,http://b:9232,http://c/pages")
        assert found.hosts == ("http://a:9231", "http://b:9232", "http://c:9200")
        assert str(found) == "http://a:9231,http://b:9232,http://c:9200/pages"

    def test_a_path_before_the_name_is_a_prefix_of_all_nodes(self) -> None:
        found = parse_address("https://me:pw@a:443,https://b/own,https://c/es/prod/pages/")
        assert found.hosts == ("https://a:443/es/prod", "https://b:9200/own", "https://c:9200/es/prod")
        assert (found.name, found.user) == ("pages", "me")
        assert shown("https://me:pw@a:443/es/prod/pages") == "https://a:443/es/prod/pages"
        assert beside("https://a/es/pages", "g1")[0] == "https://a/es/pages-dedup-g1"

    @pytest.mark.parametrize(
        "text",
        ["http:///pages", "http://host", "http://host/", "http://host/a/_b", "http://host/_x", "http://host:x/a",
         "http://host/a*", "http://host/" + "a" * 201, "http://a:1,ftp://b/x", "http://h\ud800/a"],
    )  # fmt: skip
    def test_what_is_no_address(self, text: str) -> None:
        with pytest.raises(ConfigError):
            parse_address(text)


class TestTokens:
    @given(st.lists(st.integers(0, (1 << 48) - 1)))
    def test_terms_differ_where_their_tokens_do(self, terms: list[int]) -> None:
        tokens = tokens_of(np.array(terms, dtype=np.uint64))
        assert all(len(token) == 8 for token in tokens)
        assert len(set(zip(terms, tokens, strict=True))) == len(set(terms)) == len(set(tokens))

    @given(st.integers(0, (1 << 64) - 1))
    def test_hashes_come_back(self, value: int) -> None:
        assert len(hash_token(value)) == 11
        assert hash_of(hash_token(value)) == value

    @given(st.text(min_size=1, max_size=512).filter(lambda text: "\x00" not in text))
    def test_keys_fit_and_differ(self, page_id: str) -> None:
        key = key_of(page_id)
        assert len(key.encode()) <= 512
        assert (key == page_id) == (len(page_id.encode()) <= 480 and not page_id.startswith(LONG))

    def test_what_cannot_be_stored_is_not_asked_for(self) -> None:
        assert storable(["a", "", "b\ud800", "a", "c"]) == ["a", "c"]


class TestSettings:
    def test_secrets_are_not_shown_and_reach_the_adapter(self) -> None:
        settings = load_settings(
            environ={"ES_DEDUP_ELASTIC__PASSWORD": "in-no-text", "ES_DEDUP_ELASTIC__USER": "me"}
        )
        options = elastic_options(settings)
        assert credentials(parse_address("http://h:9200/i"), options) == {"basic_auth": ("me", "in-no-text")}
        assert "in-no-text" not in repr(settings) + repr(describe(settings)) + repr(elastic_options(settings))
        assert pickle.loads(pickle.dumps(settings)).elastic.password.get_secret_value() == "in-no-text"


@pytest.mark.parametrize("kind", [IndexUnavailable, IndexInterrupted, IndexReadOnly, IndexRefused])
def test_errors_survive_pickling_and_say_what_to_do(kind: Callable[[str, str], IndexError_]) -> None:
    made = kind("http://host:9200/pages", "reason")
    error = pickle.loads(pickle.dumps(made))
    assert type(error) is type(made)
    assert "http://host:9200/pages" in str(error)
    assert "reason" in str(error)
    assert made.retryable is not isinstance(made, IndexRefused)
