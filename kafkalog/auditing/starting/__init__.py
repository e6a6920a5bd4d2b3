"""Whether brokers start from log directories, what a start makes of each, and whether they can go on from a copy.

It answers: does this broker start, and can I restore this backup.
"""

from __future__ import annotations

from kafkalog.auditing.starting.broker_start import Release, release_of
from kafkalog.auditing.starting.next_start import NextStart, start_of_log
from kafkalog.auditing.starting.restorable import AnswerWithReasons, CanGoOn, Restorable, judge_restorable

__all__ = [
    "AnswerWithReasons",
    "CanGoOn",
    "NextStart",
    "Release",
    "Restorable",
    "judge_restorable",
    "release_of",
    "start_of_log",
]
