"""Components for LangChain and Haystack: near-duplicates are dropped before embedding and collapsed at retrieval."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from es_dedup import Deduplicator, Page
from es_dedup.settings import Settings
from es_dedup.tables.documents import decided

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore"),  # other packages warn of their own code
]
FERRY = (
    "The ferry ran aground at noon on Monday near the old lighthouse. All 214 passengers were taken off safely by evening. "
    "The captain told reporters that a rudder had failed in the strong current."
)
LONGER = FERRY + " Divers will look at the hull on Tuesday morning."
MAYOR = "Nobody has seen the mayor since the flood of last March. The council meets today without its head."
SETTINGS = Settings(workers=1)


@pytest.fixture
def langchain() -> Any:
    """The module; skipped where LangChain is not installed."""
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from es_dedup import langchain  # noqa: PLC0415 - imports what an extra brings

    return langchain


@pytest.fixture
def haystack() -> Any:
    """The module; skipped where Haystack is not installed."""
    pytest.importorskip("haystack", reason="the extra haystack is not installed")
    from es_dedup import haystack  # noqa: PLC0415 - imports what an extra brings

    return haystack


def test_a_transformer_keeps_canonical_documents(langchain: Any) -> None:
    documents = [langchain.Document(text) for text in (FERRY, MAYOR, LONGER)]
    transformer = langchain.DedupTransformer(settings=SETTINGS)
    assert transformer.transform_documents(documents) == documents[1:]
    assert asyncio.run(transformer.atransform_documents(documents)) == documents[1:]
    dated = [
        langchain.Document(text, metadata={"published": day, "title": 7, "source": "https://a.example/"})
        for text, day in ((FERRY, "2026-03-01T08:00"), (LONGER, "2026-03-01T12:00"))
    ]
    assert transformer.transform_documents(dated) == dated[:1]
    assert transformer.transform_documents([]) == []


def test_a_transformer_with_an_index_drops_what_came_before(langchain: Any, tmp_path: Path) -> None:
    transformer = langchain.DedupTransformer(tmp_path / "seen.db", settings=SETTINGS)
    first = [langchain.Document(text) for text in (FERRY, MAYOR, FERRY)]
    assert transformer.transform_documents(first) == first[:2]
    assert transformer.transform_documents([langchain.Document(LONGER, id="new")]) == []
    assert transformer.transform_documents([langchain.Document(MAYOR)]) == [langchain.Document(MAYOR)]


def test_a_retriever_collapses_hits_and_names_those_left_out(langchain: Any) -> None:
    from langchain_core.retrievers import BaseRetriever  # noqa: PLC0415 - of an extra

    class Fixed(BaseRetriever):  # type: ignore[misc]
        """Finds the same documents always."""

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            metadata = {"source": "https://a.example/"}
            return [
                langchain.Document(FERRY, metadata={"rank": 1}),
                langchain.Document(LONGER, id="b"),
                langchain.Document(FERRY, metadata=metadata),
                langchain.Document(MAYOR),
            ]

    retriever = langchain.DedupRetriever(retriever=Fixed(), settings=SETTINGS)
    found = retriever.invoke("ferry")
    assert [each.page_content for each in found] == [FERRY, MAYOR]
    assert found[0].metadata == {"rank": 1, "near_duplicates": ["b", "https://a.example/"]}
    assert asyncio.run(retriever.ainvoke("ferry")) == found
    assert len(langchain.DedupRetriever(retriever=Fixed(), k=1).invoke("ferry")) == 1


def test_a_component_divides_documents(haystack: Any) -> None:
    contents = (FERRY, MAYOR, LONGER, None)
    documents = [haystack.Document(content=text, meta={"title": 7}) for text in contents]
    made = haystack.DocumentDeduplicator().run(documents=documents)
    assert made == {"documents": [documents[0], documents[1], documents[3]], "duplicates": [documents[2]]}
    made = haystack.DocumentDeduplicator("canonical", top_k=2).run(documents=documents)
    assert made == {"documents": documents[1:3], "duplicates": [documents[0]]}
    with pytest.raises(ValueError, match="keep must be 'first' or 'canonical', not 'last'"):
        haystack.DocumentDeduplicator("last")


def test_a_component_with_an_index_drops_what_came_before(haystack: Any, tmp_path: Path) -> None:
    index = str(tmp_path / "seen.db")
    ferry, mayor, longer = (haystack.Document(content=text) for text in (FERRY, MAYOR, LONGER))
    made = haystack.DocumentDeduplicator(index=index).run(documents=[ferry, mayor, ferry])
    assert made["documents"] == [ferry, mayor]
    made = haystack.DocumentDeduplicator(index=index).run(documents=[mayor, longer])
    assert made == {"documents": [mayor], "duplicates": [longer]}


def test_a_pipeline_with_the_component_is_stored_and_loaded(haystack: Any) -> None:
    from haystack import Pipeline  # noqa: PLC0415 - of an extra
    from haystack.version import __version__ as haystack_version  # noqa: PLC0415

    pipeline = Pipeline()
    settings = {"decision": {"preset": "strict"}}
    pipeline.add_component("dedup", haystack.DocumentDeduplicator("canonical", settings=settings))
    allowed = {"allowed_modules": ["es_dedup.haystack"]} if haystack_version >= "3" else {}
    loaded = Pipeline.loads(pipeline.dumps(), **allowed)
    documents = [haystack.Document(content=text) for text in (FERRY, FERRY)]
    made = loaded.run({"dedup": {"documents": documents}})["dedup"]
    assert made["documents"] == documents[:1]
    assert loaded.get_component("dedup").settings == settings


def test_pages_against_an_index_are_decided_on_in_order(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path / "pages.db", settings=SETTINGS) as dedup:
        pages = [Page("a", text=FERRY), Page("b", text=LONGER), Page("c"), Page("d", text=MAYOR)]
        for _ in range(2):
            decisions = decided(dedup, pages, store=True)
            assert [(each.page_id, str(each.outcome), each.duplicate_of) for each in decisions] == [
                ("a", "duplicate", "b"),
                ("b", "unique", None),
                ("c", "inconclusive", None),
                ("d", "unique", None),
            ]
        assert decisions[2].notes == ("neither text nor html",)
        (found,) = decided(dedup, [Page("e", text=FERRY)], store=False)
        assert found.duplicate_of == "b"
        assert dedup.count() == 3
