"""Evidence made fit to leave the house: contents and names become others, what is known alone is written."""

from __future__ import annotations

from kafkalog.redaction.new_names import NameChoice
from kafkalog.redaction.redacting import Damaged, Redaction, RedactionChoice, redact
from kafkalog.redaction.shifted_times import shift_of

__all__ = ["Damaged", "NameChoice", "Redaction", "RedactionChoice", "redact", "shift_of"]
