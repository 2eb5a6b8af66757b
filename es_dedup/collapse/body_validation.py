"""Check the shape of the parts of a search body that are read here; their meaning is checked by the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from es_dedup.errors import SearchRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST_DEPTH: Final = 200
"""Objects and lists within each other. Elasticsearch takes 30 nested ``bool`` queries, three levels each."""
_AGGREGATIONS: Final = ("aggs", "aggregations")


def refuse_misshapen(body: Mapping[str, Any]) -> None:
    """Refuse a body that cannot be read.

    Raises:
        SearchRefused: a part is of a wrong type, or nested too deeply.
    """
    if _too_deep(body):
        raise SearchRefused(f"the body is nested more than {MOST_DEPTH} deep", "make it flatter")
    for part, (fits, advice) in _PARTS.items():
        if part in body and not fits(body[part]):
            raise SearchRefused(f"{part} is {_shown(body[part])}", advice)
    for name in _AGGREGATIONS:
        if wrong := next(_wrong_facets(body.get(name) or {}, name), None):
            raise SearchRefused(wrong, "give an object for each aggregation, by name")


def _too_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level:
        if (depth := depth + 1) > MOST_DEPTH:
            return True
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for some in inner for each in some if isinstance(each, dict | list | tuple)]
    return False


def _wrong_facets(facets: Any, path: str) -> Iterator[str]:
    """What is wrong in aggregations and in those inside of them."""
    if not isinstance(facets, dict):
        yield f"{path} is {_shown(facets)}"
        return
    for name, spec in facets.items():
        if not isinstance(spec, dict):
            yield f"{path}.{name} is {_shown(spec)}"
            continue
        for kind, settings in spec.items():
            if kind in _AGGREGATIONS:
                yield from _wrong_facets(settings or {}, f"{path}.{name}.{kind}")
            elif kind != "meta" and not isinstance(settings, dict):
                yield f"{path}.{name}.{kind} is {_shown(settings)}"


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_knn(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and all(map(_is_object, value)))


def _is_retriever(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and all(map(_is_object, value.values()))


def _is_sort(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, str | dict)
        or (isinstance(value, list) and all(isinstance(key, str | dict) for key in value))
    )


def _is_list_of_fields(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(each, str) or (isinstance(each, dict) and isinstance(each.get("field"), str))
        for each in value
    )


def _is_fields(value: Any) -> bool:
    return isinstance(value, str) or _is_list_of_fields(value)


_FIELDS: Final = "give a list of names, or of objects with a field"
_PARTS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "query": (_is_object, "give an object, or leave it out"),
    "post_filter": (_is_object, "give an object, or leave it out"),
    "knn": (_is_knn, "give an object or a list of objects"),
    "retriever": (_is_retriever, "give an object with one retriever"),
    "sort": (_is_sort, "give a name, an object, or a list of these"),
    "docvalue_fields": (_is_list_of_fields, _FIELDS),
    "fields": (_is_list_of_fields, _FIELDS),
    "stored_fields": (_is_fields, _FIELDS),
}


def _shown(value: Any) -> str:
    return repr(value)[:60]
