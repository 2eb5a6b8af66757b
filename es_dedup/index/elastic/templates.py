"""The mapping of ``dedup`` for source indices that do not exist yet: a component template, and where it is used.

A component template takes effect through an index template. Where one of the user's fits the target, ours is added to its
``composed_of``; where none does, one with the lowest priority is made, which any other template outdoes.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from es_dedup.index.elastic.schema import META_KEY
from es_dedup.index.elastic.server import NOT_FOUND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_dedup.index.elastic.server import Server

SUFFIX: Final = "dedup-source"
OWN_TEMPLATES: Final = "own_templates"
_ROLLED_OVER: Final = re.compile(r"-\d{6}$")
KEPT: Final = (
    "index_patterns",
    "composed_of",
    "template",
    "priority",
    "version",
    "_meta",
    "data_stream",
    "allow_auto_create",
    "ignore_missing_component_templates",
)


def template_name(name: str) -> str:
    """The name of an index's component template, and of the index template where one is made."""
    return f"{name}-{SUFFIX}"


def install(
    server: Server,
    name: str,
    targets: Iterable[str],
    properties: Mapping[str, Any],
    *,
    dry_run: bool,
    own_templates: bool = False,
) -> str:
    """Add the mapping to the templates of indices that are created later; says what was done, or would be.

    A composable index template hides legacy templates, so none is made where a legacy template makes the indices. None is
    made either for an index that is neither named by a pattern nor rolled over.

    Args:
        server: where the templates are.
        name: of the index of features; its templates are named after it.
        targets: the names and patterns that were attached, and the concrete indices behind them.
        properties: the mapping of ``dedup``.
        dry_run: change nothing.
        own_templates: make the component template only; the user names it in her index templates.
    """
    wanted = list(dict.fromkeys(targets))
    ours = template_name(name)
    if not dry_run:
        body = {"mappings": {"properties": dict(properties)}}
        server.call(
            lambda client: client.cluster.put_component_template(
                name=ours, template=body, meta={META_KEY: {OWN_TEMPLATES: own_templates}}
            ),
            writing=True,
        )
    fitting = _fitting(server, wanted, ours)
    if own_templates:
        users = f" ({', '.join(sorted(fitting))})" if fitting else ""
        return f"component template {ours}: name it in composed_of of your index templates{users}"
    for other, template in fitting.items():
        parts = list(template.get("composed_of", ()))
        if ours not in parts and not dry_run:
            _put(server, other, {**template, "composed_of": [*parts, ours]})
    if fitting:
        return f"component template {ours} in index template {', '.join(sorted(fitting))}"
    if legacy := _legacy(server, wanted):
        return (
            f"component template {ours}, used by no index template: legacy templates ({', '.join(legacy)}) make "
            f"these indices; add the mapping of `dedup` to them"
        )
    patterns = list(dict.fromkeys(filter(None, map(_pattern, wanted))))
    if not patterns:
        return f"component template {ours}, used by no index template"
    if not dry_run:
        _put(server, ours, {"index_patterns": patterns, "composed_of": [ours], "priority": 0})
    return f"index template {ours} for {', '.join(patterns)}"


def uninstall(server: Server, name: str, *, dry_run: bool = False) -> list[str]:
    """Remove the component template, also from all index templates; names of those that were changed or removed.

    One that the user names in her index templates stays while she does, see ``install``.
    """
    ours = template_name(name)
    found = _all(server)
    using = {other: each for other, each in found.items() if ours in each.get("composed_of", ())}
    if using and _is_users(server, ours):
        return []
    if dry_run:
        return sorted({*using, ours})
    for other, template in using.items():
        if other == ours:
            server.call(lambda client: client.indices.delete_index_template(name=ours), writing=True)
        else:
            parts = [part for part in template["composed_of"] if part != ours]
            _put(server, other, {**template, "composed_of": parts})
    removed = server.call_unless(
        lambda client: client.cluster.delete_component_template(name=ours), NOT_FOUND, writing=True
    )
    return sorted({*using, ours} if removed else using)


def _is_users(server: Server, ours: str) -> bool:
    """Whether the component template was made for index templates that the user maintains."""
    answer = server.call_unless(lambda client: client.cluster.get_component_template(name=ours), NOT_FOUND)
    if answer is None:
        return False
    (found,) = answer["component_templates"]
    return bool(found["component_template"].get("_meta", {}).get(META_KEY, {}).get(OWN_TEMPLATES))


def _pattern(name: str) -> str:
    """The pattern of the indices that follow a name: itself, or that of the indices a rollover makes; else empty."""
    if "*" in name:
        return name
    return _ROLLED_OVER.sub("-*", name) if _ROLLED_OVER.search(name) else ""


def _legacy(server: Server, targets: Sequence[str]) -> list[str]:
    """The user's legacy templates that make indices of some targets."""
    found = server.call(lambda client: client.indices.get_template())
    return sorted(
        name
        for name, template in found.items()
        if any(_meets(pattern, target) for pattern in template["index_patterns"] for target in targets)
    )


def _fitting(server: Server, targets: Sequence[str], ours: str) -> dict[str, Mapping[str, Any]]:
    """The user's index templates that make indices of a target."""
    return {
        name: template
        for name, template in _all(server).items()
        if name != ours
        and not template.get("_meta", {}).get("managed")
        and any(_meets(pattern, target) for pattern in template["index_patterns"] for target in targets)
    }


def _meets(pattern: str, target: str) -> bool:
    """Whether a template's pattern covers a target, which may be a pattern itself."""
    return pattern != "*" and fnmatchcase(target, pattern)


def _all(server: Server) -> dict[str, Mapping[str, Any]]:
    found = server.call(lambda client: client.indices.get_index_template())
    return {each["name"]: each["index_template"] for each in found["index_templates"]}


def _put(server: Server, name: str, template: Mapping[str, Any]) -> None:
    """Replace an index template; what the server itself added to its answer is left out."""
    body = {key.removeprefix("_"): value for key, value in template.items() if key in KEPT}
    server.call(lambda client: client.indices.put_index_template(name=name, **body), writing=True)
