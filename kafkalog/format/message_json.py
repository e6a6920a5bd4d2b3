"""Messages as JSON: as Kafka's own converters write them, and as values for our rows."""

from __future__ import annotations

import base64
import json
import math
import re
from json.encoder import encode_basestring
from typing import Final

from kafkalog.format.message import UNKNOWN_TAGS
from kafkalog.format.schema import Value

__all__ = ["kafka_json", "plain"]

_ESCAPE: Final = re.compile(r"\\(?:u00[01].|.)")
_WORDS: Final[dict[Value, str]] = {None: "null", True: "true", False: "false"}


def kafka_json(value: Value) -> str:
    """Write a message's fields as Kafka's generated converters do: compact, unknown tags left out."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, dict):
        members = (f'"{name}":{kafka_json(content)}' for name, content in value.items() if name != UNKNOWN_TAGS)
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(kafka_json, value))}]"
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    return java_double(value) if isinstance(value, float) else str(value)


def _string(text: str) -> str:
    quoted = encode_basestring(text)
    if "\\u00" not in quoted:
        return quoted
    return _ESCAPE.sub(lambda found: found[0][:4] + found[0][4:].upper(), quoted)  # Java's digits are upper case


def java_double(number: float) -> str:
    """Write a double as Java does; what is no number in quotes."""
    if math.isnan(number) or math.isinf(number):
        return f'"{"NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"}"'
    sign = "-" if math.copysign(1, number) < 0 else ""
    digits, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, rest = digits.partition(".")
    rest = "" if rest == "0" else rest
    point = len(whole) + int(exponent or 0)
    figures = (whole + rest).lstrip("0")
    point -= len(whole + rest) - len(figures)
    figures = figures.rstrip("0") or "0"
    if not number:
        return f"{sign}0.0"
    if -3 < point <= 7:
        figures = figures.ljust(point, "0") if point > 0 else "0" * -point + figures
        at = max(point, 0)
        return f"{sign}{figures[:at] or '0'}.{figures[at:] or '0'}"
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{point - 1}"


def plain(value: Value) -> Value:
    """Make a message's fields values of JSON: bytes in base64, unknown tags as objects of tag and data."""
    if isinstance(value, dict):
        return {
            name: [{"tag": tag, "data": plain(data)} for tag, data in content]
            if name == UNKNOWN_TAGS
            else plain(content)
            for name, content in value.items()
        }
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return json.loads(java_double(value))
    return value
