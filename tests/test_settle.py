"""Severity and certainty are lowered in one place, for reasons that say why."""

from __future__ import annotations

import pytest

from kafkalog.certainty import Doubt, certainty_of
from kafkalog.findings import Finding, Severity
from kafkalog.settle import Reason, lowered


@pytest.mark.parametrize("doubt", Doubt)
def test_of_several_doubts_the_first_one_counts(doubt: Doubt) -> None:
    """Whatever their order; who has no doubt is not asked."""
    assert certainty_of(*reversed(Doubt)) == next(iter(Doubt)).value.word
    assert certainty_of(None, doubt) == doubt.value.word


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_never_makes_a_finding_worse(reason: Reason) -> None:
    """Whatever its severity was."""
    for severity in Severity:
        finding = Finding.of("crc-mismatch", "f", "m")._replace(severity=severity)
        assert lowered(finding, reason).severity == min(severity, reason.value.most)


def test_a_transaction_that_may_hang_is_a_warning() -> None:
    """Consumers may wait for it: a note would leave the run's status at 0."""
    hanging = Finding.of("transaction-hanging", "f", "m")

    assert hanging.severity is Severity.ERROR
    assert lowered(hanging, Reason.NOT_PROVED).severity is Severity.WARNING
    assert lowered(hanging, Reason.MAY_HAVE_ENDED).severity is Severity.NOTE
