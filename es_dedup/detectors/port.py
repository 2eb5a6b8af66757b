"""What a detection method must offer: features, a candidate query, a verdict; all pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.model import CandidateQuery, Content, Skipped, Verdict

F = TypeVar("F")


class Detector(Protocol[F]):
    """One method; ``F`` is its feature type. Those of this package inherit from the port.

    A detector does no I/O, reads no clock and uses no unseeded randomness. Knowledge of the corpus is given at
    construction as an immutable snapshot.

    Attributes:
        name: lower-case name, unique in the registry.
        version: raised when features of an older version no longer compare with new ones.
        field_types: name of each field that people read and query, unique among all methods, to its type in Elasticsearch:
            ``keyword`` and ``integer`` can be searched, ``object`` is shown only; none where the method names no features.
        term_fields: tag of terms, their upper 8 of 48 bits, to the field that holds them; or to several, of which the bits above
            the lowest 16 choose. A field of ``field_types`` holds what that type says: ``integer`` the lowest 16 bits, ``keyword``
            the text that ``labels`` gives; any other holds hashes. Terms of other tags stand in one field together.
    """

    name: str
    version: int
    field_types: ClassVar[Mapping[str, str]] = {}
    term_fields: ClassVar[Mapping[int, tuple[str, ...]]] = {}

    def featurise(self, content: Content) -> F | Skipped:
        """Features of one page, or ``Skipped`` when the page gives the method nothing to compare."""
        return self.featurise_many([content])[0]

    def featurise_many(self, contents: Sequence[Content]) -> list[F | Skipped]:
        """The same for each of several contents, in order."""

    def candidate_query(self, features: F) -> CandidateQuery | None:
        """The question that finds candidates; None when the method only verifies."""

    def terms(self, features: F) -> tuple[int, ...]:
        """Terms to store, so that other pages' queries find this one; each an unsigned 48-bit number."""

    def verify(self, left: F, right: F) -> Verdict:
        """The relation of two pages with the numbers it rests on."""

    def pack(self, features: F) -> bytes:
        """Features as bytes; ``unpack(pack(f))`` equals ``f``."""

    def unpack(self, payload: bytes) -> F:
        """Features from bytes; raises ``ValueError`` on bytes that ``pack`` did not make."""

    def fields(
        self,
        contents: Sequence[Content | None],  # noqa: ARG002 - a method without fields
        features: Sequence[F | None],
    ) -> list[dict[str, Any]]:
        """Values of ``field_types`` by field name for each page, JSON-ready; a field without a value is left out.

        Args:
            contents: pages; None where the text is not at hand, then a field that needs it is left out.
            features: of the same pages, as ``featurise_many`` gives them; None where it skipped the page.
        """
        return [{} for _ in features]

    def labels(
        self, named: Sequence[Mapping[str, Any]], features: Sequence[F | None]
    ) -> list[dict[int, str]]:
        """For each page its terms that an index may store as text, with that text; equal terms have equal text.

        As it stands here, a field of terms that is a ``keyword`` has a text for each term, in their order.

        Args:
            named: values of ``fields`` of the pages; a page whose features are not named has no labels.
            features: of the same pages; None where the method skipped the page.
        """
        fields = (name for names in self.term_fields.values() for name in names)
        field = next((name for name in fields if self.field_types.get(name) == "keyword"), "")
        return [
            {} if each is None or field not in page else dict(zip(self.terms(each), page[field], strict=True))
            for page, each in zip(named, features, strict=True)
        ]
