"""A server on loopback that speaks S3 (moto's), and counts what it is asked."""

from __future__ import annotations

import logging
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import pytest

from kafkalog.files import object_stores

BUCKET = "backups"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Request(NamedTuple):
    """What the server was asked: HEAD, GET or LIST; the key, or the prefix that is listed."""

    kind: str
    key: str


class ObjectStore:
    """The server and its bucket."""

    def __init__(self, endpoint: str, asked: list[Request], refused: dict[Request, str | None]) -> None:
        self.endpoint = endpoint
        self.asked = asked
        self._refused = refused
        self.is_awake = threading.Event()

    def name_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the environment of this process name it, with the key of who may read, and no other test's server."""
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", self.endpoint)
        monkeypatch.setattr(object_stores, "known_systems", {})

    def uri(self, key: str) -> str:
        return f"s3://{BUCKET}/{key}"

    def put(self, key: str, data: bytes, *, public: bool = False) -> None:
        """Store an object; only a public one is given to who does not sign."""
        self._ask("PUT", f"{BUCKET}/{quote(key)}", data, public=public)

    def delete(self, key: str) -> None:
        self._ask("DELETE", f"{BUCKET}/{quote(key)}")

    def upload(self, folder: Path, prefix: str, *, public: bool = False) -> str:
        """Store all files below a folder; answer the URI that stands for the folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes(), public=public)
        return self.uri(prefix)

    def _ask(self, method: str, path: str, data: bytes = b"", *, public: bool = False) -> None:
        about = {
            "Authorization": "AWS4-HMAC-SHA256 Credential=nobody/20261121/us-east-1/s3/aws4_request, Signature=none",
            "Content-Length": str(len(data)),
            "Content-Type": "application/octet-stream",
        }
        if public:
            about["x-amz-acl"] = "public-read"
        asked = urllib.request.Request(f"{self.endpoint}/{path}", data, about, method=method)
        with urllib.request.urlopen(asked, timeout=30):
            pass

    @contextmanager
    def refusing(self, kind: str, key: str, status: str | None = "403 Forbidden") -> Iterator[None]:
        """Answer requests of a kind for keys that begin like this with a status, while inside; nobody tries 403 again.

        Without a status there is no answer while inside.
        """
        self._refused[Request(kind, key)] = status
        self.is_awake.clear()
        yield
        self._refused.clear()
        self.is_awake.set()

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Count the requests made inside by their kind."""
        self.asked.clear()
        counts: Counter[str] = Counter()
        yield counts
        counts.update(request.kind for request in self.asked)


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Run the server, in this process, with an empty bucket."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = DomainDispatcherApplication(create_backend_app)
    asked: list[Request] = []
    refused: dict[Request, str | None] = {}

    def counted(environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        request = _request(environment)
        asked.append(request)
        for one, status in refused.items():
            if request.kind == one.kind and request.key.startswith(one.key):
                if status is None:
                    store.is_awake.wait()
                start(status or "503 Slow Down", [("Content-Length", "0")])
                return [b""]
        answer: Iterable[bytes] = application(environment, start)
        return answer

    server = make_server("127.0.0.1", 0, counted, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    store = ObjectStore(f"http://127.0.0.1:{server.server_port}", asked, refused)
    store._ask("POST", "moto-api/reset")
    store._ask("PUT", BUCKET)
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()


def _request(environment: dict[str, Any]) -> Request:
    path = environment["PATH_INFO"].strip("/")
    if path == BUCKET and environment["REQUEST_METHOD"] == "GET":
        query = dict(part.partition("=")[::2] for part in environment["QUERY_STRING"].split("&"))
        return Request("LIST", unquote(query.get("prefix", "")))
    return Request(environment["REQUEST_METHOD"], path.removeprefix(f"{BUCKET}/"))
