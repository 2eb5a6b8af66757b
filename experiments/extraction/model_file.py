"""Block models as files."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from es_dedup.extraction.block_model import FORMAT

if TYPE_CHECKING:
    from es_dedup.extraction.block_model import BlockModel


def model_bytes(model: BlockModel) -> bytes:
    """The model as the content of a file, which ``read_model`` reads; equal models give equal bytes."""
    arrays: dict[str, Any] = {}
    for name, odds in (("block", model.odds), ("thread", model.thread_odds)):
        arrays |= {f"{name}_words": odds.words, f"{name}_values": odds.values.astype(np.float16)}
    for name, trees in (("kind", model.kind), ("trees", model.trees)):
        arrays |= {
            f"{name}_columns": trees.columns.astype(np.int16),
            f"{name}_borders": trees.borders,
            f"{name}_leaves": trees.leaves.astype(np.float16),
        }
    about = {
        "format": FORMAT, "card": model.card, "block_names": _rounded(model.odds.names), "thread_names": _rounded(model.thread_odds.names),
        "kind": {"features": model.kind.features, "bias": model.kind.bias}, "trees": {"features": model.trees.features, "bias": model.trees.bias},
    }  # fmt: skip
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        _put(archive, "about.json", json.dumps(about, ensure_ascii=False, indent=1).encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            _put(archive, f"{name}.npy", buffer.getvalue())
    return whole.getvalue()


def _rounded(odds: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in sorted(odds.items())}


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)
