"""Settings of who decides on a pair, and of the thresholds of the decision rules."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from es_dedup.settings.sections import Section

VOTES: Final = ("any", "majority", "all", "ordered")
"""In ``decision.method``: rules by which the verdicts of several methods decide together."""

Share = Annotated[float, Field(ge=0, le=1)]


def _share(description: str) -> Any:
    """A share or cover that pairs need; above 1 exact copies would be rejected."""
    return _amount(1, description)


def _exception(description: str) -> Any:
    """A share or cover from which an exception is made; above 1 it is never made."""
    return _amount(1.01, description)


def _amount(most: float, description: str) -> Any:
    return Field(None, ge=0, le=most, description=description)


LENGTHS: Final = {"needed_cover": 4, "untitled_cover": 3, "words_cover": 2, "opening_overlaps": 2}
"""Of the thresholds that are lists."""


class ThresholdsConfig(Section):
    """Thresholds of the decision rules in place of those of the preset. Covers and shares lie in [0, 1]; where 1.01 is allowed, no cover reaches it. Units are in common, boilerplate discounted."""

    model_config = ConfigDict(allow_inf_nan=False)

    needed_cover: tuple[Share, ...] | None = Field(
        None, description="cover that the better covered page needs at 20, 50, 100 and 400 units"
    )
    scattered: float | None = _share(
        "power by which the required cover falls with how scattered the losses are"
    )
    edited_units: float | None = _amount(
        1_000_000, "units from which pages that would be duplicates need no more than edited_cover"
    )
    edited_cover: float | None = _share("the most cover that such pages need")
    fewest_units: float | None = _amount(1_000, "fewer units are no evidence")
    fewest_of_copies: float | None = _amount(
        1_000, "the same of texts without titles that cover each other by copy_cover"
    )
    copy_cover: float | None = _exception(
        "cover of both pages from which texts without titles need no more than fewest_of_copies"
    )
    like_size: float | None = _exception(
        "lesser over better cover from which pages of different days may be two issues of a form"
    )
    late_cover: float | None = _share("cover that such pages need 256 days later; less before")
    same_cover: float | None = _share(
        "cover of the less covered page that makes a would-be duplicate, of one day"
    )
    late_same_cover: float | None = _share("the same of pages of different days")
    same_size: float | None = _share(
        "lesser over better cover from which a pair is a duplicate; below, one page contains the other"
    )
    about_title: float | None = _amount(  # above 1: only where the titles are equal
        1.01, "how much the shared text must be about the titles"
    )
    quoted_cover: float | None = _exception(
        "cover of the better covered page from which a note is a quotation of a long page"
    )
    quoted_rest: float | None = _share("cover of the long page that a quotation must stay below")
    quoted_title: float | None = _share("share of its title that the body of a quoted note must speak of")
    whole_cover: float | None = _exception(
        "cover of the better covered page from which two shared words of each title make it a quotation"
    )
    passage_cover: float | None = _exception(
        "cover of the better covered page from which, at 250 units, titles of pages of unlike size are not compared"
    )
    passage_title: float | None = _share("share of its title that each body must speak of for a passage")
    untitled_cover: tuple[Share, ...] | None = Field(
        None,
        description="cover that the less covered page of a pair without titles needs at 20, 100 and 400 units",
    )
    untitled_contained: float | None = _exception("cover of the better covered page that does as well")
    words_cover: tuple[Share, ...] | None = Field(
        None,
        description="the same as untitled_cover at 400 and 1,000 units, of long pages of words with menus and lists",
    )
    words_contained: float | None = _exception("the same as untitled_contained, of such pages")
    opening_overlaps: tuple[Share, ...] | None = Field(
        None,
        description="overlaps of the first words of such pages: opening_cover is required up to the first, nothing more from the second on",
    )
    opening_cover: float | None = _share(
        "cover of the less covered page that such pages need whose first words differ"
    )
    form_numbers: int | None = _amount(
        1_000, "numbers that differ, from which two notices without titles are written from one form"
    )
    form_share: float | None = _exception("share of their numbers that must differ for it, too")
    near_copy: float | None = _exception("cover from which text is not taken apart by numbers or dates")

    @field_validator(*LENGTHS)
    @classmethod
    def _complete(cls, values: tuple[float, ...] | None, info: ValidationInfo) -> tuple[float, ...] | None:
        count = LENGTHS[str(info.field_name)]
        if values is not None and len(values) != count:
            raise ValueError(f"must have {count} values")
        return values

    @field_validator("opening_overlaps")
    @classmethod
    def _rising(cls, values: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if values is not None and any(low >= high for low, high in pairwise(values)):
            raise ValueError("must rise")
        return values


class DecisionConfig(Section):
    """What all evidence on a pair has to reach."""

    preset: Literal["balanced", "strict", "loose", "fast", "versions", "papers"] = Field(
        "balanced",
        description="limits: strict merges least, loose finds most, fast looks at the text alone, versions takes "
        "dated versions of a text for one; papers: the published methods decide, without our rules",
    )
    method: str = Field(
        "rules",
        description="who decides on a pair: rules (all evidence, by the decision rules), one of the enabled detectors alone, or "
        "several by a rule: any, majority, all, ordered",
    )
    voters: tuple[str, ...] = Field(
        (), description="detectors that decide by such a rule, in order; none named: all enabled ones"
    )
    thresholds: ThresholdsConfig = ThresholdsConfig()
