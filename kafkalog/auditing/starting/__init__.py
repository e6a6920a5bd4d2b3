"""Whether brokers start from log directories, what a start makes of each, and whether they can go on from a copy.

It answers: does this broker start, and can I restore this backup.
"""

from __future__ import annotations

from kafkalog.auditing.starting.broker_start import Release, release_of
from kafkalog.auditing.starting.next_start import NextStart, start_of_log
from kafkalog.auditing.starting.restorable import AnswerWithReasons, CanGoOn, Restorable, judge_restorable
from kafkalog.auditing.starting.throws import HARMFUL, THROWS, Fate, Throw, row_of_file, starting_page

__all__ = [
    "HARMFUL",
    "THROWS",
    "AnswerWithReasons",
    "CanGoOn",
    "Fate",
    "NextStart",
    "Release",
    "Restorable",
    "Throw",
    "judge_restorable",
    "release_of",
    "row_of_file",
    "start_of_log",
    "starting_page",
]
