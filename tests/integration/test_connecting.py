"""Ways to a server: a prefix behind a reverse proxy, certificates, a forward proxy; and what is refused in one line."""

from collections.abc import Iterator
from typing import Any

import pytest

from es_dedup.deduplicator.deduplicator import Deduplicator
from es_dedup.errors import ConfigError, IndexRefused, IndexUnavailable
from es_dedup.settings import Settings, load_settings
from tests.commands import rows
from tests.gateway import Certificates, gateway, make_certificates
from tests.samples import story
from tests.servers import fresh_name, remove, url_of

PREFIX = "/es/prod"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def name() -> Iterator[str]:
    name = fresh_name()
    yield name
    remove(f"{url_of('es8')}/{name}")


@pytest.fixture
def behind(certificates: Certificates) -> Iterator[str]:
    """The server behind TLS and a prefix, for clients with a certificate."""
    files = ("--cert", certificates.server_crt, "--key", certificates.server_key)
    asks = ("--client-ca", certificates.ca_crt)
    with gateway("reverse", "--target", url_of("es8"), "--prefix", PREFIX, *files, *asks) as url:
        yield url + PREFIX


def settings(**elastic: Any) -> Settings:
    given = {"retry_seconds": 0.5, "request_seconds": 60, **elastic}
    return load_settings(overrides={f"elastic.{key}": value for key, value in given.items()})


def stores_and_finds(place: str, given: Settings) -> None:
    with Deduplicator.open(place, settings=given) as dedup:
        dedup.add_many([story(0), story(0, "copy"), story(1)])
        assert dedup.cluster("copy").size == 2
    with Deduplicator.open(place, settings=given, read_only=True) as dedup:
        assert dedup.check(story(1, "again")).duplicate_of == "story-1"


def test_a_prefix_a_client_certificate_and_an_authority(
    behind: str, name: str, certificates: Certificates
) -> None:
    given = settings(
        ca_certs=certificates.ca_crt, client_cert=certificates.client_crt, client_key=certificates.client_key
    )
    stores_and_finds(f"{behind}/{name}", given)


def test_a_fingerprint_in_place_of_an_authority(behind: str, name: str, certificates: Certificates) -> None:
    mine = {"client_cert": certificates.client_crt, "client_key": certificates.client_key}
    stores_and_finds(f"{behind}/{name}", settings(ca_fingerprint=certificates.fingerprint, **mine))
    wrong = certificates.fingerprint[:-2] + ("00" if certificates.fingerprint[-2:] != "00" else "11")
    with pytest.raises(IndexRefused, match="ingerprint"):
        Deduplicator.open(f"{behind}/{name}", settings=settings(ca_fingerprint=wrong, **mine))


def test_without_the_certificate_that_the_server_wants(
    behind: str, name: str, certificates: Certificates
) -> None:
    with pytest.raises((IndexRefused, IndexUnavailable)) as refused:
        Deduplicator.open(f"{behind}/{name}", settings=settings(ca_certs=certificates.ca_crt))
    assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(IndexRefused, match=r"elastic\.ca_certs"):
        Deduplicator.open(f"{behind}/{name}", settings=settings())


def test_a_wrong_prefix(name: str) -> None:
    with (
        gateway("reverse", "--target", url_of("es8"), "--prefix", PREFIX) as url,
        pytest.raises((IndexRefused, IndexUnavailable)) as refused,
    ):
        Deduplicator.open(f"{url}/elsewhere/{name}", settings=settings())
    assert "\n" not in str(refused.value)


def test_a_forward_proxy_with_a_password(name: str, certificates: Certificates) -> None:
    files = ("--cert", certificates.server_crt, "--key", certificates.server_key)
    with (
        gateway("reverse", "--target", url_of("es8"), *files) as server,
        gateway("forward", "--target", server, "--user", "me:se/cret") as proxy,
    ):
        through = proxy.replace("//", "//me:se%2Fcret@")
        given = settings(ca_certs=certificates.ca_crt, proxy=through)
        stores_and_finds(f"https://es.localhost:443/{name}", given)  # the host is known to the proxy alone
        by_fingerprint = settings(ca_fingerprint=certificates.fingerprint, proxy=through)
        with pytest.raises(ConfigError, match="ca_fingerprint is not checked behind a proxy"):
            Deduplicator.open(f"{server}/{name}", settings=by_fingerprint)
        refused = settings(ca_certs=certificates.ca_crt, proxy=proxy)
        with pytest.raises(IndexUnavailable, match="407"):
            Deduplicator.open(f"{server}/{name}", settings=refused)
        wrong = settings(ca_certs=certificates.ca_crt, proxy=proxy.replace("//", "//me:guessed@"))
        with pytest.raises(IndexUnavailable) as error:
            Deduplicator.open(f"{server}/{name}", settings=wrong)
        assert "guessed" not in repr(error.value) + str(error.value.__cause__)


def test_a_forward_proxy_before_plain_http(name: str) -> None:
    with gateway("forward", "--target", url_of("es8")) as proxy:
        stores_and_finds(f"http://nowhere.example:9200/{name}", settings(proxy=proxy))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"ca_certs": "/nowhere/ca.crt"}, "elastic.ca_certs: /nowhere/ca.crt is not a file that can be read"),
        ({"client_cert": __file__}, "client_cert need an address with https://"),
        ({"ca_fingerprint": 64 * "a"}, "ca_fingerprint need an address with https://"),
    ],
)
def test_settings_that_do_not_fit_the_address(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Deduplicator.open("http://127.0.0.1:9/pages", settings=settings(**given))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"elastic.ca_fingerprint": "12ab"}, "must be 64 hexadecimal digits"),
        ({"elastic.client_key": "key.pem"}, "needs client_cert beside it"),
        ({"elastic.api_key": "hush-1", "elastic.bearer_token": "hush-2"}, "an API key or a bearer token"),
        ({"elastic.proxy": "proxy.example, hush-3"}, "must be http://"),
        ({"source.url": "https://me:hush-4@host:9200"}, "give source.user and source.password"),
        ({"source.url": "host:9200"}, "must be https://host:9200"),
        ({"hook.on_failure": "closed"}, "must be one of 'fail_open' or 'fail_closed'"),
    ],
)
def test_wrong_settings_are_named_without_their_secrets(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        load_settings(overrides=given)
    assert "hush" not in str(refused.value)


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("ELASTIC__BEARER_TOKEN", "SOURCE__PASSWORD", "SOURCE__API_KEY"):
        monkeypatch.setenv(f"ES_DEDUP_{key}", "hush-hush")
    monkeypatch.setenv("ES_DEDUP_ELASTIC__PROXY", "http://me:hush-hush@proxy.example:3128")
    (shown,) = rows("config")
    assert "hush-hush" not in str(shown)
    keys = {line["key"]: line["value"] for line in shown["settings"]}
    assert keys["elastic.proxy"] == keys["source.password"] == "**********"
    assert "hush-hush" not in repr(load_settings())


@pytest.mark.parametrize(("setting", "scheme"), [("bearer_token", "Bearer"), ("api_key", "ApiKey")])
def test_a_token_and_an_api_key(name: str, setting: str, scheme: str) -> None:
    secret = "0a1b2c3d"  # noqa: S105 - of this test alone
    asks = ("--authorization", f"{scheme} {secret}")
    with gateway("reverse", "--target", url_of("es8"), "--prefix", PREFIX, *asks) as url:
        stores_and_finds(f"{url}{PREFIX}/{name}", settings(**{setting: secret}))
        with pytest.raises(IndexRefused, match="or the token, of section elastic is wrong") as refused:
            Deduplicator.open(f"{url}{PREFIX}/{name}", settings=settings(**{setting: secret[::-1]}))
        assert secret[::-1] not in str(refused.value)
