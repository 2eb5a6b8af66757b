"""Settings of who decides on a pair, and of the thresholds of the decision rules."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from es_dedup.settings.sections import Section

Share = Annotated[float, Field(ge=0, le=1)]


class ThresholdsConfig(Section):
    """Thresholds of the decision rules; each overrides that of the preset. Coverages and shares are in [0, 1]; 1.01, where allowed, disables the exception. Units are those in common, with boilerplate discounted."""

    model_config = ConfigDict(allow_inf_nan=False)

    needed_cover: tuple[Share, ...] | None = None
    """required coverage of the better covered page at 20, 100 and 400 units"""
    scattered: float | None = Field(None, ge=0, le=1)
    """exponent by which the required coverage falls if the unshared text is scattered over the page"""
    fewest_units: float | None = Field(None, ge=0, le=1_000)
    """minimum number of units in common"""
    fewest_of_copies: float | None = Field(None, ge=0, le=1_000)
    """the same for texts without titles if both pages are covered by copied_cover or more"""
    same_cover: float | None = Field(None, ge=0, le=1)
    """coverage of the less covered page from which a pair is a would-be duplicate; share of the better coverage from which pages of
    different days may be two issues of a series"""
    same_size: float | None = Field(None, ge=0, le=1)
    """ratio of lesser to better coverage from which a pair is a duplicate; below, one page contains the other"""
    about_title: float | None = Field(None, ge=0, le=1.01)
    """minimum about_title: how much the shared text must be about the titles"""
    copied_cover: float | None = Field(None, ge=0, le=1.01)
    """coverage from which a text is copied as a whole: of both pages for fewest_of_copies, of the better covered page for a quotation in a
    long page, and for a passage, of which the titles are not compared"""
    own_title: float | None = Field(None, ge=0, le=1)
    """minimum share of its title terms that must occur in the body of a quoted text, and in each body of a passage"""
    untitled_cover: tuple[Share, ...] | None = None
    """required coverage of the less covered page at 20 and 400 units if a title is missing, in Chinese and Japanese"""
    untitled_contained: float | None = Field(None, ge=0, le=1.01)
    """coverage of the better covered page that is sufficient instead"""
    words_cover: float | None = Field(None, ge=0, le=1)
    """required coverage of the better covered page if a title is missing, in scripts that separate words; of both pages if both carry menus"""
    near_copy: float | None = Field(None, ge=0, le=1.01)
    """coverage from which a text is complete: numbers and dates no longer reject a pair; sufficient without titles if both carry menus;
    required of what may be two issues of a series published 256 days apart, less if fewer"""

    @field_validator("needed_cover", "untitled_cover")
    @classmethod
    def _complete(cls, values: tuple[float, ...] | None, info: ValidationInfo) -> tuple[float, ...] | None:
        count = 3 if info.field_name == "needed_cover" else 2
        if values is not None and len(values) != count:
            raise ValueError(f"must have {count} values")
        return values


class DecisionConfig(Section):
    """How a pair of pages is decided."""

    preset: Literal["balanced", "strict", "loose", "fast", "versions", "papers"] = "balanced"
    """set of thresholds: strict merges least, loose requires less coverage, fast compares the text only, versions merges dated versions of a text; with
    papers, the published methods decide instead of the decision rules"""
    method: str = "rules"
    """what decides on a pair: rules (the decision rules, on all evidence), one of the enabled detectors, or a vote of several detectors: any,
    majority, all or ordered"""
    voters: tuple[str, ...] = ()
    """detectors that vote, in order; empty: all enabled detectors"""
    thresholds: ThresholdsConfig = ThresholdsConfig()

    @property
    def summary(self) -> str:
        """What decides, for summaries: the preset, and what is set in place of its values."""
        changed = sorted(self.thresholds.model_dump(exclude_none=True))
        method = [] if self.method == "rules" else [f"decided by {self.method}"]
        return ", ".join([self.preset, *method, *([f"other {' and '.join(changed)}"] if changed else [])])
