"""How object stores are reached: one choice for the process, like the environment that it completes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["StorageOptions", "set_storage_options", "storage_options"]


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """How an object store is reached, where the environment does not say it; never a secret.

    `endpoint` is the URL of a server that speaks S3 or stands for Google's, `anonymous` means that nothing is signed.
    """

    endpoint: str | None = None
    region: str | None = None
    anonymous: bool = False


def set_storage_options(options: StorageOptions) -> None:
    """Make `options` this process's own for every path from now on."""
    global _options  # noqa: PLW0603  # one for the process, like the environment that they complete
    _options = options


def storage_options() -> StorageOptions:
    """Return the process's options."""
    return _options


_options = StorageOptions()
