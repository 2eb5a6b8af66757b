"""Tokens: who may read, who may write. Kept in a file that only its owner reads, or given by the settings."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from es_dedup.errors import ConfigError
from es_dedup.settings.files import read_regular

if TYPE_CHECKING:
    from es_dedup.settings.servers import ServeConfig

TOKEN_BYTES: Final = 32
MIN_CHARS: Final = 16
"""Characters of a token that people choose; those made here have 43."""
MAX_FILE_BYTES: Final = 10_000
_OTHERS: Final = 0o077
"""Permissions of group and others."""


class Scope(StrEnum):
    """What a token is good for; ``write`` includes reading."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The token of each scope; one that is empty is never accepted.

    Attributes:
        digests: SHA-256 of the tokens by scope.
        shown: the tokens by scope where they were made just now, to be shown on a terminal.
    """

    digests: dict[Scope, bytes]
    shown: dict[Scope, str] | None = None

    def scope_of(self, authorization: str) -> Scope | None:
        """The scope of a header ``Authorization``; None of one that holds no valid token. Takes the same time for any."""
        kind, _, token = authorization.partition(" ")
        given = sha256(token.strip().encode("utf-8", "surrogateescape")).digest()
        scopes = [scope for scope, known in self.digests.items() if hmac.compare_digest(known, given)]
        return max(scopes, default=None) if kind.lower() == "bearer" and token.strip() else None


def load_tokens(settings: ServeConfig) -> Tokens:
    """The tokens of the settings where there are any, else those of the file, which is made when it is not there.

    Raises:
        ConfigError: a token is short or not plain ASCII, or the file is readable by others, damaged, or cannot be made.
    """
    given = {
        Scope.READ: settings.read_token.get_secret_value(),
        Scope.WRITE: settings.write_token.get_secret_value(),
    }
    if any(given.values()):
        return _tokens(given, "settings")
    path = Path(settings.token_file)
    new_tokens = {scope: secrets.token_urlsafe(TOKEN_BYTES) for scope in Scope}
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _tokens(_read(path), str(path))
    except OSError as error:
        raise ConfigError((f"serve.token_file: cannot be made: {error.strerror}",), str(path)) from error
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        stream.writelines(f"{scope} {token}\n" for scope, token in new_tokens.items())
    return Tokens(_tokens(new_tokens, str(path)).digests, new_tokens)


def _read(path: Path) -> dict[Scope, str]:
    try:
        if path.stat().st_mode & _OTHERS:
            problem = (
                f"serve.token_file: others may read it: run `chmod 600 {path}`, or remove it and restart"
            )
            raise ConfigError((problem,), str(path))
        lines = read_regular(path, MAX_FILE_BYTES).decode("utf-8").split("\n")
        return {Scope(scope): token for scope, token in (line.split() for line in lines if line.strip())}
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or "each line must be `read TOKEN` or `write TOKEN`"
        raise ConfigError((f"serve.token_file: {words}",), str(path)) from error


def _tokens(given: dict[Scope, str], source: str) -> Tokens:
    sendable = re.compile(f"[!-~]{{{MIN_CHARS},}}")  # others are sent by each client in its own encoding
    if not any(given.values()) or not all(sendable.fullmatch(token) for token in given.values() if token):
        problem = f"tokens must have at least {MIN_CHARS} characters, all of them ASCII and none white space"
        raise ConfigError((problem,), source)
    return Tokens({scope: sha256(token.encode()).digest() for scope, token in given.items() if token})
