"""What the corpus knows of its clauses and grams: which are template and which are content.

A raw document frequency cannot tell the two apart: a wire story that thirty sites reprint is frequent too. So each feature on at least
three pages is weighed by a few of its postings: do their titles speak of the same thing, does it stand with words of
the title, are these pages alike as wholes, and do they come from one time or from years? Where most of them have no title, or all have
the same one (the name of the site), titles say nothing; then the remainders of the pages decide (``remainders``). What stands on nearly
every page of a site, or of the corpus, is rarely a story: it needs stronger evidence to count as content.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from es_dedup import native
from es_dedup.decision.remainders import Sketches, content_votes, scale, sketches_of
from es_dedup.detectors.coverage_pairs import Weights
from es_dedup.errors import DamagedData
from es_dedup.text.ragged import Buckets, find, gather_between, owners_of, run_starts, sorted_distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_dedup.detectors.coverage_features import CoverageTable
    from es_dedup.detectors.features import FeatureTable

MIN_POSTINGS: Final = 3
# Compared per feature, drawn for each feature by itself: the same pages for all would decide on a whole form by chance.
SAMPLED_POSTINGS: Final = 128
# odd numbers of random bits, by which page keys are shuffled
FEATURE_FACTOR, DRAW_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
DRAW_SHIFT: Final = np.uint64(29)
LEARN_PAGES: Final = 100_000  # bounds memory; template shows in a sample as well
# 256 bits for a dozen title terms: two unlike titles overlap by chance in about 5 %
SIGNATURE_BITS: Final = 256
# mean title overlap of neighbouring postings; chance lies below the first
TITLE_UNLIKE, TITLE_ALIKE = 0.08, 0.20
LINK_LOW, LINK_HIGH = 0.30, 0.60  # share of postings in which the feature holds a word of the title
# Hamming distance of whole pages: copies of one page, pages of one template
ALIKE_BITS, UNLIKE_BITS = 8, 16
LONG_SPAN_DAYS: Final = 365  # a story is reprinted for weeks; what recurs over a year is a form
# share of neighbouring postings with the same title from which that is the name of a site
SITE_TITLE: Final = 0.80
# share of the pages of a site, or of all, from which a feature stands on nearly every page
COMMON: Final = 0.80
COMMON_FROM: Final = 20  # pages: of fewer, all may be copies of one story
# weight of what stands on nearly every page: most of its postings must agree that it is content
AGREED_LOW, AGREED_HIGH = 0.50, 0.90
NAME: Final = 0.80  # share of titles from which a term of them belongs to the name of a site or series
PLACEHOLDER_FROM: Final = 10  # pages with one title: of fewer, most may tell one story
# share of a title's terms up to which a text does not speak of it; of many headlines, more than half of the terms are not in the text
SPOKEN: Final = 0.25
REPRINTS_OF_SITE: Final = 2  # pages of a site under one headline: more are those of a column
HEADLINE_TERMS: Final = 4  # a shorter title is rather the name of a kind of pages: "Notice to creditors"
NAMED_FROM: Final = 10  # titles: of fewer, a term of most may be that of a story
TITLED: Final = 0.50  # share of neighbouring postings with different titles from which titles and whole pages are compared
VOTE_STEP: Final = 3  # every third posting, with the two that follow, is asked about remainders
HASH_BITS: Final = 32
MASK_BITS: Final = 32
LEAST_WEIGHT: Final = 0.02  # template never counts nothing: two pages of nothing else must still compare


@dataclass(frozen=True)
class Statistics:
    """An immutable snapshot.

    Attributes:
        grams, gram_weights: features known to recur, ascending, and what each counts, in [0.02, 1].
        clauses, clause_weights: the same for clauses.
        noise: period signatures that are one site's template.
        placeholders: titles that say nothing of a page, each as the sum of its terms, ascending.
        pages: number of pages it was learned from.
    """

    grams: NDArray[np.uint32]
    gram_weights: NDArray[np.float32]
    clauses: NDArray[np.uint32]
    clause_weights: NDArray[np.float32]
    noise: NDArray[np.uint64]
    placeholders: NDArray[np.int64]
    pages: int

    @classmethod
    def empty(cls) -> Statistics:
        """Statistics before anything was learned: every feature has weight 1."""
        none, one = np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.float32)
        return cls(none, one, none, one, np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64), 0)

    @cached_property
    def version(self) -> str:
        """Eight hex digits that name this snapshot; equal snapshots have equal versions."""
        digest = hashlib.blake2b(digest_size=4)
        for field in fields(self):
            value = getattr(self, field.name)
            digest.update(str(value).encode() if isinstance(value, int) else value.tobytes())
        return digest.hexdigest()

    def weights(self, table: CoverageTable) -> Weights:
        """Weights of the grams and clauses of a table."""
        grams = _look_up(table.grams, self.grams, self.gram_weights, self._buckets[0])
        return Weights(grams, self.clause_weights_of(table.clauses))

    def clause_weights_of(self, hashes: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Weights of clauses with these hashes, in [0.02, 1]."""
        return _look_up(hashes, self.clauses, self.clause_weights, self._buckets[1])

    def titled(self, table: CoverageTable, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether pages have a title that says something of them; shape (rows,)."""
        titled = table.titled[rows]
        sums = _title_sums(table, rows).view(np.uint64)
        titled[find(self.placeholders.view(np.uint64), sums, 64)[0]] = False
        return titled

    @cached_property
    def _buckets(self) -> tuple[Buckets, Buckets]:
        return Buckets.of(self.grams, HASH_BITS), Buckets.of(self.clauses, HASH_BITS)

    def to_bytes(self) -> bytes:
        """Compressed, as ``Index.save_statistics`` stores it."""
        stream = io.BytesIO()
        arrays = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        np.savez_compressed(stream, allow_pickle=False, **arrays)
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Statistics:
        """The inverse of ``to_bytes``.

        Raises:
            DamagedData: other bytes, or columns that native code could not be trusted with.
        """
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                values: dict[str, Any] = {field.name: arrays[field.name] for field in fields(cls)}
            found = cls(**{**values, "pages": int(values["pages"])})
        except Exception as error:  # a damaged archive raises whatever its parts raise
            raise DamagedData("statistics", "not a snapshot of this version") from error
        if not found._sound:
            raise DamagedData("statistics", "not a sound snapshot: its columns do not fit")
        return found

    @property
    def _sound(self) -> bool:
        plain = Statistics.empty()
        columns = [field.name for field in fields(self) if field.name != "pages"]
        typed = all(
            (column := getattr(self, name)).ndim == 1 and column.dtype == getattr(plain, name).dtype
            for name in columns
        )
        if not typed or self.pages < 0 or (self.placeholders < 0).any():
            return False
        ascending = (self.grams, self.clauses, self.noise, self.placeholders)
        weighed = ((self.grams, self.gram_weights), (self.clauses, self.clause_weights))
        return all((known[1:] > known[:-1]).all() for known in ascending) and all(
            len(known) == len(weights) and ((weights >= 0) & (weights <= 1)).all()
            for known, weights in weighed
        )


class PostingSample(NamedTuple):
    """Facts of each page from which features are weighed.

    Attributes:
        keys: a hash of the page id; ``sites``: a number for each site.
        titles: see ``title_signatures``; ``titled``: False where its first words stand for the title.
        title_sums: see ``_title_sums``; ``title_groups``: 0 where the text does not speak of its title, else a number from 1 for each site.
        fingerprints: SimHash; ``hashes``: of the normalised texts.
        days: day of publication as a day number, 0 when unknown.
        grams, clauses: sketches of them.
    """

    keys: NDArray[np.uint64]
    sites: NDArray[np.int64]
    titles: NDArray[np.uint64]
    titled: NDArray[np.bool_]
    title_sums: NDArray[np.int64]
    title_groups: NDArray[np.int64]
    fingerprints: NDArray[np.uint64]
    hashes: NDArray[np.uint64]
    days: NDArray[np.int64]
    grams: Sketches
    clauses: Sketches

    @classmethod
    def of(
        cls,
        table: FeatureTable,
        rows: NDArray[np.int64],
        keys: NDArray[np.uint64],
        sites: NDArray[np.int64],
        days: NDArray[np.int64],
    ) -> PostingSample:
        """That of some rows of a table, whose keys, sites and days are given."""
        cover = table.coverage
        return cls(
            keys,
            sites,
            title_signatures(cover)[rows],
            cover.titled[rows],
            _title_sums(cover, rows),
            np.where(spoken(cover, rows), sites + 1, 0),
            table.fingerprints[rows],
            table.hashes[rows],
            days,
            sketches_of(cover, "gram", rows),
            sketches_of(cover, "clause", rows),
        )

    def placeholders(self) -> NDArray[np.int64]:
        """Titles that say nothing, ascending: those of ``PLACEHOLDER_FROM`` pages or more that do not speak of them, or that are of one site.

        Pages of equal texts count once, and where they speak of it pages that are alike as wholes, as reprints and versions are.
        """
        order = np.lexsort((self.keys, self.title_groups, self.title_sums))
        order = order[self.title_sums[order] >= 0]
        titles = np.stack((self.title_sums, self.title_groups), axis=1)[order]
        starts = np.flatnonzero((np.diff(titles, axis=0, prepend=-1) != 0).any(axis=1))
        ends = np.append(starts[1:], len(order))
        many = np.flatnonzero(ends - starts >= PLACEHOLDER_FROM)
        found = set()
        for start, end in zip(starts[many].tolist(), ends[many].tolist(), strict=True):
            title, group = titles[start].tolist()
            if _are_unlike(self.fingerprints[order[start:end]], ALIKE_BITS if group else 0):
                found.add(title)
        return np.array(sorted(found), dtype=np.int64)

    @classmethod
    def joined(cls, parts: Sequence[PostingSample]) -> PostingSample:
        """The pages of all parts, in order."""
        *columns, grams, clauses = zip(*parts, strict=True)
        sketches = (Sketches(*map(np.concatenate, zip(*each, strict=True))) for each in (grams, clauses))
        return cls._make([*map(np.concatenate, columns), *sketches])


@dataclass(frozen=True, slots=True)
class _SampledPostings:
    """Pairs of neighbouring postings of recurring features.

    Attributes:
        values: the recurring features, ascending.
        feature: position in ``values`` of each posting; ``page`` is its page, ``neighbour`` and ``third`` those of the next two.
        common: see ``_common``.
        linked: whether the feature holds title words in ``page``.
        asked: whether the posting is one of those that are asked about remainders.
    """

    values: NDArray[np.uint32]
    common: NDArray[np.bool_]
    feature: NDArray[np.int64]
    page: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    third: NDArray[np.int64]
    linked: NDArray[np.bool_]
    asked: NDArray[np.bool_]


class RowFeatures(NamedTuple):
    """Grams, or clauses, of pages: those of page ``i`` lie between ``starts[i]`` and ``ends[i]``, each once, ascending.

    Attributes:
        hashes: the features; ``masks``: which words of the page's title each holds.
        starts, ends: of each page.
    """

    hashes: NDArray[np.uint32]
    masks: NDArray[np.uint32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        hashes: NDArray[np.uint32],
        masks: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> RowFeatures:
        """Those of some rows of a table."""
        return cls(hashes, masks, offsets[rows], offsets[rows + 1])

    @classmethod
    def unpacked(cls, packed: NDArray[np.uint64], offsets: NDArray[np.int64]) -> RowFeatures:
        """The inverse of ``packed``, of rows that follow one another."""
        hashes = (packed >> np.uint64(MASK_BITS)).astype(np.uint32)
        return cls(hashes, packed.astype(np.uint32), offsets[:-1], offsets[1:])

    @property
    def packed(self) -> NDArray[np.uint64]:
        """Both in one number, the mask in the lower ``MASK_BITS``, page after page."""
        at, _ = gather_between(self.starts, self.ends)
        return np.asarray(self.hashes[at].astype(np.uint64) << np.uint64(MASK_BITS) | self.masks[at])


def weigh(features: RowFeatures, pages: PostingSample) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Recurring features in ascending order, and the weight of each.

    Each feature is weighed by itself, so all postings of some features give what all features of all pages give.

    Args:
        features: of all pages.
        pages: what is known of the pages.
    """
    pages = pages._replace(titles=_title_terms(pages))
    if native.core:
        found: tuple[NDArray[np.uint32], NDArray[np.float32]] = native.core.weigh(
            features, pages, native.threads()
        )
        return found
    at, owners = gather_between(features.starts, features.ends)
    sampled = _sampled_postings(features.hashes[at], owners, features.masks[at], pages.keys, pages.sites)
    return sampled.values, _weigh(sampled, pages)


def _look_up(
    values: NDArray[np.uint32], known: NDArray[np.uint32], weights: NDArray[np.float32], buckets: Buckets
) -> NDArray[np.float32]:
    found = np.ones(len(values), dtype=np.float32)
    at, place = find(known, values, HASH_BITS, buckets)
    found[at] = weights[place]
    return found


def title_signatures(cover: CoverageTable) -> NDArray[np.uint64]:
    """One bit per title term, in words of 64; shape (pages, 4)."""
    bits = np.zeros((len(cover), SIGNATURE_BITS), dtype=np.bool_)
    bits[owners_of(cover.title_offsets), cover.titles % np.uint32(SIGNATURE_BITS)] = True
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def _title_sums(cover: CoverageTable, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of the title's terms of each page, -1 without title; shape (rows,)."""
    at, owners = gather_between(cover.title_offsets[rows], cover.title_offsets[rows + 1])
    sums = np.bincount(owners, cover.titles[at], len(rows)).astype(np.int64)
    return np.where(cover.titled[rows], sums, -1)


def _are_unlike(fingerprints: NDArray[np.uint64], bits: int) -> bool:
    """Whether ``PLACEHOLDER_FROM`` of the pages differ from each other by more bits."""
    kinds = 0
    while len(fingerprints) and kinds < PLACEHOLDER_FROM:
        fingerprints = fingerprints[np.bitwise_count(fingerprints ^ fingerprints[0]) > bits]
        kinds += 1
    return kinds == PLACEHOLDER_FROM


def numbered_clauses(cover: CoverageTable, rows: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """Clauses with numbers of titled pages: the page of each, the clause with its numbers masked, and the clause; shape (3, clauses).

    Args:
        cover: features of the pages.
        rows: of the pages.
        first: number of the first page.
    """
    (titled,) = np.nonzero(cover.titled[rows])
    at, pages = gather_between(cover.clause_offsets[rows[titled]], cover.clause_offsets[rows[titled] + 1])
    numbered = cover.clause_masked[at] != 0
    at, pages = at[numbered], titled[pages[numbered]]
    return np.stack((pages + first, cover.clause_masked[at], cover.clauses[at]))


def form_titles(
    titles: NDArray[np.int64], sites: NDArray[np.int64], numbered: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Titles of forms, ascending: most pages of such a title have one clause, and it has many different numbers.

    There are ``PLACEHOLDER_FROM`` numbers or more, and none of them is on most of these pages, which are mostly of one site. Of a story
    that is reprinted, most pages have the same number or are of other sites; clauses that count views or comments stand under other titles, too.

    Args:
        titles, sites: of each page, see ``_title_sums``; pages whose site is unknown are of one.
        numbered: see ``numbered_clauses``.
    """
    known, title, count = np.unique(titles, return_inverse=True, return_counts=True)
    # keys have a place in the upper half, and a hash or another place in the lower one
    low = 2**HASH_BITS - 1
    kinds, everywhere = np.unique(
        sorted_distinct(numbered[0] << HASH_BITS | numbered[1]) & low, return_counts=True
    )
    page, masked, clause = numbered[:, count[title[numbered[0]]] >= PLACEHOLDER_FROM]
    # A field is a masked clause under a title; a page may have several clauses of one field.
    keys, field = np.unique(title[page] << HASH_BITS | masked, return_inverse=True)
    title_of_field = keys >> HASH_BITS
    field_of_page, page = np.divmod(sorted_distinct(field << HASH_BITS | page), low + 1)

    def distinct(fields: Any, values: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each field how many values it has, and how often the most frequent one."""
        found, counts = np.unique(fields << HASH_BITS | values, return_counts=True)
        most = np.zeros(len(keys), dtype=np.int64)
        np.maximum.at(most, found >> HASH_BITS, counts)
        return np.bincount(found >> HASH_BITS), most

    pages = np.bincount(field_of_page)
    numbers, same = distinct(field, clause)
    _, of_site = distinct(field_of_page, sites[page])
    on_most_pages = 2 * pages > count[title_of_field]
    filled_in = (numbers >= PLACEHOLDER_FROM) & (2 * same <= pages)
    of_one_site = 2 * of_site > pages
    under_one_title = 2 * pages > everywhere[np.searchsorted(kinds, keys & low)]
    form = on_most_pages & filled_in & of_one_site & under_one_title
    return sorted_distinct(known[title_of_field[form]])


def spoken(cover: CoverageTable, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the text has more than ``SPOKEN`` of the title's terms; shape (rows,)."""
    terms = cover.title_offsets[rows + 1] - cover.title_offsets[rows]
    return np.asarray(np.bitwise_count(cover.body_mask[rows]) > SPOKEN * terms)


def _without_name(pages: PostingSample) -> NDArray[np.uint64]:
    """The title signatures without the terms that most titles have, of all pages or of those of the page's site."""
    titles, rows = pages.titles.copy(), np.flatnonzero(pages.titled)
    rows = rows[np.argsort(pages.sites[rows], kind="stable")]
    ends = (np.flatnonzero(np.diff(pages.sites[rows], append=-1)) + 1).tolist()
    for start, end in ((0, len(rows)), *zip((0, *ends), ends, strict=False)):
        some = rows[start:end]
        if len(some) >= NAMED_FROM:
            having = np.unpackbits(titles[some].view(np.uint8), axis=1).mean(axis=0)
            titles[some] &= np.packbits(having < NAME).view(np.uint64)
    return titles


def _title_terms(pages: PostingSample) -> NDArray[np.uint64]:
    """The title signatures that are compared: without names, and with one more term, its own, for each page under a headline.

    Equal titles count as the name of a site or column. A headline is none, but sites that reprint a story keep it: it has several
    terms, the text speaks of it, and its site has it once or twice. Where all titles are one headline, it is not removed as a name.
    """
    titles = _without_name(pages)
    groups = np.stack((pages.title_sums, pages.title_groups))
    _, group, held = np.unique(groups, axis=1, return_inverse=True, return_counts=True)
    terms = np.bitwise_count(pages.titles).sum(axis=1)
    (rows,) = np.nonzero(
        (pages.title_groups > 0) & (held[group.ravel()] <= REPRINTS_OF_SITE) & (terms >= HEADLINE_TERMS)
    )
    bare = rows[~titles[rows].any(axis=1)]
    titles[bare] = pages.titles[bare]
    word, bit = np.divmod(pages.keys[rows] % SIGNATURE_BITS, 64)
    titles[rows, word.astype(np.int64)] |= np.uint64(1) << bit
    return titles


def _sampled_postings(
    values: NDArray[np.uint32],
    owners: NDArray[np.int64],
    masks: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    sites: NDArray[np.int64],
) -> _SampledPostings:
    ordered = np.sort(values)
    starts = run_starts(ordered)
    counts = np.diff(starts, append=len(values))
    recurring = counts >= MIN_POSTINGS
    known, counts = ordered[starts[recurring]], counts[recurring]
    element, feature = find(known, values, HASH_BITS)
    owner = owners[element]
    drawn = _drawn(known, feature, keys[owner])
    of, page = feature[drawn], owner[drawn]
    first = run_starts(of)
    rank = np.arange(len(of)) - first[of]

    def after(steps: int) -> NDArray[np.int64]:
        """Page of the posting a number of steps later in its feature, cyclically."""
        size = np.minimum(counts[of], SAMPLED_POSTINGS)
        return np.asarray(page[first[of] + (rank + steps) % size])

    return _SampledPostings(
        values=known,
        common=_common(feature, owner, drawn, counts, sites),
        feature=of,
        page=page,
        neighbour=after(1),
        third=after(2),
        linked=masks[element[drawn]] != 0,
        asked=rank % VOTE_STEP == 0,
    )


def _drawn(
    known: NDArray[np.uint32], feature: NDArray[np.int64], keys: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Places of the postings that are compared, feature by feature, in the order of page keys shuffled differently for each feature.

    Args:
        known: the features.
        feature: place in ``known`` of each posting; ``keys`` of its page.
    """
    shuffled = (keys ^ known[feature] * FEATURE_FACTOR) * DRAW_FACTOR
    order = np.lexsort((shuffled ^ shuffled >> DRAW_SHIFT, feature))
    ordered = feature[order]
    rank = np.arange(len(order)) - run_starts(ordered)[ordered]
    return order[rank < SAMPLED_POSTINGS]


def _common(
    feature: NDArray[np.int64],
    page: NDArray[np.int64],
    sampled: NDArray[np.int64],
    counts: NDArray[np.int64],
    sites: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which features stand on nearly every page, or on nearly every page of the sites of most of their sampled postings.

    Args:
        feature, page: of all postings.
        sampled: places of some of these.
        counts: postings of each feature.
        sites: of each page.
    """

    def nearly_all(held: NDArray[np.int64], of: Any) -> NDArray[np.bool_]:
        return np.asarray((of >= COMMON_FROM) & (held >= COMMON * of))

    sizes = np.bincount(sites)
    on_site, place, held = np.unique(
        feature * len(sizes) + sites[page], return_inverse=True, return_counts=True
    )
    of_site = nearly_all(held, sizes[on_site % max(len(sizes), 1)])[place[sampled]]
    share = np.bincount(feature[sampled], of_site, len(counts)) / np.bincount(feature[sampled])
    return nearly_all(counts, len(sites)) | (share > 0.5)  # noqa: PLR2004 - most


def _weigh(sampled: _SampledPostings, pages: PostingSample) -> NDArray[np.float32]:
    count = len(sampled.values)
    page, neighbour = sampled.page, sampled.neighbour

    def mean(values: NDArray[Any], among: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Mean over each feature's postings, or over those that ``among`` selects; 0 for a feature without any."""
        counted = np.ones(len(page), dtype=np.bool_) if among is None else among
        total = np.bincount(sampled.feature, values * counted, count)
        return total / np.maximum(np.bincount(sampled.feature, counted, count), 1)

    titled = pages.titled[page] & pages.titled[neighbour]
    same_title = titled & (pages.titles[page] == pages.titles[neighbour]).all(axis=1)
    of_site = mean(same_title) >= SITE_TITLE
    untitled = of_site | (mean(titled) < TITLED)
    shared = np.bitwise_count(pages.titles[page] & pages.titles[neighbour]).sum(axis=1)
    sizes = np.bitwise_count(pages.titles).sum(axis=1)
    overlap = shared / np.maximum(np.minimum(sizes[page], sizes[neighbour]), 1)
    linked = scale(mean(sampled.linked, pages.titled[page]), LINK_LOW, LINK_HIGH)
    topic = np.maximum(scale(mean(overlap, titled), TITLE_UNLIKE, TITLE_ALIKE), linked)
    bits = np.bitwise_count(pages.fingerprints[page] ^ pages.fingerprints[neighbour]).astype(np.float64)
    common = sampled.common & ~of_site
    asked, votes = _votes(sampled, pages, untitled, common)
    by_remainders = np.where(mean(asked) > 0, mean(votes, asked), 1.0)
    whole = np.where(untitled, by_remainders, mean(1.0 - scale(bits, ALIKE_BITS, UNLIKE_BITS)))
    long_span = _span(sampled, pages.days, count) >= LONG_SPAN_DAYS
    weight = np.where(of_site | long_span, whole, np.maximum(topic, whole))
    weight = np.where(common, scale(weight, AGREED_LOW, AGREED_HIGH), weight)
    return np.maximum(weight, LEAST_WEIGHT).astype(np.float32)


def _votes(
    sampled: _SampledPostings, pages: PostingSample, untitled: NDArray[np.bool_], common: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Postings of untitled features whose remainders were compared, and the vote of each; shape (postings,).

    Copies of one text are not asked: they say nothing of what else recurs.
    """
    triples = np.stack((sampled.page, sampled.neighbour, sampled.third), axis=1)
    texts = np.sort(pages.hashes[triples], axis=1)
    asked = sampled.asked & untitled[sampled.feature] & (texts[:, 1:] != texts[:, :-1]).all(axis=1)
    votes = np.zeros(len(triples))
    votes[asked] = content_votes(triples[asked], common[sampled.feature[asked]], pages.grams, pages.clauses)
    return asked, votes


def _span(sampled: _SampledPostings, days: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Days between the first and the last known posting of each feature; 0 when fewer than two are known."""
    when = days[sampled.page]
    known = when > 0
    last = np.zeros(count, dtype=np.int64)
    first = np.full(count, np.iinfo(np.int64).max)
    np.maximum.at(last, sampled.feature[known], when[known])
    np.minimum.at(first, sampled.feature[known], when[known])
    return np.where(last > 0, last - np.minimum(first, last), 0)
