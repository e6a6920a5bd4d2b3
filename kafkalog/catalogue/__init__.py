"""Every code that a finding may have, in the order in which a reader meets them."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.audit_codes import AUDITS
from kafkalog.catalogue.batch_codes import BATCHES
from kafkalog.catalogue.code import Code, StoryName, Trait
from kafkalog.catalogue.file_codes import FILES
from kafkalog.catalogue.record_codes import RECORDS

__all__ = ["CATALOGUE", "codes_of_story", "codes_with", "followers_of"]

CATALOGUE: Final[dict[str, Code]] = {**BATCHES, **RECORDS, **FILES, **AUDITS}


def codes_with(trait: Trait) -> frozenset[str]:
    """Return the codes that have a trait."""
    return frozenset(code for code, about in CATALOGUE.items() if trait in about.traits)


def followers_of(cause: str) -> frozenset[str]:
    """Return the codes that may be a consequence of another one."""
    return frozenset(code for code, about in CATALOGUE.items() if cause in about.follows)


def codes_of_story(name: StoryName) -> list[str]:
    """Return the codes that a story is about, in the order of their names."""
    return sorted(code for code, about in CATALOGUE.items() if about.story == name)
