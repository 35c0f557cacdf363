"""The servers' pages that are read: masters at 7000, tablet servers at 9000, YSQL at 13000."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from standin import metrics
from standin.metrics import Activity

Query = Mapping[str, list[str]]
Page = Callable[[Query], tuple[int, Any]]


def serve(address: str, port: int, pages: Mapping[str, Page]) -> None:
    """In a thread of its own. A dictionary or list is sent as JSON, a text as it is."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            page = pages.get(parts.path)
            code, content = (
                page(parse_qs(parts.query)) if page else (404, "no such page")
            )
            body = (
                content if isinstance(content, str) else json.dumps(content)
            ).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer((address, port), Answer)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()


def _counters(server: str, version: str, activity: Activity) -> Page:
    def page(query: Query) -> tuple[int, Any]:
        reset = query.get("reset_histograms", ["true"])[0] != "false"
        asked = [part for text in query.get("metrics", []) for part in text.split(",")]
        return 200, metrics.filtered(
            metrics.entities(server, version, activity, reset), asked
        )

    return page


def common(
    server: str, flags: Mapping[str, str], version: str, activity: Activity
) -> dict[str, Page]:
    number, build = version.split("-b")
    about = {"version_number": number, "build_number": build, "git_hash": "stand-in"}
    listed = [{"name": name, "value": value} for name, value in flags.items()]
    return {
        "/api/v1/varz": lambda _: (200, {"flags": listed}),
        "/api/v1/version": lambda _: (200, about),
        "/metrics": _counters(server, version, activity),
    }


def ysql(activity: Activity) -> dict[str, Page]:
    return {"/metrics": lambda _: (200, metrics.statements(activity))}
