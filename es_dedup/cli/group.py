"""What holds for every command: global options anywhere, errors in one clear line, exit codes, signals."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import sys
from contextlib import suppress
from enum import IntEnum
from types import FrameType
from typing import Any, Final, NoReturn, cast

import typer
from typer.core import TyperGroup

from es_dedup.errors import ConfigError, DedupError

FLAGS: Final = frozenset({"--json", "--quiet", "-q"})
_UsageError: Final = cast(
    "type[typer.BadParameter]", typer.BadParameter.__base__
)  # of click, which typer may bring along
VALUED: Final = frozenset({"--db", "--config", "--preset", "--keep"})


class ExitCode(IntEnum):
    """What the exit code says; listed in docs/reference/cli.md."""

    OK = 0
    ERROR = 1
    USAGE = 2
    LEFT_OUT = 3
    KNOWN = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM); handled like Ctrl-C."""


class CommandFailed(DedupError):
    """A command cannot do what was asked."""

    problem: str
    message = "{problem}"


class Program(TyperGroup):
    """The top group."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the global options from wherever they stand, then parse as usual."""
        return super().parse_args(ctx, globals_first(args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; turn what it raises into a line on standard error and an exit code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt as interrupt:
            _say(_interrupted(ctx.obj))
            code = ExitCode.TERMINATED if isinstance(interrupt, Terminated) else ExitCode.INTERRUPTED
            raise typer.Exit(code) from interrupt
        except DedupError as error:
            code = ExitCode.USAGE if isinstance(error, ConfigError) else ExitCode.ERROR
            _end(ctx, str(error), code, error)
        except BrokenPipeError as error:
            # The reader has gone; what is still buffered must not raise again when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(ExitCode.BROKEN_PIPE) from error
        except OSError as error:
            _end(ctx, _plain(error), ExitCode.ERROR, error)
        except _UsageError as error:
            if not _as_json(ctx):
                raise
            _end(ctx, error.format_message(), ExitCode.USAGE, error)
        return result


def globals_first(args: list[str]) -> list[str]:
    """Arguments with the global options moved to the front; what follows ``--`` stays as it is."""
    end = args.index("--") if "--" in args else len(args)
    front: list[str] = []
    rest: list[str] = []
    place = 0
    while place < end:
        argument = args[place]
        name, _, value = argument.partition("=")
        if argument in FLAGS or (name in VALUED and value):
            front.append(argument)
        elif argument in VALUED and place + 1 < end:
            front += args[place : place + 2]
            place += 1
        else:
            rest.append(argument)
        place += 1
    return front + rest + args[end:]


def _end(context: Any, message: str, code: ExitCode, cause: Exception) -> NoReturn:
    """Say what went wrong on standard error, with ``--json`` as one JSON object, and end with ``code``."""
    if _as_json(context):
        said = {"error": message, "code": int(code), "retryable": bool(getattr(cause, "retryable", False))}
        _say(json.dumps(said, ensure_ascii=False))
    else:
        _say(f"error: {message}")
    raise typer.Exit(code) from cause


def _as_json(context: Any) -> bool:
    return bool(context.params.get("as_json"))


def handle_signals() -> None:
    """Let SIGTERM end a command as cleanly as Ctrl-C does; after a first Ctrl-C a second one ends it at once."""

    def interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with suppress(OSError):  # past sys.stderr, which may be in the middle of a write
            os.write(2, b"\nstopping; Ctrl-C again ends at once\n")
        raise KeyboardInterrupt

    def terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)


def _interrupted(session: Any) -> str:
    written = getattr(session, "writing", False)
    if not written:
        return "interrupted; nothing was being written"
    kept = session.kept or "what was stored is kept"
    if session.resume:
        return f"interrupted; {kept}. To go on: es-dedup --db {session.place} {session.resume}"
    command = shlex.join(["es-dedup", *sys.argv[1:]])
    return f"interrupted; {kept}. To go on, run the same command again: {command}"


def _plain(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"no space left on the disk{_of(error)}; what was stored before is kept: free some space and run it again"
    return f"{error.strerror or error}{_of(error)}"


def _of(error: OSError) -> str:
    return f" ({error.filename})" if error.filename else ""


def _say(message: str) -> None:
    sys.stderr.write(message + "\n")
