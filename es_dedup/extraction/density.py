"""Main text by density: the subtree whose blocks, weighed for and against, give the largest sum.

Every block of text weighs its length when it reads like prose (sentence punctuation, few links) and weighs against when
it reads like furniture. The subtree with the largest sum holds the main text: a larger one adds furniture, a smaller one
loses prose. Inside it, furniture is taken out again. Threads have rules of their own, in ``threads``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from es_dedup.extraction.articles.article import Article
from es_dedup.extraction.fallback import data_text, description_text, loads_more
from es_dedup.extraction.pagekind import kind_of
from es_dedup.extraction.plain import plain_text
from es_dedup.extraction.seen.choice import Choice
from es_dedup.extraction.seen.view import View
from es_dedup.extraction.threads.talk import (
    declares_article,
    is_mostly_talk,
    is_thread,
    is_thread_by_form,
    is_under_text,
)
from es_dedup.extraction.threads.thread import thread_choice
from es_dedup.model import PageKind

if TYPE_CHECKING:
    from es_dedup.config import ExtractionConfig
    from es_dedup.extraction.reading.document import Document

_LITTLE_CHARS: Final = 300  # of main text; then the page's data are looked at
_MORE_DATA: Final = 2.0  # times as long as the blocks' text
_LITTLE_SHARE: Final = 0.3  # of the prose; who keeps less may have kept the wrong part
_MOSTLY_TALK: Final = "what readers say is far longer than the text above it"
_NO_PROSE: Final = "nothing in the page reads like prose"


def density_text(document: Document, config: ExtractionConfig) -> str:
    """Main text of ``density_choice``, one line for each paragraph."""
    return density_choice(document, config).main_text(document)


def density_choice(document: Document, config: ExtractionConfig) -> Choice:
    """The blocks of the main text.

    Returns:
        The densest part of an article, all posts of a thread. Where the page has next to no text, what its scripts hold as
        data; no blocks where all that reads like prose is a notice; the whole visible page when nothing reads like prose.
    """
    thread = is_thread(document)
    view = View(document, talk=thread)
    choice = _choice(view, config, thread=thread or is_thread_by_form(view))
    if choice.kind is PageKind.THREAD:
        choice.kind = kind_of(view, choice)  # the front page of a forum is none
    if not choice.doubt and choice.places:
        choice.doubt = _doubt(view, choice)
    return choice


def _doubt(view: View, choice: Choice) -> str:
    """What makes it likely that this is not the main text, or not all of it; empty where nothing does."""
    document = view.document
    if _share(view, choice) < _LITTLE_SHARE:
        return "most of what reads like prose is left out"
    if choice.kind is PageKind.THREAD and is_under_text(view, choice.places):
        return _MOSTLY_TALK
    if not declares_article(document) and loads_more(document):
        return "the page loads more by a script"
    return ""


def _choice(view: View, config: ExtractionConfig, *, thread: bool) -> Choice:
    document = view.document
    if thread and (choice := thread_choice(view)) is not None:
        return _or_data(document, choice)
    article = Article(view)
    choice = article.choice()
    if not thread and is_mostly_talk(view, choice.places):
        view.judge(talk=True)
        talk = thread_choice(view)
        if talk is not None:
            talk.places = sorted({*choice.places, *talk.places})
            talk.doubt = _MOSTLY_TALK
            return talk
    if not choice.places and any(view.prose[place] > 0 for place in range(len(view.blocks))):
        choice = article.without_hints()
        if not choice.places:
            choice.kind = PageKind.EMPTY
    choice = _or_data(document, choice)
    if choice.text or choice.places:
        choice.kind = kind_of(view, choice)
        return choice
    if choice.kind is PageKind.EMPTY:
        return choice
    text = plain_text(document, config)
    description = description_text(document)
    if len(text) < len(description):
        return Choice((), rule="the page's description", text=description, doubt=_NO_PROSE)
    places = [place for place, block in enumerate(document.blocks) if not block.hidden]
    rule = "the whole page: nothing reads like prose"
    return Choice(places, kind_of(view, choice), rule=rule, text=text, doubt=_NO_PROSE)


def _share(view: View, choice: Choice) -> float:
    """Share of what reads like prose, is shown and is not known for furniture that was chosen."""
    chosen = set(choice.places)
    kept = left = 0.0
    for place, prose in enumerate(view.prose):
        if prose > 0:
            if place in chosen:
                kept += prose
            elif not (view.blocks[place].hidden or view.is_negative(place) or view.is_furniture(place)):
                left += prose
    return kept / (kept + left) if kept else 0.0


def _or_data(document: Document, choice: Choice) -> Choice:
    """Text from the page's data where its blocks hold far less."""
    own = sum(document.blocks[place].chars for place in choice.places)
    if own < _LITTLE_CHARS and len(text := data_text(document)) > _MORE_DATA * own:
        return Choice((), choice.kind, "data in a script", text=text)
    return choice
