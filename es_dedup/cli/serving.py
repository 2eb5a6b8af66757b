"""``serve``: the REST API."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from es_dedup.cli.session import Session
from es_dedup.errors import needs_extra

if TYPE_CHECKING:
    from es_dedup.serve.tokens import Tokens


def serve(
    session: Session,
    *,
    host: str | None = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535)] = None,
) -> None:
    """Serve the index by a REST API until stopped; SIGTERM and Ctrl-C let requests that are worked on end.

    Requests need a token. Tokens are made at the first start, in the file that serve.token_file names.

    Args:
        host: Address to listen on (default: serve.host).
        port: Port to listen on; 0: any free one (default: serve.port).
    """
    settings, output = session.settings, session.output
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = settings.model_copy(update={"serve": settings.serve.model_copy(update=given)})
    with needs_extra("serve", "es-dedup serve"):
        from es_dedup.serve.server import serve as run

    def tell(address: str, tokens: Tokens | None) -> None:
        output.emit({"command": output.command, "address": address})
        output.line(f"serving {session.place} on {address}")
        sys.stdout.flush()
        if tokens is None:
            return
        if tokens.shown and sys.stderr.isatty():
            for scope, token in tokens.shown.items():
                output.warn(f"token to {scope}: {token}")
        elif tokens.shown:
            output.note(f"tokens were made: {settings.serve.token_file}")

    session.reach()
    with suppress(KeyboardInterrupt):  # the usual end
        run(session.db, settings, tell)
