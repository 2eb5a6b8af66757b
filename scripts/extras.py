#!/usr/bin/env python3
"""Install each extra in a fresh environment, as the documents say, and use it for what it is there for.

    scripts/servers run es8 es9 redis -- .venv/bin/python scripts/extras.py [EXTRAS …]

Without names: the core, every extra, and the lines of README.md and the Dockerfile. Needs Elasticsearch 8.x and 9.x and Redis at
ES_DEDUP_ES_URL, ES_DEDUP_ES9_URL and ES_DEDUP_REDIS_URL.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = ROOT / "samples" / "pages" / "zhportal"
CORE: Final = "core"
IMAGE: Final = "Dockerfile"
JOB_SECONDS: Final = 60.0
COMMAND_SECONDS: Final = 300.0
CORE_CHECK: Final = """
import importlib, importlib.util, pkgutil, sys
import es_dedup

extra = [name for name in ("pyarrow", "brotli", "elasticsearch", "opensearchpy", "celery", "pyspark", "scrapy", "langchain_core", "haystack", "fastapi", "pytest", "tests") if importlib.util.find_spec(name)]
assert not extra, f"the core installs {extra}"
names = [m.name for m in pkgutil.walk_packages(es_dedup.__path__, "es_dedup.")]
of_extras = ("es_dedup.testing.", "es_dedup.spark.", "es_dedup.serve.", "es_dedup.scrapy", "es_dedup.langchain", "es_dedup.haystack", "es_dedup.__main__", "es_dedup.maintenance.gauges")
names = [name for name in names if not name.startswith(of_extras)]
for name in names:
    importlib.import_module(name)
assert (importlib.resources.files("es_dedup") / "py.typed").is_file(), "py.typed is missing"
assert importlib.util.find_spec("es_dedup_tasks") is not None, "the wheel holds no Celery tasks"
from es_dedup.index.elastic.schema import KINDS, folder, load_mapping
assert str(folder()).startswith(next(iter(es_dedup.__path__))), "the mappings are not in the wheel"
assert all(load_mapping(kind)["mappings"]["dynamic"] == "strict" for kind in KINDS)
from importlib.metadata import files, version
assert version("es-dedup") == es_dedup.__version__, "the version of the wheel is not that of the package"
from es_dedup.text.synonyms import WORDNET_FILES, wordnet
assert len(wordnet()) > 40_000, "the synonyms are not in the wheel"
assert all((path.parent / f"LICENSE-{name}").is_file() for name, path in WORDNET_FILES.items()), "a licence of the synonyms is not in the wheel"
licences = [str(path).partition("licenses/")[2] for path in files("es-dedup") if ".dist-info/licenses/" in str(path)]
assert {"LICENSE", "NOTICE", "es_dedup/text/wordnet/LICENSE-zh", "es_dedup/text/wordnet/LICENSE-en"} <= set(licences), f"the wheel lists the licences {licences}"
print(f"imported {len(names)} modules and {len(KINDS)} mappings from the wheel")
"""


class Failed(Exception):
    """A command did not do what it is for; the message has its output."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment with some extras, and a folder of its own with a few sample pages in ``pages``.

    Attributes:
        folder: where commands run; the environment is in ``venv``.
        variables: added to the environment of commands.
    """

    folder: Path
    variables: dict[str, str]

    def run(self, *words: str | Path, code: int = 0) -> str:
        """Standard output of a program of the environment that must end with ``code``."""
        program = self.folder / "venv" / "bin" / str(words[0])
        return output_of(program, *words[1:], code=code, cwd=self.folder, env=os.environ | self.variables)

    def rows(self, *words: str | Path) -> list[Any]:
        """What ``es-dedup --json`` says, parsed."""
        return [json.loads(line) for line in self.run("es-dedup", "--json", "--quiet", *words).splitlines()]

    def expect(self, truth: object, what: str) -> None:
        """Fail unless something holds."""
        if not truth:
            raise Failed(f"expected {what}")


def output_of(*words: str | Path, code: int = 0, **options: Any) -> str:
    """Standard output of a program that must end with ``code``; options are those of ``subprocess.run``."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
        **options,
    )
    if done.returncode != code:
        said = done.stdout[-2000:] + done.stderr[-4000:]
        raise Failed(f"{shlex.join(map(str, words))} ended with {done.returncode}\n{said}")
    return done.stdout


def use_core(at: Environment) -> None:
    """A scan into a file, and its clusters."""
    (at.folder / "check.py").write_text(CORE_CHECK)
    at.run("python", "check.py")
    at.expect(at.rows("scan", "pages")[0]["stored"], "stored pages")
    at.expect(at.rows("clusters"), "clusters")


def use_parquet(at: Environment) -> None:
    """An export that is read again."""
    at.run("es-dedup", "scan", "pages")
    at.run("es-dedup", "index", "export", "--what", "keep", "--output", "keep.parquet")
    at.expect(
        at.run("python", "-c", "import pyarrow.parquet as p; print(p.read_table('keep.parquet').num_rows)"),
        "rows",
    )
    code = "import pyarrow as a, pyarrow.parquet as p; p.write_table(a.table({'id': ['x'], 'text': ['A ferry runs again.']}), 'in.parquet')"
    at.run("python", "-c", code)
    at.expect(
        at.rows("--db", "read.db", "scan", "in.parquet")[0]["stored"] == 1, "one page of the Parquet file"
    )


def use_remote(at: Environment, storage: str = "zip") -> None:
    """A scan of pages inside of an archive; the storage's own package can be loaded."""
    at.run("python", "-c", f"import fsspec; fsspec.get_filesystem_class({storage!r})")
    shutil.make_archive(str(at.folder / "site"), "zip", at.folder / "pages")
    there = len(list(at.folder.glob("pages/*.html")))
    rows = at.rows("--db", f"{storage}.db", "scan", "zip://*.html::site.zip")
    at.expect(rows[0]["stored"] == there, "the pages of the archive")


def use_warc(at: Environment) -> None:
    """A scan of an archive, with a body in Brotli: <p>The ferry runs again after the storm of last week.</p>."""
    body = bytes.fromhex(
        "0b1c803c703e5468652066657272792072756e7320616761696e2061667465722074686520"
        "73746f726d206f66206c617374207765656b2e3c2f703e03"
    )
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\n" + body
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://www.example.org/a\r\n"
        "WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    (at.folder / "one.warc.gz").write_bytes(gzip.compress(head.encode() + http + b"\r\n\r\n"))
    at.expect(at.rows("scan", "one.warc.gz")[0]["stored"] == 1, "one page of the archive")


def use_testing(at: Environment) -> None:
    """A contract suite over the embedded index."""
    (at.folder / "test_index.py").write_text(
        "import pytest\nfrom es_dedup.index.embedded import EmbeddedIndex\n"
        "from es_dedup.testing.index_contract import FeatureIndexContract\n"
        "class TestEmbedded(FeatureIndexContract):\n    @pytest.fixture\n    def index(self, tmp_path):\n"
        "        with EmbeddedIndex(tmp_path / 'pages.db', features={}) as index:\n            yield index\n"
    )
    at.run("pytest", "-q", "-p", "no:cacheprovider", "test_index.py")


def use_elastic(at: Environment) -> None:
    """A scan into an index on Elasticsearch 8.x and into one on 9.x, and their clusters."""
    scan_on(at, server())
    scan_on(at, server("ES_DEDUP_ES9_URL"))


def use_elastic9(at: Environment) -> None:
    """The same on 9.x alone, by a client of 9.x."""
    version = at.run("python", "-c", "import elasticsearch; print(elasticsearch.__version__[0])")
    at.expect(version.strip() == "9", f"client 9, not {version.strip()}")
    scan_on(at, server("ES_DEDUP_ES9_URL"))


def use_opensearch(at: Environment) -> None:
    """The same on OpenSearch."""
    scan_on(at, server("ES_DEDUP_OPENSEARCH_URL"))


def use_proxy(at: Environment) -> None:
    """The same through a forward proxy, which alone reaches the server."""
    command = (sys.executable, "-m", "tests.gateway", "forward", "--target", server())
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as gateway:
        try:
            proxy = gateway.stdout.readline().strip() if gateway.stdout else ""
            behind = Environment(at.folder, {**at.variables, "ES_DEDUP_ELASTIC__PROXY": proxy})
            scan_on(behind, server(), "http://nowhere.example:9200")
        finally:
            gateway.terminate()


def scan_on(at: Environment, address: str, named: str = "") -> None:
    """A scan into an index on a server, which commands may know by another name, and its clusters."""
    name = token()
    place = f"{named or address}/{name}"
    try:
        at.expect(at.rows("--db", place, "scan", "pages")[0]["stored"], "stored pages")
        at.expect(at.rows("--db", place, "clusters"), "clusters")
    finally:
        remove(f"{address}/{name}")


def use_celery(at: Environment) -> None:
    """A backfill by a worker, after the doctor found no fault."""
    name = token()
    place = f"{server()}/{name}"
    quick = {
        "ES_DEDUP_MAINTENANCE__BROKER": os.environ["ES_DEDUP_REDIS_URL"],
        "ES_DEDUP_MAINTENANCE__TEND_SECONDS": "1",
    }
    there = Environment(at.folder, {**at.variables, **quick, "ES_DEDUP_DB": place})
    try:
        for path in at.folder.glob("pages/*.html"):
            document = {
                "html": path.read_text("utf-8", "replace"),
                "url": f"https://www.example.org/{path.name}",
            }
            asked(f"{place}/_doc/{path.stem}", "PUT", document)
        asked(f"{place}/_refresh", "POST")
        there.run("es-dedup", "--db", place, "elastic", "attach", name, "--content-field", "html", "--html")
        (job,) = there.rows("--db", place, "elastic", "backfill")
        with worker(there, place):
            end = time.monotonic() + JOB_SECONDS
            while (state := there.rows("--db", place, "elastic", "jobs", job["id"])[0]["state"]) != "done":
                at.expect(time.monotonic() < end and state == "running", f"a job that ends, not {state}")
                time.sleep(0.5)
            there.run("es-dedup", "--db", place, "index", "doctor")
        there.run("es-dedup", "--db", place, "elastic", "audit")
        there.run("es-dedup", "--db", place, "elastic", "detach", name, "--force")
    finally:
        remove(place)


def use_spark(at: Environment) -> None:
    """Two equal pages and another one on a local session."""
    code = (
        "from es_dedup.spark import deduplicate, session\n"
        "text = 'The ferry ran aground at noon. All passengers were taken off. ' * 3\n"
        "rows = [('a', text), ('b', text), ('c', 'Nobody has seen the mayor since the flood of last March.')]\n"
        "made = deduplicate(session('local[2]').createDataFrame(rows, 'id string, text string')).collect()\n"
        "print(sorted((row.page_id, row.canonical) for row in made))"
    )
    said = at.run("python", "-c", code)
    at.expect("[('a', 'a'), ('b', 'a'), ('c', 'c')]" in said, f"b as a duplicate of a, not {said}")


def use_serve(at: Environment) -> None:
    """A page stored and checked by HTTP."""
    program = str(at.folder / "venv" / "bin" / "es-dedup")
    command = [program, "--json", "--db", "served.db", "serve", "--port", "0"]
    environment = os.environ | at.variables | {"ES_DEDUP_SERVE__REQUIRE_TOKEN": "false"}
    with subprocess.Popen(
        command, cwd=at.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as server:
        try:
            address = json.loads(server.stdout.readline())["address"] if server.stdout else ""
            page = {"text": "The ferry ran aground at noon on Monday. All passengers were taken off safely."}
            asked(f"{address}/v1/pages", "POST", {**page, "id": "a"})
            found = asked(f"{address}/v1/check", "POST", {**page, "id": "b"})
            at.expect(found["duplicate_of"] == "a", f"b as a duplicate of a, not {found}")
        finally:
            server.terminate()
        at.expect(server.wait(JOB_SECONDS) == 0, "a server that ends by itself")


def use_scrapy(at: Environment) -> None:
    """A crawl of two equal items."""
    (at.folder / "crawl.py").write_text(
        "from scrapy import Spider\nfrom scrapy.crawler import CrawlerProcess\n"
        "class Two(Spider):\n    name = 'two'\n    start_urls = ['data:,']\n"
        "    def parse(self, response):\n        for url in 'ab':\n            yield {'url': url, 'text': 'The ferry ran aground at noon on Monday.'}\n"
        "pipelines = {'es_dedup.scrapy.DedupPipeline': 300}\n"
        "process = CrawlerProcess({'ITEM_PIPELINES': pipelines, 'DEDUP_INDEX': ':memory:', 'DEDUP_MODE': 'drop'})\n"
        "crawler = process.create_crawler(Two)\nprocess.crawl(crawler)\nprocess.start()\n"
        "print(crawler.stats.get_value('item_scraped_count'))\n"
    )
    at.expect(at.run("python", "crawl.py").strip() == "1", "one of two equal items")


def use_langchain(at: Environment) -> None:
    """Two equal documents."""
    code = (
        "from langchain_core.documents import Document; from es_dedup.langchain import DedupTransformer\n"
        "same = [Document(page_content='The ferry ran aground at noon on Monday.')] * 2\n"
        "print(len(DedupTransformer().transform_documents(same)))"
    )
    at.expect(at.run("python", "-c", code).strip() == "1", "one of two equal documents")


def use_haystack(at: Environment) -> None:
    """Two equal documents."""
    code = (
        "from haystack import Document; from es_dedup.haystack import DocumentDeduplicator\n"
        "same = [Document(content='The ferry ran aground at noon on Monday.')] * 2\n"
        "print(len(DocumentDeduplicator().run(documents=same)['documents']))"
    )
    at.expect(at.run("python", "-c", code).strip() == "1", "one of two equal documents")


USES: Final[dict[str, Callable[[Environment], None]]] = {
    "celery": use_celery,
    "elastic": use_elastic,
    "elastic9": use_elastic9,
    "opensearch": use_opensearch,
    "proxy": use_proxy,
    "parquet": use_parquet,
    "remote": use_remote,
    "s3": partial(use_remote, storage="s3"),
    "gcs": partial(use_remote, storage="gs"),
    "warc": use_warc,
    "testing": use_testing,
    "spark": use_spark,
    "serve": use_serve,
    "haystack": use_haystack,
    "langchain": use_langchain,
    "scrapy": use_scrapy,
}
"""What shows that an extra works; those that take longest come first."""


def server(variable: str = "ES_DEDUP_ES_URL") -> str:
    """Address of Elasticsearch."""
    return os.environ[variable].rstrip("/")


def token() -> str:
    """A name that nothing else has."""
    return f"extras-{token_hex(4)}"


def asked(url: str, method: str, body: Any = None) -> Any:
    """Elasticsearch's answer to a request."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.loads(answer.read() or b"{}")


def remove(place: str) -> None:
    """Remove an index, and those of es-dedup that are named after it."""
    host, _, name = place.rpartition("/")
    for found in asked(f"{host}/{name}*/_settings?expand_wildcards=all", "GET"):
        asked(f"{host}/{found}", "DELETE")


@contextmanager
def worker(at: Environment, place: str) -> Iterator[None]:
    """A worker that also sends the periodic tasks, while the block runs."""
    program = at.folder / "venv" / "bin" / "es-dedup"
    with (at.folder / "worker.log").open("wb") as log:
        started = subprocess.Popen(
            [program, "--db", place, "elastic", "worker", "--beat"],
            cwd=at.folder,
            env=os.environ | at.variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            yield
            at.expect(started.poll() is None, "a worker that lives")
        except Failed as failed:
            raise Failed(f"{failed}\n{(at.folder / 'worker.log').read_text()[-4000:]}") from failed
        finally:
            started.terminate()
            started.wait(30)


def install(extras: str, wheel: Path, folder: Path) -> Environment:
    """A fresh environment with the core, with some extras (``a,b``), or with what the Dockerfile installs."""
    (folder / "pages").mkdir(parents=True)
    for page in sorted(PAGES.glob("*.html"))[:30]:
        shutil.copy(page, folder / "pages")
    at = Environment(folder, {})
    if extras == IMAGE:
        output_of("bash", ROOT / ".ci" / "make-venv", folder / "venv")
        build_image(at)
        return at
    output_of(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    pip = (sys.executable, "-m", "pip", "--python", folder / "venv" / "bin" / "python")
    what = str(wheel) if extras == CORE else f"{wheel}[{extras}]"
    output_of(*pip, "install", "--no-compile", "--quiet", "--constraint", constraints(extras, folder), what)
    output_of(*pip, "check")
    return at


def constraints(extras: str, folder: Path) -> Path:
    """The pinned versions; with ``elastic9`` without those of the client, which are for ``elastic``."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    if "elastic9" in extras.split(","):
        lines = [line for line in lines if not line.startswith(("elasticsearch==", "elastic-transport=="))]
    (folder / "constraints.txt").write_text("".join(lines), encoding="utf-8")
    return folder / "constraints.txt"


def build_image(at: Environment) -> None:
    """Do what the stages of the Dockerfile do, in one environment: copy, build the native core, install."""
    build, wheels = at.folder / "build", at.folder / "wheels"
    lines = (ROOT / IMAGE).read_text(encoding="utf-8").splitlines()
    for line in lines:
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            shutil.rmtree(build, ignore_errors=True)
        if instruction == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.replace("/build", ".").split()
            for source in sources:
                place = build / (source if target == "./" else target)
                place.parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / source).is_dir():
                    shutil.copytree(
                        ROOT / source, place, ignore=shutil.ignore_patterns("target", "__pycache__")
                    )
                else:
                    shutil.copy(ROOT / source, place)
        elif instruction == "RUN" and "apt-get" not in rest:
            script = rest.replace("/build", "$BUILD").replace("/wheels", "$WHEELS")
            script = script.replace("--no-cache-dir ", "")  # people's downloads are kept
            there = Environment(at.folder, {**at.variables, "BUILD": str(build), "WHEELS": str(wheels)})
            there.run("python", "-c", SHELL, script, build if build.is_dir() else at.folder)


SHELL: Final = """
import os, subprocess, sys
environment = os.environ | {"PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
sys.exit(subprocess.run(["bash", "-euc", sys.argv[1]], cwd=sys.argv[2], env=environment).returncode)
"""


def documented() -> list[str]:
    """The sets of extras in the lines that people copy, without those that are tried anyway."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))]
    found = [names for text in texts for names in re.findall(r"pip install .*?\[([\w,]+)\]", text)]
    sets = {frozenset(names.split(",")) for names in found}
    return sorted(",".join(sorted(names)) for names in sets - {frozenset(image_extras())} if len(names) > 1)


def tried(extras: str, wheel: Path, folder: Path) -> float:
    """Seconds that it took to install some extras and to use each of them."""
    started = time.monotonic()
    at = install(extras, wheel, folder)
    names = image_extras() if extras == IMAGE else extras.split(",")
    for name in names:
        (use_core if name == CORE else USES[name])(at)
    seconds = time.monotonic() - started
    print(f"{extras}: installed and used in {seconds:.0f} s", flush=True)
    return seconds


def image_extras() -> list[str]:
    """The extras that the Dockerfile installs."""
    (names,) = re.findall(r"'\.\[([\w,]+)\]'", (ROOT / IMAGE).read_text(encoding="utf-8"))
    return str(names).split(",")


def built(folder: Path) -> Path:
    """The wheel of this checkout."""
    output_of(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT)
    return next((folder / "dist").glob("*.whl"))


def main() -> int:
    """Install and use what is asked for; 1 when something fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("extras", nargs="*", help=f"{CORE}, {IMAGE}, or names of extras with commas")
    alone = [extra for extra in USES if extra not in {"celery", "proxy"}]  # which need a client, too
    asked_for = parser.parse_args().extras or [IMAGE, *alone, CORE, *documented()]
    failed = False
    with (
        tempfile.TemporaryDirectory(prefix="es-dedup-extras-") as place,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        wheel = built(Path(place))
        futures = {
            extras: pool.submit(tried, extras, wheel, Path(place) / f"{number}")
            for number, extras in enumerate(asked_for)
        }
        for extras, future in futures.items():
            try:
                future.result()
            except (Failed, subprocess.SubprocessError, OSError) as error:
                print(f"FAILED {extras}: {error}", file=sys.stderr)
                failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
