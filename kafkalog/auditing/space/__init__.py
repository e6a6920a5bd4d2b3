"""Where the bytes of log directories are, what holds those that could go, and what a compaction would leave.

It answers: why is this partition so big, why does it not shrink, and what would go.
"""

from __future__ import annotations

from kafkalog.auditing.space.measuring import Held, Space, SpaceOptions, Weighed, measure
from kafkalog.auditing.space.settings import read_broker_properties, read_topic_configs

__all__ = ["Held", "Space", "SpaceOptions", "Weighed", "measure", "read_broker_properties", "read_topic_configs"]
