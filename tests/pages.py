"""A web server on 127.0.0.1 with the pages that a test gives it."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

FLAGS = "/api/v1/varz"  # where a server of YugabyteDB says its flags


class Server:
    """Pages on 127.0.0.1; `paths`: those that were requested; `otherwise`: what all others are."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, str]] = {}
        self.paths: list[str] = []
        self.otherwise = (404, "no")
        outer = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.paths.append(self.path)
                of_path = outer.pages.get(self.path.split("?")[0], outer.otherwise)
                code, text = outer.pages.get(self.path, of_path)
                self.send_response(code)
                if code == 307:
                    self.send_header("Location", text)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        ).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def listed(flags: Mapping[str, str]) -> str:
    """The page at FLAGS."""
    return json.dumps(
        {"flags": [{"name": name, "value": is_} for name, is_ in flags.items()]}
    )


@contextmanager
def serving(pages: Mapping[str, str]) -> Iterator[str]:
    """A server with these pages, by its address."""
    with closing(Server()) as server:
        server.pages |= {path: (200, text) for path, text in pages.items()}
        yield server.url
