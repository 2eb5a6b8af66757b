"""``idf``: how rare each word is in a corpus, as a file that settings of methods name."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.batch.featurise import content_of
from es_dedup.cli.command import as_command
from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake, Paths
from es_dedup.cli.session import Session
from es_dedup.cli.targets import output_target, write_target
from es_dedup.errors import InputError
from es_dedup.model.batches import chunked
from es_dedup.readers import ReadOptions
from es_dedup.text.idf import Idf
from es_dedup.text.normalise import normalise_many
from es_dedup.text.words import content_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BATCH: Final = 256
"""Pages segmented at a time."""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(as_command(idf))


def idf(
    session: Session, paths: Paths, *, options: ReadOptions, output: Annotated[str, typer.Option("-o")]
) -> ExitCode:
    """Learn inverse document frequencies of content words from pages, for settings like `multi_simhash.idf`.

    Args:
        output: Output file: a word and its idf on each line.
    """
    target = output_target(output, session, "--output", paths)
    intake = Intake(paths, options, session)
    found = learned(_words(session, intake))
    if not found.values:
        raise InputError(
            ", ".join(map(str, paths)), None, f"holds no words to learn from, so {output} is not written"
        )
    write_target(target, as_text(found).encode())
    session.output.emit({"words": len(found.values), "learned": found.version} | intake.as_dict())
    session.output.line(
        f"{len(found.values):,} words of {found.version.removeprefix('learned-')} pages: {output}"
    )
    return ExitCode.LEFT_OUT if intake.failed else ExitCode.OK


def _words(session: Session, intake: Intake) -> Iterator[list[str]]:
    """Content words of each page."""
    read = 0
    with session.progress() as progress:
        for some in chunked(intake.pages(), BATCH):
            texts = normalise_many([content_of(page, session.settings.extraction)[0].text for page in some])
            words = content_words(texts)
            yield from map(words.words, range(len(words)))
            read += len(some)
            progress.count("read", read, None)


def learned(pages: Iterable[Iterable[str]]) -> Idf:
    """Idf over pages given as their words: ln((N + 1) / (df + 1)) + 1; an unknown word is in no page.

    The added 1 keeps a word that all pages have from weighing nothing.
    """
    frequency: Counter[str] = Counter()
    count = 0
    for words in pages:
        frequency.update(set(words))
        count += 1
    values = {word: math.log((count + 1) / (df + 1)) + 1 for word, df in frequency.items()}
    return Idf(values, math.log(count + 1) + 1, f"learned-{count}")


def as_text(idf: Idf) -> str:
    """The lines of a file that ``es_dedup.text.idf.load`` reads, words in order, numbers to six digits."""
    lines = [f"# unknown {idf.unknown:.6g}", f"# words {len(idf.values)}"]
    lines += [f"{word} {value:.6g}" for word, value in sorted(idf.values.items())]
    return "\n".join(lines) + "\n"
