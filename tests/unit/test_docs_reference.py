"""Reference text that is made from code names every option, setting and public name."""

import re
import zlib
from pathlib import Path
from typing import Final

import pytest

from es_dedup.decision.thresholds import PRESETS
from es_dedup.settings.loading import Settings, describe
from scripts.docssupport import reference
from tests.reference.required_coverage import demand

ROOT: Final = Path(__file__).resolve().parents[2]


def test_every_command_and_option_has_help_and_is_documented() -> None:
    pages = [
        reference.filled(path.read_text(encoding="utf-8"))
        for path in (ROOT / "docs/reference").glob("cli*.md")
    ]
    for name, command in reference.commands().items():
        described = [page for page in pages if re.search(rf"^##+ {name}$", page, re.MULTILINE)]
        assert len(described) == 1, name
        assert f"\nes-dedup {name}" in described[0]
        assert command.help
        text = reference.cli_text(name) + reference.cli_text("input options")
        for parameter in command.params:
            if parameter.name == "help" or getattr(parameter, "hidden", False):
                continue
            assert parameter.help, f"{name}: {parameter.name} has no help"
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert re.search(rf"{option}\b", text), f"{name}: {option} is not in its table"


def test_markers_are_replaced_by_tables() -> None:
    page = reference.filled("## add\n\n<!-- cli: add -->\n\nMore.\n")
    assert "es-dedup add PATH…" in page
    assert re.search(r"^\| `--policy .mark\|skip\|overwrite\|fail.` \|", page, re.MULTILINE)
    assert page.endswith("And the [input options](cli-input.md#options).\n\nMore.\n")
    with pytest.raises(KeyError):
        reference.filled("<!-- cli: no such command -->")


def test_every_setting_has_a_row_with_its_default_and_range() -> None:
    text = reference.filled((ROOT / "docs/reference/settings.md").read_text(encoding="utf-8"))
    assert {line.key for line in describe(Settings())} == set(
        re.findall(r"^\| `([\w.]+)` \|", text, re.MULTILINE)
    )
    assert "| `index.limit` | `50` | 1 to 1000 |" in text
    assert "| `cluster.order` | `earliest` | `earliest`, `latest`, `longest`, `shortest-url` |" in text


def test_the_page_of_each_method_has_the_settings_of_its_section() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs/algorithms").glob("*.md")]
    assert not [page for page in pages if re.search(r"^\| `\w+\.\w+` \|", page, re.MULTILINE)]
    text = "".join(map(reference.filled, pages))
    for line in describe(Settings()):
        if line.key.partition(".")[0] in {"ccdet", "coverage", "dwdcs", "simhash"}:
            assert f"| `{line.key}` |" in text
    with pytest.raises(KeyError):
        reference.filled("<!-- settings: no_such_section -->")


@pytest.mark.parametrize("preset", PRESETS)
def test_what_a_decision_means_has_the_values_of_the_preset(preset: str) -> None:
    known = PRESETS[preset]
    text = reference.filled(f"<!-- decision: {preset} -->")
    curves = (*known.needed_cover, *known.untitled_cover)
    single = (known.untitled_contained, known.words_cover, known.near_copy)
    for cover in filter(None, (*curves, *single)):
        assert f"{100 * cover:.3g} %" in text
    with pytest.raises(KeyError):
        reference.filled("<!-- decision: no_such_preset -->")


def test_the_guide_says_what_is_required_of_untitled_pages_in_words() -> None:
    page = reference.filled((ROOT / "docs/how-to/choose-thresholds.md").read_text(encoding="utf-8"))
    said = re.findall(r"separate words\*: .* at least (\S+) % .* down to (\S+) %", page)[0]
    for covers, share in zip(((0.6, 0.6), (0.6, 0.3)), said, strict=True):
        required = demand(covers, covers, 400, 0, titled=False, in_words=True)
        assert f"{100 * required:.3g}" == share


def test_every_public_module_has_a_place_in_the_api_reference() -> None:
    modules = set(reference.public_modules())
    assert {"es_dedup", "es_dedup.hook", "es_dedup.errors", "es_dedup.index.port"} <= modules
    assert not modules - reference.documented_modules()


def test_a_public_name_that_a_built_site_lacks_is_found() -> None:
    names = reference.public_names()
    assert {"es_dedup.Deduplicator", "es_dedup.errors.DedupError", "es_dedup.index.port.Index"} <= set(names)
    lines = "".join(f"{name} py:class 1 page.html#$ -\n" for name in names if name != "es_dedup.Deduplicator")
    inventory = b"# Sphinx inventory version 2\n# compressed using zlib.\n" + zlib.compress(lines.encode())
    assert reference.missing_names(inventory) == ["es_dedup.Deduplicator"]
