"""What the official tool's options say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import text as kernel_text

__all__ = ["DECODERS", "STRING", "Decoder", "KafkaTextOptions"]

Decoder = Callable[[bytes], str | None]


def _decode_integer(size: int) -> Decoder:
    def decode(data: bytes) -> str | None:
        return str(int.from_bytes(data[:size], "big", signed=True)) if len(data) >= size else None

    return decode


# Decoder classes by their names; each returns None for bytes that it cannot decode.
DECODERS: Final[dict[str, Decoder]] = {
    "org.apache.kafka.tools.api.StringDecoder": kernel_text.java_text,
    "org.apache.kafka.tools.api.LongDecoder": _decode_integer(8),
    "org.apache.kafka.tools.api.IntegerDecoder": _decode_integer(4),
}
STRING: Final = DECODERS["org.apache.kafka.tools.api.StringDecoder"]


@dataclass(frozen=True, slots=True)
class KafkaTextOptions:
    """What the official tool's options say, and kafkalog's own `dialect` and `escape` (for terminals)."""

    deep_iteration: bool = False
    print_data_log: bool = False
    skip_record_metadata: bool = False
    verify_index_only: bool = False
    index_sanity_check: bool = False
    max_bytes: int | None = None
    max_message_size: int = 5 * 1024 * 1024
    key_decoder: Decoder = STRING
    value_decoder: Decoder = STRING
    internal: Internal | None = None
    dialect: str = "4.3"
    escape: bool = False

    @property
    def deep(self) -> bool:
        """Say whether records are read."""
        return self.deep_iteration or self.print_data_log or self.internal is not None
