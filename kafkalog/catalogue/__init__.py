"""Every code that a finding may have, in the order in which a reader meets them."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.audits import AUDITS
from kafkalog.catalogue.batches import BATCHES
from kafkalog.catalogue.code import Code
from kafkalog.catalogue.files import FILES
from kafkalog.catalogue.records import RECORDS

__all__ = ["CATALOGUE"]

CATALOGUE: Final[dict[str, Code]] = {**BATCHES, **RECORDS, **FILES, **AUDITS}
