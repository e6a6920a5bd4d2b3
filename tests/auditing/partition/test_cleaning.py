"""Whether the cleaner may have been in a log: what a topic's settings say to that, and what its files say."""

from __future__ import annotations

import pytest

from kafkalog.auditing.partition.cleaning import is_cleaned


@pytest.mark.parametrize(
    ("topic", "cleaned_to", "policies", "expected"),
    [
        ("t", -1, (), False),
        ("t", 0, (), True),  # its checkpoint is in the first segment, which is empty
        ("t", 0, ("delete", None), True),
        ("t", 9, ("delete",), False),
        ("t", -1, ("delete", "compact,delete"), True),
        ("__consumer_offsets", -1, ("delete",), True),
    ],
)
def test_files_decide_where_settings_do_not(
    topic: str, cleaned_to: int, policies: tuple[str | None, ...], expected: bool
) -> None:
    """A topic that was once compacted may be cleaned; what its files show counts unless all settings are known."""
    assert is_cleaned(topic, cleaned_to, policies) is expected
