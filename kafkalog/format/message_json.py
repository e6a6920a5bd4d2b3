"""Messages as JSON: as Kafka's own converters write them, and as values for kafkalog's rows."""

from __future__ import annotations

import base64
import json.encoder
import math
import re
from collections.abc import Callable
from typing import Final

from kafkalog.format import message_ops as ops
from kafkalog.format.message import UNKNOWN_TAGS
from kafkalog.format.schema import Value

__all__ = ["JSON_ENCODERS", "kafka_json", "plain"]

# Values as text, by the dialects of rows: as ``message_text`` writes messages.
JSON_ENCODERS: Final[dict[int, Callable[[Value], str]]] = {
    ops.ASCII_JSON: json.JSONEncoder(separators=(",", ":")).encode,
    ops.SPACED_JSON: json.JSONEncoder(ensure_ascii=False).encode,
}
_LOWER: Final = [text for number in range(32) if (text := f"\\u{number:04x}") != f"\\u{number:04X}"]
# A number that is not an integer, or text in a string that looks like one.
_DOUBLE: Final = re.compile(r'(?:^|[":,\[])-?(?:\d+\.|\d+e|Infinity|NaN)')


def kafka_json(value: Value) -> str:
    """Write a message's fields as Kafka's generated converters do: compact, unknown tags left out."""
    text = _encoded(value)
    if UNKNOWN_TAGS in text or (_may_hold_double(text) and _DOUBLE.search(text)):
        text = _slowly(value)
    if "\\u00" in text:  # Java writes these digits in upper case
        text = text.replace("\\\\", "\0")  # what is after an escaped backslash is no escape
        for lower in _LOWER:
            text = text.replace(lower, f"\\u{lower[2:].upper()}")
        text = text.replace("\0", "\\\\")
    return text


def _may_hold_double(text: str) -> bool:
    """Say whether a text may contain a double, fast for most texts: the search is slow."""
    return "." in text or "e-" in text or "e+" in text or "N" in text or "I" in text


def _slowly(value: Value) -> str:
    """Write what the encoder of the standard library writes differently: doubles and fields that are left out."""
    if isinstance(value, dict):
        members = (f'"{name}":{_slowly(content)}' for name, content in value.items() if name != UNKNOWN_TAGS)
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_slowly, value))}]"
    return java_double(value) if isinstance(value, float) else _encoded(value)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _encoder() -> Callable[[Value], str]:
    """Make the encoder of the standard library once: ``json.dumps`` makes one for every call."""
    pieces = getattr(json.encoder, "c_make_encoder", None)
    if pieces is None:
        return json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_base64).encode
    encode = pieces(None, _base64, json.encoder.encode_basestring, None, ":", ",", False, False, True)
    return lambda value: "".join(encode(value, 0))


_encoded: Final = _encoder()


def java_double(number: float) -> str:
    """Write a double as Java does; NaN and infinities in quotes."""
    if math.isnan(number) or math.isinf(number):
        return f'"{"NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"}"'
    if not number:
        return f"{number}"
    sign = "-" if number < 0 else ""
    digits, exponent = _shortest(abs(number))
    figures = digits.replace(".", "").rstrip("0")
    point = int(exponent) + 1  # the point's place in the figures
    if -3 < point <= 0:
        return f"{sign}0.{'0' * -point}{figures}"
    if 0 < point <= 7:  # from 10^7 on Java writes an exponent
        return f"{sign}{figures[:point].ljust(point, '0')}.{figures[point:] or '0'}"
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{point - 1}"


def _shortest(number: float) -> tuple[str, int]:
    """Return the fewest digits that identify a number, at least two, and the exponent of the first."""
    for places in range(1, 17):
        text = f"{number:.{places}e}"
        if float(text) == number:
            break
    digits, _, exponent = text.partition("e")
    return digits, int(exponent)


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
        return _base64(value)
    if isinstance(value, float) and not math.isfinite(value):
        return json.loads(java_double(value))
    return value
