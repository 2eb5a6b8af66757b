"""``idf``: how rare each word is in a corpus, as a file that settings of methods name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from es_dedup.cli.group import ExitCode
from es_dedup.cli.inputs import Intake, Paths, with_input_options
from es_dedup.cli.progress import ProgressDisplay
from es_dedup.cli.session import session_of
from es_dedup.cli.targets import output_target
from es_dedup.model.batches import chunked
from es_dedup.readers import ReadOptions  # noqa: TC001 - typer reads annotations at run time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_dedup.cli.session import Session

BATCH: Final = 256
"""Pages segmented at a time."""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(idf)


@with_input_options
def idf(
    context: typer.Context,
    paths: Paths,
    options: ReadOptions,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Output file: a word and its idf on each line.")
    ],
) -> None:
    """Learn inverse document frequencies of content words from pages, for settings like `multi_simhash.idf`."""
    from es_dedup.errors import InputError
    from es_dedup.text.idf import as_text, learned

    session = session_of(context)
    target = output_target(output, session, "--output", b"# unknown ", paths)
    intake = Intake(paths, options, session)
    found = learned(_words(session, intake))
    if not found.values:
        raise InputError(
            ", ".join(map(str, paths)), None, f"holds no words to learn from, so {output} is not written"
        )
    target.write(as_text(found).encode())
    session.output.emit({"words": len(found.values), "learned": found.version} | intake.as_dict())
    session.output.line(
        f"{len(found.values):,} words of {found.version.removeprefix('learned-')} pages: {output}"
    )
    if intake.failed:
        raise typer.Exit(ExitCode.LEFT_OUT)


def _words(session: Session, intake: Intake) -> Iterator[list[str]]:
    """Content words of each page."""
    from es_dedup.batch.featurise import content_of
    from es_dedup.extraction import create_extractor
    from es_dedup.text.normalise import normalise_many
    from es_dedup.text.words import content_words

    extractor = create_extractor(session.settings.extraction)
    read = 0
    with ProgressDisplay(quiet=session.output.quiet) as progress:
        for some in chunked(intake.pages(), BATCH):
            texts = normalise_many([content_of(page, extractor)[0].text for page in some])
            words = content_words(texts, session.settings.words.segmenter)
            yield from map(words.words, range(len(words)))
            read += len(some)
            progress.count("read", read, None)
