"""What a detection method must offer: features, a candidate query, a verdict; all pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_dedup.model import CandidateQuery, Content, Skipped, Verdict

F = TypeVar("F")
G_contra = TypeVar("G_contra", contravariant=True)


class Detector(Protocol[F]):
    """One method; ``F`` is its feature type. Those of this package inherit from the port.

    A detector does no I/O, reads no clock and uses no unseeded randomness. Knowledge of the corpus is given at
    construction as an immutable snapshot.

    Attributes:
        name: lower-case name, unique in the registry.
        version: raised when features of an older version no longer compare with new ones.
    """

    name: str
    version: int

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


@runtime_checkable
class Readable(Protocol[G_contra]):
    """A method whose features have named fields that people read and query; ``G_contra`` is its feature type.

    Attributes:
        field_types: name of each field, unique among all methods, to its type in Elasticsearch: ``keyword`` and
            ``integer`` can be searched, ``object`` is shown only.
    """

    @property
    def field_types(self) -> Mapping[str, str]:
        """See above."""

    def fields(
        self, contents: Sequence[Content | None], features: Sequence[G_contra | None]
    ) -> list[dict[str, Any]]:
        """Values by field name for each page, JSON-ready; a field without a value is left out.

        Args:
            contents: pages; None where the text is not at hand, then a field that needs it is left out.
            features: of the same pages, as ``featurise_many`` gives them; None where it skipped the page.
        """


@runtime_checkable
class Placed(Protocol):
    """A method whose terms stand in fields of its own; those of other methods stand in one field together.

    Attributes:
        term_fields: tag of terms, their upper 8 of 48 bits, to the field that holds them; or to several, of which the bits above
            the lowest 16 choose. A field that is one of ``Readable`` holds what that type says: ``integer`` the lowest 16 bits,
            ``keyword`` the text that ``Labelled`` gives; any other holds hashes.
    """

    @property
    def term_fields(self) -> Mapping[int, tuple[str, ...]]:
        """See above."""


@runtime_checkable
class Labelled(Protocol[G_contra]):
    """A method whose terms an index may store as text; ``G_contra`` is its feature type."""

    def labels(
        self, named: Sequence[Mapping[str, Any]], features: Sequence[G_contra | None]
    ) -> list[dict[int, str]]:
        """For each page its terms with their text; equal terms have equal text.

        Args:
            named: fields of ``Readable`` of the pages; a page whose features are not named has no labels.
            features: of the same pages; None where the method skipped the page.
        """
