"""Columns of JSON made of values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from kafkalog.columns.texts import JsonColumn


def json_column(values: Iterable[Any]) -> JsonColumn:
    """Keep values as JSON without blanks; None is no value."""
    return JsonColumn.of([None if value is None else json.dumps(value, separators=(",", ":")) for value in values])
