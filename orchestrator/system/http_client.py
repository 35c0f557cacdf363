"""Web pages of servers: one GET with a deadline. The only module that speaks HTTP.

For metrics and health of the nodes that are measured, on this machine or at a cluster's own
addresses. Failures are OSErrors, as they are when a file is read.
"""

from __future__ import annotations

import base64
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from orchestrator.system.redaction import hidden

TIMEOUT_S = 5.0


class _Direct(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects: they may lead to addresses that only the cluster can reach."""

    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        return None


# No proxy: these are addresses of this machine or of its own network.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Direct())


def get(url: str, timeout_s: float = TIMEOUT_S) -> str:
    """Returns the body. OSError if there is no answer, or if its status is not 200.

    The user and password of `http://user:password@host` are sent (RFC 7617, Basic), and are in no
    message.
    """
    shown = hidden(url)
    try:
        with _opener.open(_request(url), timeout=timeout_s) as answer:
            body: bytes = answer.read()
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(f"{shown}: {type(error).__name__}: {hidden(str(error))}") from error
    except OSError as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # its connection is still open, to read the page that explains
        raise OSError(f"{shown}: {hidden(str(error))}") from error
    return body.decode(errors="replace")


def _request(url: str) -> urllib.request.Request:
    parts = urllib.parse.urlsplit(url)
    user_info, at, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(parts._replace(netloc=host).geturl())
    if at:
        words = urllib.parse.unquote(user_info).encode()
        request.add_header("Authorization", f"Basic {base64.b64encode(words).decode()}")
    return request


def get_json(url: str, timeout_s: float = TIMEOUT_S) -> Any:
    """Returns the body, parsed. OSError also if it is not JSON, or an object with `error`."""
    try:
        content = json.loads(get(url, timeout_s))
    except ValueError as error:
        raise OSError(f"{hidden(url)}: not JSON") from error
    if isinstance(content, dict) and "error" in content:
        raise OSError(f"{hidden(url)}: {content['error']}")
    return content
