"""A reverse proxy with a path prefix, and a forward proxy, each as a process of its own: ``python -m tests.gateway``.

The first line on standard output is its address.
"""

import argparse
import base64
import http.client
import select
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "proxy-connection"}


@dataclass(frozen=True)
class Certificates:
    """Files of an authority, and of a server and a client that it vouches for."""

    folder: Path

    def __getattr__(self, name: str) -> str:
        return str(self.folder / name.replace("_", "."))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the server's certificate, in hexadecimal with colons."""
        said = openssl(self.folder, "x509", "-in", "server.crt", "-noout", "-fingerprint", "-sha256")
        return said.strip().partition("=")[2]


def openssl(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def make_certificates(folder: Path) -> Certificates:
    """New ones, for 127.0.0.1 and the names ``localhost`` and ``es.localhost``."""
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:es.localhost\n"
    (folder / "names").write_text(names)
    (folder / "none").write_text("")
    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(folder, *new, "-x509", "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.crt")
    for who, extensions in (("server", "names"), ("client", "none")):
        openssl(folder, *new, "-subj", f"/CN={who}", "-keyout", f"{who}.key", "-out", f"{who}.csr")
        openssl(folder, "x509", "-req", "-in", f"{who}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", "2",
                "-extfile", extensions, "-out", f"{who}.crt")  # fmt: skip
    return Certificates(folder)


@contextmanager
def gateway(*arguments: str) -> Iterator[str]:
    """Start one; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.gateway", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Reverse(BaseHTTPRequestHandler):
    """Hands requests below the prefix on to the target; all others are not found."""

    protocol_version = "HTTP/1.1"
    asked: argparse.Namespace

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        prefix = self.asked.prefix
        if self.asked.authorization not in ("", self.headers.get("authorization")):
            self.answer(401, [], b'{"error": "who are you?"}')
            return
        if not self.path.startswith(f"{prefix}/"):
            self.answer(404, [], b'{"error": "not below the prefix"}')
            return
        target = urlsplit(self.asked.target)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
        connection.request(self.command, self.path.removeprefix(prefix), body or None, headers)
        found = connection.getresponse()
        self.answer(found.status, found.getheaders(), found.read())
        connection.close()

    def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - names of the base class

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class Forward(Reverse):
    """Makes tunnels to one target, whatever name is asked for, and hands on requests with whole addresses."""

    def allowed(self) -> bool:
        if not self.asked.user:
            return True
        wanted = "Basic " + base64.b64encode(self.asked.user.encode()).decode()
        if self.headers.get("proxy-authorization") == wanted:
            return True
        self.answer(407, [("proxy-authenticate", "Basic")], b"")
        return False

    def do_CONNECT(self) -> None:
        if not self.allowed():
            return
        target = urlsplit(self.asked.target)
        with socket.create_connection((target.hostname, target.port)) as server, suppress(OSError):
            self.send_response(200)
            self.end_headers()
            client = self.connection
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65_536)
                    if not data:
                        self.close_connection = True
                        return
                    (server if source is client else client).sendall(data)

    def handle_any(self) -> None:
        if self.allowed():
            parts = urlsplit(self.path)
            self.path = self.asked.prefix + parts.path + (f"?{parts.query}" if parts.query else "")
            super().handle_any()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - names of the base class


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["reverse", "forward"])
    for name in ("target", "prefix", "cert", "key", "client-ca", "user", "authorization"):
        parser.add_argument(f"--{name}", default="")
    asked = parser.parse_args()
    handler = type("Handler", (Reverse if asked.kind == "reverse" else Forward,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if asked.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(asked.cert, asked.key)
        if asked.client_ca:
            context.load_verify_locations(asked.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(f"{'https' if asked.cert else 'http'}://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
