"""Terms with their text, for methods whose named field has one text for each term, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def labels_in_order(
    field: str,
    named: Sequence[Mapping[str, Any]],
    features: Sequence[Any | None],
    terms_of: Callable[[Any], Sequence[int]],
) -> list[dict[int, str]]:
    """For each page the terms of its features with the values of a named field; see ``Labelled.labels``.

    Args:
        field: its name.
        named: named fields of the pages.
        features: of the same pages; None where the method skipped the page.
        terms_of: terms of one page's features, as many as the field has values.
    """
    return [
        {} if each is None or field not in page else dict(zip(terms_of(each), page[field], strict=True))
        for page, each in zip(named, features, strict=True)
    ]
