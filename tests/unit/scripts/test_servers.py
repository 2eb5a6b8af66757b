"""The pure parts of ``scripts/servers``: settings, choice of a Java, configuration, state, archives."""

import io
import os
import platform
import re
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from es_dedup.settings import Settings, load_settings
from scripts.serversupport import cli, fetch, nodes, profiles, redis, running, settings

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def places(tmp_path: Path) -> settings.Settings:
    return settings.load({"ES_DEDUP_SERVERS": str(tmp_path), "HOME": str(tmp_path)}, root=False)


class TestSettings:
    def test_a_users_cache_is_used_and_never_roots_home(self, tmp_path: Path) -> None:
        environ = {"HOME": str(tmp_path)}
        assert settings.load(environ, root=False).cache == tmp_path / ".cache" / "es-dedup-servers"
        assert not settings.load(environ, root=True).cache.is_relative_to(tmp_path)

    def test_each_checkout_has_its_own_data_and_shares_downloads(self, tmp_path: Path) -> None:
        environ = {"ES_DEDUP_SERVERS": str(tmp_path)}
        one, two = (settings.load(environ, tmp_path / name) for name in ("one", "two"))
        assert one.run != two.run
        assert one.cache == two.cache

    def test_an_unknown_user_is_named_with_advice(
        self, places: settings.Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        for user in ("root", "no-such-user-here"):
            with pytest.raises(settings.Trouble, match="ES_DEDUP_SERVERS_USER"):
                settings.unprivileged(replace(places, user=user))


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="the package is for Linux on x86-64"
)
def test_where_none_is_installed_a_python_package_has_one(
    places: settings.Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program = redis.find(places)
    assert Path(program).is_relative_to(tmp_path)
    assert re.fullmatch(r"6\.2\.\d+", redis._version(program))


def test_ports_of_profiles_do_not_meet() -> None:
    ports = [
        port + far
        for profile in profiles.PROFILES.values()
        for port in range(profile.port, profile.port + profile.nodes)
        for far in (0, profiles.TRANSPORT_ABOVE_HTTP)
    ]
    assert len({*ports, profiles.REDIS_PORT}) == len(ports) + 1


class TestRunning:
    def test_a_process_is_told_from_a_later_one_with_its_id(self) -> None:
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            process = running.Process.of(child.pid)
            assert process.alive()
            assert not running.Process(child.pid, "another birth").alive()
            process.stop(seconds=10)
            assert not process.alive()

    def test_what_was_saved_is_found_while_it_runs(self, tmp_path: Path) -> None:
        (tmp_path / "es8").mkdir()
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
            server = running.Server(
                "es8",
                "8.19.16",
                ["http://127.0.0.1:1"],
                [running.Process.of(child.pid)],
                str(tmp_path / "es8"),
            )
            running.save(server)
            assert running.running(tmp_path) == [server]
            assert server.variables() == {"ES_DEDUP_ES_URL": "http://127.0.0.1:1"}
            child.kill()
            child.wait()
            assert running.running(tmp_path) == []

    def test_a_password_is_written_for_its_owner_only_and_never_printed(self, tmp_path: Path) -> None:
        server = running.Server("secured", "8", ["https://x"], [], str(tmp_path), "admin", "hidden", "ca.crt")
        running.save(server)
        assert (tmp_path / running.STATE).stat().st_mode & 0o077 == 0
        assert "hidden" not in repr(server)
        assert server.variables()["ES_DEDUP_SECURED_PASSWORD"] == "hidden"  # noqa: S105 - made up here

    @pytest.mark.parametrize("name", [*profiles.PROFILES, profiles.REDIS])
    def test_its_variables_are_no_wrong_settings(self, tmp_path: Path, name: str) -> None:
        user = "admin" if name == "secured" else ""
        server = running.Server(name, "8", ["http://x", "http://y"], [], str(tmp_path), user)
        assert load_settings(environ=server.variables()) == Settings()

    def test_a_taken_port_is_passed_over(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            assert running.free_ports(port, 1) != port


class TestFetch:
    def test_another_file_than_the_pinned_one_is_refused(
        self, places: settings.Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def wrong(url: str, place: Path) -> Path:
            (target := place / url.rpartition("/")[2]).write_bytes(b"something else")
            return target

        monkeypatch.setattr(fetch, "_download", wrong)
        monkeypatch.setenv("PATH", "")
        with pytest.raises(settings.Trouble, match=r"SHA-256 differs.*SHA-512 differs.* ES_DEDUP_MAVEN"):
            fetch.archive(profiles.ES_8, replace(places, maven="https://maven.example"))
        assert not list((places.cache / "archives").iterdir())

    def test_without_maven_a_complete_distribution_comes_from_elastic(
        self, places: settings.Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (shop := tmp_path / "shop").mkdir()
        top = f"elasticsearch-{profiles.ES_8.version}"
        monkeypatch.setattr(platform, "machine", lambda: "AMD64")
        path = shop / f"{top}-{sys.platform}-x86_64.tar.gz"
        with tarfile.open(path, "w:gz") as packed:
            for name, mode in (("bin/elasticsearch", 0o755), ("config/jvm.options", 0o644)):
                entry = tarfile.TarInfo(f"{top}/{name}")
                entry.mode, entry.size = mode, 4
                packed.addfile(entry, io.BytesIO(b"text"))
            link = tarfile.TarInfo(f"{top}/link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            packed.addfile(link)
        Path(f"{path}.sha512").write_text(f"{fetch.digest(path, 'sha512')}  {path.name}\n")
        monkeypatch.setenv("PATH", "")
        handler = partial(SimpleHTTPRequestHandler, directory=shop)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                monkeypatch.setattr(fetch, "ELASTIC_DOWNLOADS", f"http://127.0.0.1:{server.server_port}")
                home = nodes._unpacked(profiles.PROFILES["es8"], places)
                with pytest.raises(settings.Trouble, match=r"Maven is not .* Elastic has no opensearch"):
                    nodes._unpacked(profiles.PROFILES["opensearch"], places)
            finally:
                server.shutdown()
                thread.join()
        assert {str(each.relative_to(home)) for each in home.rglob("*") if each.is_file()} == {
            "bin/elasticsearch",
            "config/jvm.options",
        }
        assert os.access(home / "bin" / "elasticsearch", os.X_OK)

    def test_modes_survive_unpacking_and_paths_stay_inside(self, tmp_path: Path) -> None:
        packed = tmp_path / "a.zip"
        with zipfile.ZipFile(packed, "w") as out:
            out.writestr("top/bin/run", "#!/bin/sh\n")
            entry = zipfile.ZipInfo("top/lib/tool")
            entry.external_attr = 0o755 << 16
            out.writestr(entry, "x")
            out.writestr("top/config/plain.yml", "a: b\n")
        target = tmp_path / "out"
        target.mkdir()
        fetch.unpack(packed, target, below="*/")
        assert os.access(target / "bin" / "run", os.X_OK)
        assert os.access(target / "lib" / "tool", os.X_OK)
        assert (target / "config" / "plain.yml").stat().st_mode & 0o111 == 0
        with zipfile.ZipFile(packed, "a") as out:
            out.writestr("top/../../outside", "x")
        with pytest.raises(settings.Trouble, match="outside"):
            fetch.unpack(packed, target, below="*/")


class TestCommandLine:
    def test_it_runs_as_a_script_without_an_environment(self, tmp_path: Path) -> None:
        environ = os.environ | {"ES_DEDUP_SERVERS": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-S", ROOT / "scripts" / "servers", "status", "--json"],
            env=environ, capture_output=True, text=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        assert done.stdout == "{}\n"

    def test_a_server_that_cannot_be_had_is_an_error_with_advice(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("ES_DEDUP_SERVERS", str(tmp_path))
        monkeypatch.delenv("ES_DEDUP_REDIS_URL", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(fetch, "PYTHONS", ())
        assert cli.main(["run", "redis", "--", sys.executable, "-c", "raise SystemExit(7)"]) == 1
        assert "apt-get install redis-server" in capsys.readouterr().err

    def test_a_server_of_ones_own_is_used_and_left_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ES_DEDUP_SERVERS", str(tmp_path))
        monkeypatch.setenv("ES_DEDUP_ES_URL", "http://search.example:9200")
        code = "import os, sys; sys.exit(os.environ['ES_DEDUP_ES_URL'] != 'http://search.example:9200')"
        assert cli.main(["run", "elastic", "--", sys.executable, "-c", code]) == 0
        assert not (tmp_path / "archives").exists()

    def test_a_server_that_the_command_restarted_is_stopped_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ES_DEDUP_SERVERS", str(tmp_path))
        monkeypatch.delenv("ES_DEDUP_REDIS_URL", raising=False)
        waiting = [sys.executable, "-c", "input()"]
        with (
            subprocess.Popen(waiting, stdin=subprocess.PIPE) as first,
            subprocess.Popen(waiting, stdin=subprocess.PIPE) as second,
        ):
            server = running.Server(
                "redis", "7", ["redis://x"], [running.Process.of(first.pid)], str(tmp_path)
            )
            running.save(server)
            monkeypatch.setattr(cli, "ensure", lambda _profile, _settings: (server, True))
            restart = (
                "import sys; from pathlib import Path; from dataclasses import replace; "
                f"sys.path.insert(0, {str(ROOT)!r}); from scripts.serversupport import running as r; "
                f"old = r.load(Path({str(tmp_path)!r})); "
                f"r.save(replace(old, processes=[r.Process.of({second.pid})]))"
            )
            assert cli.main(["run", "redis", "--", sys.executable, "-c", restart]) == 0
            assert second.wait(timeout=10) != 0
            first.kill()
