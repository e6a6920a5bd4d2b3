"""How object stores are reached: options of the whole process, which complete the environment."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["StorageOptions", "set_storage_options", "storage_options"]


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """How an object store is reached, as far as the environment does not say; never a secret.

    `endpoint` is the URL of a server with the API of S3 or of Google's store, `anonymous` means unsigned requests.
    """

    endpoint: str | None = None
    region: str | None = None
    anonymous: bool = False


def set_storage_options(options: StorageOptions) -> None:
    """Use `options` for every path of this process from now on."""
    global _options  # noqa: PLW0603  # one for the process, like the environment that they complete
    _options = options


def storage_options() -> StorageOptions:
    """Return the process's options."""
    return _options


_options = StorageOptions()
