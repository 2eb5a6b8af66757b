"""A block model of one's own, named in the settings: read, refused, recorded by content."""

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from es_dedup import Deduplicator, Page, load_settings
from es_dedup.errors import ConfigError, SettingsMismatch
from es_dedup.extraction import create_extractor, extract
from es_dedup.extraction.block_model import BlockModel, default_model, load_model
from es_dedup.settings.loading import ExtractionConfig
from experiments.extraction.model_file import model_bytes

HTML = (
    "<body><ul><li><a href=/>Home</a></ul><p>The ferry runs again from Monday, the council said.</p></body>"
)


def _sceptic() -> BlockModel:
    """A model that takes hardly any block for main text."""
    model = default_model()
    return replace(model, trees=replace(model.trees, bias=-60.0))


def _damaged(name: str, change: bytes | None) -> bytes:
    """The model of the package with one part changed, or without it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(model_bytes(default_model()))) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.namelist():
            if part != name or change is not None:
                new.writestr(part, old.read(part) if part != name or change is None else change)
    return out.getvalue()


def _about(**changed: object) -> bytes:
    with zipfile.ZipFile(io.BytesIO(model_bytes(default_model()))) as old:
        return json.dumps(json.loads(old.read("about.json")) | changed).encode()


def test_the_extractor_takes_the_model_that_the_settings_name(tmp_path: Path) -> None:
    file = tmp_path / "own.npz"
    file.write_bytes(model_bytes(_sceptic()))
    config = ExtractionConfig(model=str(file))

    assert load_model(str(file)) is load_model(str(file))
    assert load_model("") is default_model()
    notes = [extract(HTML, config=each).notes for each in (None, config)]
    assert notes == [(), ("no block is likely to be main text",)]


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "no block model"), (b"PK", "no block model"), (model_bytes(default_model())[:9_000], "no block model"),
     (_damaged("trees_leaves.npy", None), "trees_leaves"), (_damaged("about.json", b"{"), "Expecting"), (_damaged("about.json", b"[]"), "no block model"),
     (_damaged("trees_columns.npy", b"\x93NUMPY"), "damaged|header|EOF|magic|expected"),
     (_damaged("about.json", _about(format=99)), "format 99, this version reads 1: train it again"),
     (_damaged("about.json", _about(kind={"features": ["x"], "bias": 0})), "other numbers"),
     (model_bytes(replace(_sceptic(), trees=replace(_sceptic().trees, features=("x", *_sceptic().trees.features[1:])))), "other numbers"),
     (model_bytes(replace(_sceptic(), trees=replace(_sceptic().trees, bias=float("nan")))), "damaged"),
     (model_bytes(replace(_sceptic(), trees=replace(_sceptic().trees, columns=_sceptic().trees.columns + 999))), "out of bounds"),
     (model_bytes(replace(_sceptic(), trees=replace(_sceptic().trees, leaves=np.zeros((3, 64), np.float32)))), "different sizes")],
)  # fmt: skip
def test_files_that_are_no_model_of_this_version_are_refused_at_once(
    data: bytes, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "own.npz"
    file.write_bytes(data)

    with pytest.raises(ConfigError, match=rf"extraction\.model: .*own\.npz.*(?:{said})"):
        create_extractor(ExtractionConfig(model=str(file)))


def test_an_index_records_what_is_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "own.npz"
    file.write_bytes(model_bytes(default_model()))
    settings = load_settings(overrides={"extraction.model": str(file)}, environ={})
    with Deduplicator.open(tmp_path / "pages.db", settings=settings) as dedup:
        dedup.add(Page(id="a", html=HTML.encode()))
    with Deduplicator.open(tmp_path / "pages.db", settings=settings) as dedup:
        assert dedup.record("a").page_id == "a"
    file.write_bytes(model_bytes(_sceptic()))
    with pytest.raises(SettingsMismatch, match=r"content of extraction\.model"):
        Deduplicator.open(tmp_path / "pages.db", settings=settings)
    with pytest.raises(SettingsMismatch, match=r"extraction\.model"):
        Deduplicator.open(tmp_path / "pages.db", settings=load_settings(environ={}))
