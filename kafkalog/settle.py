"""How severe and how certain a finding is in its case: the only place where it is less than its code.

The catalogue gives each code its severity and the reasons that may lower it: `kafkalog/catalogue/reasons.py` has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import Reason, Trait
from kafkalog.certainty import Doubt, certainty_of, is_proved
from kafkalog.findings import Finding

__all__ = ["Reason", "as_severe_as", "lowered", "of_finding"]


def lowered(finding: Finding, reason: Reason | None) -> Finding:
    """Return a finding as severe and as certain as the reason leaves it; without one as it is."""
    if reason is None:
        return finding
    left = reason.value
    return finding._replace(
        severity=reason.leaves(finding.severity),
        certainty=finding.certainty if left.doubt is None else certainty_of(left.doubt),
        remedy=finding.remedy if left.keeps_remedy else None,
    )


def as_severe_as(finding: Finding, other: Finding) -> Finding:
    """Return a finding that stands for many as severe and as certain as another one of them."""
    return finding._replace(severity=other.severity, certainty=other.certainty)


def of_finding(row: Mapping[str, Any]) -> str:
    """Return how certain an incident of a finding is, a row of ``findings``."""
    if not is_proved(row["certainty"]):
        return str(row["certainty"])
    may_be_healthy = Trait.MAY_BE_HEALTHY in CATALOGUE[row["code"]].traits
    return certainty_of(Doubt.MAY_BE_HEALTHY if may_be_healthy else None)
