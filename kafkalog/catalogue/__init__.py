"""Every code that a finding may have, in the order in which a reader meets them."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.audit_codes import AUDITS
from kafkalog.catalogue.batch_codes import BATCHES
from kafkalog.catalogue.code import Code
from kafkalog.catalogue.file_codes import FILES
from kafkalog.catalogue.record_codes import RECORDS

__all__ = ["CATALOGUE"]

CATALOGUE: Final[dict[str, Code]] = {**BATCHES, **RECORDS, **FILES, **AUDITS}
