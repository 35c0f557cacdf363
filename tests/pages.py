"""A web server on 127.0.0.1 with the pages that a test gives it."""

from __future__ import annotations

import http.server
import threading
from typing import Any


class Server:
    """Pages on 127.0.0.1; `paths`: those that were requested."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, str]] = {}
        self.paths: list[str] = []
        outer = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.paths.append(self.path)
                code, text = outer.pages.get(self.path.split("?")[0], (404, "no"))
                self.send_response(code)
                if code == 307:
                    self.send_header("Location", text)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
