"""Extractors of other packages: they extract where they are installed, and raise a plain error where they are not."""

from importlib.util import find_spec

import pytest

from es_dedup.errors import ConfigError, MissingExtra
from es_dedup.extraction import create_extractor
from es_dedup.model import Content
from es_dedup.settings.loading import ExtractionConfig

SENTENCES = [
    f"Sentence number {n} of this article speaks of the thing with the number {n * 7}." for n in range(30)
]
PAGE = (
    "<html><head><title>Things</title></head><body><nav><a href=/>Home</a></nav><article>"
    + "".join(f"<p>{' '.join(SENTENCES[n : n + 5])}</p>" for n in range(0, 30, 5))
    + "</article><footer>All rights reserved</footer></body></html>"
)


@pytest.mark.parametrize("name", ["readability", "resiliparse", "trafilatura"])
def test_another_package_extracts_or_says_what_to_install(name: str) -> None:
    config = ExtractionConfig(extractor=name)
    if find_spec(name) is None:
        with pytest.raises(
            (ConfigError, MissingExtra), match=r"the extra compare|pip install readability-lxml"
        ):
            create_extractor(config)
        return
    found = create_extractor(config).extract(PAGE)
    assert isinstance(found, Content)
    assert all(sentence in found.text.replace("\n", " ") for sentence in SENTENCES)
    assert "Home" not in found.text
    assert found.title == "Things"
