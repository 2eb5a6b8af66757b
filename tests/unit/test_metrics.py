"""What Prometheus is told of a batch, of a call of the hook, and of each answer of Elasticsearch."""

from es_dedup_tasks import metrics
from prometheus_client import REGISTRY

from es_dedup.hook import HookReport
from es_dedup.index.elastic.server import tell_watchers


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_a_batch_tells_candidates_per_document_and_truncations() -> None:
    counts = {"unique": 3, "duplicate": 1, "pairs": 20, "truncated": 2, "marked": 7}
    before = value("es_dedup_candidates_sum", stage="test")
    metrics.observe("test", counts, 0.5)
    assert value("es_dedup_candidates_sum", stage="test") - before == 5.0
    assert value("es_dedup_truncated_total", stage="test") == 2.0
    assert value("es_dedup_documents_total", stage="test", outcome="duplicate") == 1.0
    assert value("es_dedup_stage_seconds_sum", stage="test") == 0.5
    metrics.observe("test", {"marked": 3}, 0.1)  # nothing was decided
    assert value("es_dedup_candidates_count", stage="test") == 1.0


def test_a_call_of_the_hook() -> None:
    report = HookReport(pairs_compared=6, truncated=1)
    report.outcomes.update(unique=2, duplicate=1)
    report.seconds["decide"] = 0.25
    metrics.observe_hook(report)
    assert value("es_dedup_candidates_sum", stage="hook") == 2.0
    assert value("es_dedup_truncated_total", stage="hook") == 1.0
    assert value("es_dedup_stage_seconds_sum", stage="hook decide") == 0.25


def test_answers_are_counted_by_status_until_the_end() -> None:
    end = metrics.count_answers()
    before = value("es_dedup_elasticsearch_answers_total", kind="item", status="429")
    tell_watchers("item", 429)
    end()
    tell_watchers("item", 429)
    assert value("es_dedup_elasticsearch_answers_total", kind="item", status="429") == before + 1
