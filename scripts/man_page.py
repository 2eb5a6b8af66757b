"""The man page es-dedup(1), from the help of the commands, as the pages docs/reference/cli-*.md: ``python scripts/man_page.py > es-dedup.1``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from es_dedup import __version__
from scripts.docssupport.reference import commands, reads_input, records, root, usage

if TYPE_CHECKING:
    from collections.abc import Iterable


def man_page() -> str:
    """The page in the macros of man(7)."""
    program, scan = root(), commands()["scan"]
    lines = [
        f'.TH ES-DEDUP 1 "" "es-dedup {__version__}" "User Commands"',
        *(".SH NAME", "es\\-dedup \\- finds near\\-duplicate web pages, with evidence"),
        *(".SH SYNOPSIS", "\\fBes\\-dedup\\fR [global options] COMMAND [arguments]"),
        *(".SH GLOBAL OPTIONS", *_options(program, program.params)),
        ".SH COMMANDS",
    ]
    for name, command in commands().items():
        own = [each for each in command.params if not reads_input(each)]
        lines += [f".SS {_text(name + usage(command))}", *_paragraphs(command.help), *_options(command, own)]
        if len(own) < len(command.params):
            lines += [".PP", "And the options under INPUT OPTIONS."]
    lines += [".SH INPUT OPTIONS", *_options(scan, filter(reads_input, scan.params))]
    return "\n".join([*lines, ".SH EXIT STATUS", *_paragraphs(program.epilog), ""])


def _options(command: Any, params: Iterable[Any]) -> list[str]:
    return [
        line
        for what, text in records(command, params)
        for line in (".TP", f"\\fB{_text(what)}\\fR", _text(" ".join(text.split())))
    ]


def _paragraphs(text: str) -> list[str]:
    return [line for part in text.split("\n\n") for line in (".PP", _text(" ".join(part.split())))]


def _text(text: str) -> str:
    """Text as man(7) takes it: commands bold, and no character that means something to it."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub("`([^`]+)`", r"\\fB\1\\fR", text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    sys.stdout.write(man_page())
