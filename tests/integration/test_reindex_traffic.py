"""A reindex while others write: through a hook with the old settings, and without any thought of us."""

import pytest

from es_dedup.errors import SettingsMismatch
from es_dedup.maintenance.context import open_context
from es_dedup.maintenance.reindex import reindex, roll_back, verify
from es_dedup.settings.sections import CcdetConfig
from tests.source_indices import attached, documents, put, settings, source_index
from tests.traffic import Traffic, all_is_well, run
from tests.workers import until

OLD = settings()
NEW = OLD.model_copy(update={"ccdet": CcdetConfig(window=8)})


@pytest.mark.slow
@pytest.mark.traffic
def test_what_is_written_during_a_reindex_is_lost_neither_by_it_nor_by_its_roll_back() -> None:
    given = documents(made_up=30)
    with source_index(given) as (client, name):
        with attached(name, OLD) as site:
            place = site.place
            run(site, "backfill")
        first = Traffic(place, OLD)
        with first.running():
            until(lambda: first.batches >= 2)
            put(client, name, {"unaware": given["made-00000"]})
            before = first.batches
            done = reindex(place, NEW)
            assert first.batches > before + 2  # it went on all the while
            assert done.pages >= done.documents > len(given)
            with pytest.raises(SettingsMismatch), open_context(place, OLD):
                pass
            after = first.batches
            until(lambda: first.batches >= after + 2)
        # the hook with the old settings was refused, and says so
        assert any("settings" in reason for reason in first.report.inconclusive.values())
        expected = {**given, "unaware": given["made-00000"], **first.expected}
        with open_context(place, NEW) as site:
            run(site, "recluster")
            all_is_well(site, client, name, expected)
            assert verify(site)[3] > 100  # features of the new settings only
        second = Traffic(place, NEW, seed=8)
        with second.running():
            until(lambda: second.batches >= 2)
            roll_back(place, OLD)
            after = second.batches
            until(lambda: second.batches >= after + 2)
        with open_context(place, OLD) as site:
            run(site, "recluster")
            all_is_well(site, client, name, expected | second.expected)
            assert verify(site)[3] > 100
