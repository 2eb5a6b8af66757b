"""Bodies of requests: their models, and pages made of them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from es_dedup.batch.journal import MAX_CHARS
from es_dedup.model import MAX_ID_BYTES, Page, id_problem
from es_dedup.model.annotations import Label
from es_dedup.model.overrides import OverrideKind
from es_dedup.readers.pagefiles import binary_kind
from es_dedup.readers.records import USUAL, no_text
from es_dedup.serve.problems import InvalidBody
from es_dedup.text.content import content_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_core import ErrorDetails

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
MOST_PROBLEMS: Final = 10
"""Problems of one body that are named."""
Words = Annotated[str, Field(max_length=MAX_CHARS)]
"""A name or a reason."""


class Body(BaseModel):
    """A JSON object; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, data: bytes | Mapping[str, Any]) -> Self:
        """The object in JSON, or of the fields of a form.

        Raises:
            InvalidBody: it is no JSON, or not of this form; all problems are named.
        """
        try:
            return cls.model_validate_json(data) if isinstance(data, bytes) else cls.model_validate(data)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False, include_context=False)
            problems = tuple(map(_in_words, details[:MOST_PROBLEMS]))
            raise InvalidBody(problems) from None  # its text would quote the input


class PageBody(Body):
    """A page: its main text or its HTML, and an id; without one it has a digest of its content as its id."""

    id: str = Field(
        "",
        max_length=MAX_ID_BYTES,
        description="unique in the index; with PUT that of the address; else a digest of the content",
    )
    text: str | None = Field(
        None,
        validation_alias=AliasChoices(*USUAL["text"]),
        description="main text that was extracted already; then HTML is ignored",
    )
    html: str | None = Field(
        None, validation_alias=AliasChoices("html", "raw_html"), description="decoded HTML"
    )
    html_base64: str | None = Field(None, description="HTML as served, in base64")
    url: str | None = Field(None, description="where the page was found")
    title: str | None = Field(None, description="in place of the extracted title")
    published: str | None = Field(None, description="ISO 8601; in place of the extracted time")
    site: str | None = Field(None, description="what pages of one site share; else the host of the URL")
    http_charset: str | None = Field(None, description="charset of the HTTP header")

    def page(self, page_id: str = "") -> Page:
        """The page, under an id that comes before its own.

        Raises:
            InvalidBody: there is no usable id, or neither text nor HTML, or two ids differ.
        """
        if page_id and self.id not in ("", page_id):
            raise InvalidBody((f"id: is {self.id!r}, the address names {page_id!r}",))
        html: str | bytes | None = self.html
        if self.html_base64 is not None and html is None:
            try:
                html = base64.b64decode(self.html_base64, validate=True)
            except ValueError as error:
                raise InvalidBody((f"html_base64: is not valid base64: {error}",)) from error
        if self.text is None and html is None:
            raise InvalidBody((no_text(self.model_fields_set, "send one as text or html"),))
        name = page_id or self.id or content_id((self.text or "").strip() or html or "", self.title)
        if problem := id_problem(name):
            raise InvalidBody((f"id: {problem}",))
        named = self.model_dump(include={"url", "title", "published", "site", "http_charset"})
        page = Page(id=name, text=self.text, html=html, **named)
        if not page.has_text and isinstance(html, bytes) and (kind := binary_kind(html)):
            raise InvalidBody((f"html_base64: holds {kind}, not a page",))
        return page


class ExplainBody(Body):
    """Two pages, each the id of a stored one or a page."""

    left: str | PageBody
    right: str | PageBody
    also: tuple[str, ...] = Field((), description="methods that compare beside the enabled ones")
    without: tuple[str, ...] = Field((), description="decision rules, or groups of them, that are left out")


class JobBody(Body):
    """A job to begin."""

    what: Literal["recluster", "backfill"]
    target: str | None = Field(None, description="of a backfill: an attached index; absent: all")
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="documents a second at most"
    )
    force: bool = Field(default=False, description="even if very many documents change")
    dry_run: bool = Field(default=False, description="of a recluster: say what would change, write nothing")
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="of a recluster: decision settings that differ from those in force, by dotted name; absent: those of the server",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Refuse what belongs to the other job: a backfill writes, whatever is said of a dry run."""
        of_other_job = {"recluster": ("target", "rate"), "backfill": ("dry_run", "settings")}[self.what]
        if wrong := [name for name in of_other_job if getattr(self, name)]:
            raise ValueError(f"{', '.join(wrong)}: not of a {self.what}")
        return self


class OverrideBody(Body):
    """A decision of a person that goes before the rules."""

    kind: OverrideKind
    pages: tuple[str, ...] = Field((), description="ids of two stored pages; of one for `canonical`")
    site: str = Field("", description="of `ignore`: a site, as its pages name it")
    text: str = Field("", description="of `ignore`: the passage that never counts there")
    reason: Words = Field(description="why; kept with the decision")
    author: Words = Field(description="who decides; kept with the decision")


class ReviewBody(Body):
    """What a reader says of two stored pages; ``skip``: nothing. With ``override`` the same holds for clusters."""

    left: str
    right: str
    reader: Words
    answer: Label | Literal["skip"]
    override: bool = False
    reason: Words = ""


class UndoBody(Body):
    """Who ends an override, and why."""

    author: Words
    reason: Words = ""


SENT: Final = (PageBody, ExplainBody, JobBody, OverrideBody, UndoBody)
"""Bodies of the REST API; others are made of the console's forms."""


def lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines of NDJSON that are not blank, with their numbers from 1."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield number, line


def _in_words(detail: ErrorDetails | dict[str, Any]) -> str:
    place = ".".join(str(part) for part in detail["loc"])
    return f"{place}: {detail['msg']}" if place else str(detail["msg"])
