"""Typed settings: defaults, a TOML file, environment variables and arguments, in rising order of precedence.

Adding a setting is adding a field to a section: the docstring below it, its range and, where it shapes what is stored,
``json_schema_extra=SHAPES`` are all that loading, checking, what an index records (``recorded``) and ``config show`` need.
"""

from __future__ import annotations

import difflib
import os
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field, PrivateAttr, SecretStr, ValidationError, model_validator

from es_dedup.errors import ConfigError, wrong_type
from es_dedup.model.values import put_nested
from es_dedup.settings import presets
from es_dedup.settings.decision import DecisionConfig
from es_dedup.settings.files import read_regular
from es_dedup.settings.sections import (
    FILE,
    CcdetConfig,
    CharFrequencyConfig,
    CoverageConfig,
    DetectorNames,
    DwdcsConfig,
    ExtractorName,
    MultiSimhashConfig,
    Section,
    SimhashConfig,
    descriptions,
)
from es_dedup.settings.servers import ElasticConfig, HookConfig, MaintenanceConfig, ServeConfig, SourceConfig

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

DEFAULT_FILE: Final = "es-dedup.toml"
PREFIX: Final = "ES_DEDUP_"
OTHER_VARIABLES: Final = re.compile(
    r"ES_DEDUP_(CONFIG|DB|NAME|TOKEN|METRICS_PORT|NATIVE|MAVEN|DATA(_SECONDS)?|FUZZ(_SEED)?|SERVERS(_[A-Z]+)*"
    r"|SECURED_(USER|PASSWORD|CA)|(ES|ES9|REDIS|SECURED|THREE|NARROW|OPENSEARCH|BUNDLED)_URLS?)"
)
"""Variables with our prefix that are no settings; ``ES_DEDUP_CONFIG`` names the file to load, ``ES_DEDUP_DB`` the index; most others
are those of the tests, the benchmarks and ``scripts/servers``."""
OF_INDEX: Final = (
    "settings recorded in the index (use the release that wrote it, or scan the pages into a new one)"
)
MAX_FILE_BYTES: Final = 2**20
"""Bytes of a settings file; a larger file is something else."""


class ExtractionConfig(Section):
    """Limits and options of HTML extraction."""

    extractor: ExtractorName = "blocks"
    """extractor of main text from HTML: blocks, topic or plain, or one that was registered"""
    model: str = Field("", json_schema_extra=FILE)
    """file of a block model that you trained; empty: the built-in model"""
    max_bytes: int = Field(10_000_000, ge=1_000, le=200_000_000)
    """maximum bytes of a page; the rest is cut off"""
    max_depth: int = Field(1_000, ge=16, le=10_000)
    """depth beyond which nesting is flattened"""
    max_nodes: int = Field(300_000, ge=1_000, le=10_000_000)
    """maximum number of elements read"""
    max_seconds: float = Field(10.0, gt=0, le=600)
    """time limit for one page"""
    min_block_chars: int = Field(50, ge=0, le=10_000)
    """minimum characters of a block that is chosen as main text"""


class IndexConfig(Section):
    """Candidate retrieval and storage."""

    limit: int = Field(50, ge=1, le=1000)
    """candidates of a page that are compared first; up to eight times as many of each method where these do not settle it"""
    max_df: int = Field(200, ge=10, le=1_000_000)
    """document frequency above which a term is queried last"""
    keep_text: bool = True
    """store main texts for search, reports and highlighting"""
    lock_seconds: float = Field(10.0, ge=0, le=3600)
    """time to wait for another writer"""


class ClusterConfig(Section):
    """Choice of the canonical document."""

    order: Literal["earliest", "latest", "longest", "shortest-url"] = "earliest"
    """which page becomes the canonical document"""
    preferred_sites: tuple[str, ...] = ()
    """sites whose pages are preferred, best first"""


class Settings(Section):
    """All settings.

    Environment variables: ``ES_DEDUP_`` + section + ``__`` + key in capitals, e.g. ``ES_DEDUP_INDEX__LIMIT=100``;
    lists are separated by commas; a further ``__`` leads to ``decision.thresholds``.
    """

    detectors: DetectorNames = Field(("ccdet", "simhash", "coverage"), min_length=1)
    """enabled detection methods; their features are stored"""
    workers: int = Field(0, ge=0, le=256)
    """processes for large batches; 0: one per core"""
    extraction: ExtractionConfig = ExtractionConfig()
    ccdet: CcdetConfig = CcdetConfig()
    simhash: SimhashConfig = SimhashConfig()
    coverage: CoverageConfig = CoverageConfig()
    multi_simhash: MultiSimhashConfig = MultiSimhashConfig()
    char_frequency: CharFrequencyConfig = CharFrequencyConfig()
    dwdcs: DwdcsConfig = DwdcsConfig()
    decision: DecisionConfig = DecisionConfig()
    index: IndexConfig = IndexConfig()
    elastic: ElasticConfig = ElasticConfig()
    source: SourceConfig = SourceConfig()
    hook: HookConfig = HookConfig()
    cluster: ClusterConfig = ClusterConfig()
    maintenance: MaintenanceConfig = MaintenanceConfig()
    serve: ServeConfig = ServeConfig()

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _of_the_preset(cls, values: Any) -> Any:
        return presets.filled(values) if isinstance(values, Mapping) else values

    @model_validator(mode="after")
    def _known_method(self) -> Settings:
        if problem := presets.problem_of(self.decision, self.detectors):
            raise ValueError(problem)
        return self


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One line of ``config show``.

    Attributes:
        key: ``section.key``, or ``key`` outside the sections.
        value, default: as JSON-ready values.
        origin: ``default``, ``argument``, the file's name, or the environment variable's name.
        shapes: stored features depend on it.
        description: what it means.
        choices: the names that it takes; empty where they are not listed.
        bounds: the numbers that it takes: ``1 to 1000``, ``at least 0``; empty where its type says all.
    """

    key: str
    value: Any
    default: Any
    origin: str
    shapes: bool
    description: str
    choices: tuple[str, ...]
    bounds: str


def load_settings(
    path: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Settings from a TOML file, the environment over it, and ``overrides`` over both.

    Args:
        path: the file; when None, the one ``ES_DEDUP_CONFIG`` names, else ``es-dedup.toml`` of the current folder if
            it is there.
        overrides: by dotted key (``{"index.limit": 100}``) or nested.
        environ: in place of the process's environment.

    Raises:
        ConfigError: unknown keys, bad values, an unreadable file; all problems are named at once.
        TypeError: an argument is of a wrong type.
    """
    if not isinstance(path, str | Path | None):
        raise wrong_type("path", "the path of a TOML file", path, "give values as overrides")
    if not isinstance(overrides, Mapping | None):
        raise wrong_type("overrides", "a mapping", overrides)
    environ = os.environ if environ is None else environ
    problems: list[str] = []
    file = _file_to_read(Path(path) if path else None, environ)
    values, origins = _layered(
        (_read_file(file, problems) if file else {}, str(file)),
        (_from_environment(environ, problems), ""),
        (_flatten(overrides or {}), "argument"),
    )
    problems += _take_unknown(values, origins)
    try:
        settings = Settings.model_validate(put_nested({}, values))
    except ValidationError as error:
        problems += _problems(error, origins)
    if problems:
        raise ConfigError(tuple(problems), str(file) if file else "settings")
    origins |= presets.origins(values)
    settings._origins.update(origins)  # noqa: SLF001 - our own private attribute, set once while building
    return settings


def settings_of_index(values: Mapping[str, Any]) -> Settings:
    """Settings of nested values, some of which an index has recorded.

    Raises:
        ConfigError: a value is not allowed, or no longer.
    """
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError(tuple(_problems(error, {})), OF_INDEX) from error


def settings_in_force(settings: Settings | None) -> Settings:
    """The given settings; without any those of the settings file and the environment, as ``load_settings`` reads them.

    All of the library, the command line and the workers follow this rule.

    Raises:
        ConfigError: as ``load_settings``.
        TypeError: they are no ``Settings``.
    """
    if settings is None:
        return load_settings()
    if not isinstance(settings, Settings):
        raise wrong_type("settings", "a Settings object", settings, "load_settings(overrides=…) makes one")
    return settings


def without_texts(settings: Settings) -> Settings:
    """The settings of an index that keeps no texts."""
    return settings.model_copy(update={"index": settings.index.model_copy(update={"keep_text": False})})


def describe(settings: Settings) -> list[SettingLine]:
    """Every setting with its value and where that came from, in the order of the sections."""
    plain = Settings()
    lines = []
    for key, field, section in setting_fields():
        value, default = value_of(settings, key), value_of(plain, key)
        origin = settings._origins.get(key) or ("default" if value == default else "argument")  # noqa: SLF001 - ours
        listed = typing.get_origin(field.annotation) is Literal
        choices = typing.get_args(field.annotation) if listed else ()
        shapes, description = shapes_features(field), descriptions(section)[key.rpartition(".")[2]]
        lines.append(SettingLine(key, value, default, origin, shapes, description, choices, _bounds(field)))
    return lines


def _bounds(field: FieldInfo) -> str:
    named = ("ge", "gt", "le", "lt")
    limits = {name: getattr(each, name) for each in field.metadata for name in named if hasattr(each, name)}
    above, below = "above " * ("gt" in limits), "below " * ("lt" in limits)
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    if low is None:
        return ""
    return f"{above or 'at least '}{low}" if high is None else f"{above}{low} to {below}{high}"


def setting_fields(
    model: type[Section] | None = None, prefix: str = ""
) -> Iterator[tuple[str, FieldInfo, type[Section]]]:
    """Dotted key, field and section of every setting; of a section with ``prefix`` before its keys."""
    model = model or Settings
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from setting_fields(kind, f"{prefix}{name}.")
        else:
            yield prefix + name, field, model


SECRETS: Final = frozenset(key for key, field, _ in setting_fields() if field.annotation is SecretStr)
"""Settings whose values are never shown."""


def shapes_features(field: FieldInfo) -> bool:
    """Whether stored features depend on a setting."""
    extra: Any = field.json_schema_extra or {}
    return "shapes" in extra


def value_of(settings: BaseModel, key: str) -> Any:
    """A setting by its dotted key, JSON-ready; a secret as stars, or empty when there is none."""
    value: Any = settings
    for part in key.split("."):
        value = getattr(value, part)
    if isinstance(value, SecretStr):
        return str(value)  # stars, or nothing when there is none
    return list(value) if isinstance(value, tuple) else value


def written(value: object) -> str:
    """A value as it is written in a setting: commas between the values of a list, nothing where there is none."""
    if isinstance(value, list | tuple):
        return ", ".join(map(written, value))
    text = "" if value is None else str(value)
    return text.lower() if isinstance(value, bool) else text


def _file_to_read(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    named = environ.get("ES_DEDUP_CONFIG")
    if path is not None or named:
        return path or Path(named or "")
    default = Path(DEFAULT_FILE)
    return default if default.is_file() else None


def _read_file(path: Path, problems: list[str]) -> dict[str, Any]:
    """The file's values by dotted key; empty, with what is wrong in ``problems``, when it cannot be used."""
    import tomllib  # noqa: PLC0415 - without a file nothing needs it

    try:
        text = read_regular(path, MAX_FILE_BYTES).decode("utf-8-sig")
        return _flatten(tomllib.loads(text.replace("\r\n", "\n")))
    except OSError as error:
        problems.append(f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        problems.append("is not UTF-8 text")
    except RecursionError:
        problems.append("is nested too deeply")
    except ValueError as error:
        problems.append(f"is not valid TOML: {error}")
    return {}


def _from_environment(environ: Mapping[str, str], problems: list[str]) -> dict[str, Any]:
    fields = {_variable(key): (key, field) for key, field, _ in setting_fields()}
    values: dict[str, Any] = {}
    ours = (name for name in environ if name.startswith(PREFIX) and not OTHER_VARIABLES.fullmatch(name))
    for name in sorted(ours):
        if name not in fields:
            problems.append(f"environment variable {name}: no such setting{_hint(name, set(fields))}")
            continue
        key, field = fields[name]
        kinds = {field.annotation, *typing.get_args(field.annotation)}
        listed = any(typing.get_origin(kind) is tuple for kind in kinds)
        given = environ[name]
        if listed and given.lstrip().startswith("["):
            problems.append(
                f"environment variable {name}: the values of a list are separated by commas, without brackets: a,b"
            )
            continue
        values[key] = [each for part in given.split(",") if (each := part.strip())] if listed else given
    return values


def _layered(*layers: tuple[dict[str, Any], str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Values of later layers over those of earlier ones, and where each came from."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer, origin in layers:
        values |= layer
        origins |= {key: origin or _variable(key) for key in layer}
    return values, origins


def _take_unknown(values: dict[str, Any], origins: Mapping[str, str]) -> Iterator[str]:
    """Remove the keys that no setting has, and say of each what is wrong."""
    known = {key for key, _, _ in setting_fields()}
    for key in [key for key in values if key not in known]:
        del values[key]
        if any(name.startswith(f"{key}.") for name in known):
            yield f"{_place(key, origins[key])}: must be a section, written [{key}]"
        else:
            yield f"{_place(key, origins[key])}: unknown key{_hint(key, known)}"


def _variable(key: str) -> str:
    return PREFIX + key.replace(".", "__").upper()


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _hint(key: str, known: set[str]) -> str:
    """The nearest known key, by the whole name first, then by the last part (a key in the wrong section)."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if not near:
        last = {name.rpartition(".")[2]: name for name in sorted(known, reverse=True)}
        near = [
            last[name] for name in difflib.get_close_matches(key.rpartition(".")[2], last, n=1, cutoff=0.75)
        ]
    return f"; did you mean {near[0]}? Else remove it" if near else "; remove it, `es-dedup config` lists all"


def _place(key: str, origin: str) -> str:
    if origin.startswith(PREFIX):
        return f"environment variable {origin}"
    return f"{key} (given as an argument)" if origin == "argument" else key


_WITH_PASSWORD: Final = re.compile(r"://[^/]*@")  # an address with user and password
_WORDS: Final = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "literal_error": "must be one of {expected}",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "too_short": "must name at least {min_length}",
    "int": "must be a whole number",
    "float": "must be a number",
    "finite": "must be a number",
    "bool": "must be true or false",
}
"""Rules by the type of pydantic's error, or by the first word of it."""


def _problems(error: ValidationError, origins: Mapping[str, str]) -> dict[str, None]:
    """What is wrong with values, each problem once."""
    return dict.fromkeys(_in_words(detail, origins) for detail in error.errors(include_url=False))


def _in_words(detail: ErrorDetails, origins: Mapping[str, str]) -> str:
    key = ".".join(part for part in detail["loc"] if isinstance(part, str))
    words = _WORDS.get(detail["type"]) or _WORDS.get(detail["type"].partition("_")[0])
    rule = words.format_map(detail.get("ctx", {})) if words else detail["msg"].removeprefix("Value error, ")
    if not key:  # settings that do not go together name themselves
        return rule
    hidden = key in SECRETS or ", got " in rule or _WITH_PASSWORD.search(str(detail["input"]))
    value = "" if hidden else f", got {detail['input']!r}"
    return f"{_place(key, origins.get(key, ''))}: {rule}{value}"
