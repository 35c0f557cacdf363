"""Web pages of servers: one request with a deadline and a limit of bytes. The only module that
speaks HTTP.

For metrics and health of the nodes that are measured, on this machine or at a cluster's own
addresses; for a cloud's metadata service; and for public services, which may be behind a proxy.
Failures are OSErrors, as they are when a file is read."""

import base64
import http.client
import io
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from orchestrator.errors import UNREADABLE
from orchestrator.system import at_once, clock
from orchestrator.system.redaction import hidden, remember

TIMEOUT_S = 5.0
PUBLIC_TIMEOUT_S = 30.0
_GRACE_S = 1.0  # time for the error that says more than that the time is up
_PIECE = 64 * 1024
_PORTS = {"http": 80, "https": 443}
_ODATA = "$'"
_MIB = 2**20
# Longer answers are an error: they would fill the memory of this machine. Each limit is a multiple
# of the longest answer of its kind. 512 processors and 100 disks of an exporter are 0.5 MiB. A
# tablet server with thousands of tablets serves some ten MiB.
METADATA_BYTES = _MIB
EXPORTER_BYTES = 4 * _MIB
PAGE_BYTES = 64 * _MIB
HISTORY_BYTES = 256 * _MIB  # raw samples of six hours
# The file is read line by line; that of a region of AWS has some hundred MiB.
PUBLIC_FILE_BYTES = 4096 * _MIB
_LINE_CHARACTERS = _MIB
# The port on which YugabyteDB's tablet servers talk to each other. They hang up on anything else.
# node_exporter has the same port by default, and cannot have it beside a tablet server.
# YugabyteDB's own examples use the other.
TSERVER_RPC_PORT = 9100
_NODE_EXPORTER_PORT = 9300
_clock = clock.SystemClock()


class _Direct(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects: they may lead to addresses that only the cluster can reach."""

    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        return None


# No proxy: these are addresses of this machine or of its own network.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Direct())
_public = urllib.request.build_opener()
# No redirect is followed where a token is sent: it would be sent there too.
_signed_in = urllib.request.build_opener(_Direct())
_WORDS_BYTES = 4096  # length of a page that says why a request was refused
_WORDS_CHARACTERS = 300


def get(
    url: str,
    timeout_s: float = TIMEOUT_S,
    opener: urllib.request.OpenerDirector = _opener,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    most_bytes: int = PAGE_BYTES,
) -> str:
    """Returns the body. OSError if it is not whole in time, longer than `most_bytes`, or the status
    is not 200. User and password in the address are sent (RFC 7617, Basic), and are in no
    message."""
    request = _request(url, headers or {}, method)
    end_s = _clock.monotonic() + timeout_s

    def read() -> bytes:
        body = bytearray()
        with _opened(opener, request, timeout_s) as page:
            # `read1` returns what has come: a server that sends slowly is left when the time is
            # up.
            piece = page.read1(_PIECE)
            while piece and _clock.monotonic() < end_s:
                body += piece
                _refuse_longer(len(body), most_bytes)
                piece = page.read1(_PIECE)
            # A connection that ends early is no error to `read1`.
            if piece or page.length:
                raise OSError(f"it was still incomplete after {len(body):,} bytes")
        return bytes(body)

    with _blamed(url):
        # The timeout of a socket does not count the search for its name.
        whole = at_once.within(read, timeout_s + _GRACE_S)
        return whole.decode(errors="replace")


def get_exporter(url: str, timeout_s: float = TIMEOUT_S) -> str:
    """A page of a machine's exporter, as `get`. Where the port of tablet servers hung up, the error
    says whose port it is."""
    try:
        return get(url, timeout_s, most_bytes=EXPORTER_BYTES)
    except OSError as error:
        if port_of(url) != TSERVER_RPC_PORT or not hung_up(error):
            raise
        raise OSError(
            f"{error}. Port {TSERVER_RPC_PORT} is the RPC port of a YugabyteDB "
            "tablet server. `node_exporter` beside it uses another port, "
            f"{_NODE_EXPORTER_PORT} in YugabyteDB's examples"
        ) from error


def _refuse_longer(length: int, most_bytes: int) -> None:
    if length > most_bytes:
        raise OSError(f"it is longer than {most_bytes:,} bytes, and was not read")


def port_of(url: str) -> int | None:
    """The port that a URL names; None if it names none."""
    return urllib.parse.urlsplit(url).port


def host_of(url: str) -> str:
    """The host that a URL names; "" if it names none."""
    return urllib.parse.urlsplit(url).hostname or ""


def names_a_user(url: str) -> bool:
    return "@" in urllib.parse.urlsplit(url).netloc


def is_at(address: str, url: str) -> bool:
    """Whether an address has the scheme, host, port and path of `url`, whatever it asks there.

    A port may be written that the scheme has by itself: `https://a:443/b?c` is at `https://a/b`.
    """
    given = urllib.parse.urlsplit(address)
    wanted = urllib.parse.urlsplit(url)
    try:
        given_port = given.port or _PORTS.get(given.scheme)
    except ValueError:  # `:port` is none
        return False
    if names_a_user(address) or given_port != (wanted.port or _PORTS[wanted.scheme]):
        return False
    is_same_server = (given.scheme, given.hostname) == (wanted.scheme, wanted.hostname)
    return is_same_server and given.path == wanted.path


def hung_up(error: OSError) -> bool:
    """Whether `get` failed because what listens there ended the connection, or speaks no HTTP."""
    cause: object = error.__cause__
    if isinstance(cause, urllib.error.URLError):
        cause = cause.reason
    if isinstance(cause, ConnectionRefusedError):
        return False
    return isinstance(cause, (ConnectionError, http.client.HTTPException))


def public_lines(url: str, most_bytes: int = PUBLIC_FILE_BYTES) -> Iterator[str]:
    """The lines of a public service's large file. OSError as of `get`, or if it ends early."""
    length = 0
    with (
        _blamed(url),
        _public_page(url) as file,
    ):
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        line = text.readline(_LINE_CHARACTERS)
        while line:
            length += len(line)
            _refuse_longer(length, most_bytes)
            if len(line) == _LINE_CHARACTERS:
                raise OSError(f"a line is longer than {_LINE_CHARACTERS:,} bytes")
            yield line
            line = text.readline(_LINE_CHARACTERS)
        if file.length:
            raise OSError(f"it ended {file.length:,} bytes early")


def _public_page(url: str) -> Any:
    request = _request(url, {}, "GET")
    return _public.open(request, timeout=PUBLIC_TIMEOUT_S)


def _opened(
    opener: urllib.request.OpenerDirector,
    request: urllib.request.Request,
    timeout_s: float,
) -> Any:
    """The page; an HTTPError that has the server's own words, if it refuses the request."""
    try:
        return opener.open(request, timeout=timeout_s)
    except urllib.error.HTTPError as error:
        # `Bad Request` alone does not tell what to correct.
        error.msg = f"{error.msg}{_words_of(error)}"
        raise


def _words_of(error: urllib.error.HTTPError) -> str:
    """What the server says of it, as JSON with `error` (Prometheus) or in a line of text."""
    with suppress(OSError, http.client.HTTPException):
        words = _explanation(error.read(_WORDS_BYTES).decode(errors="replace"))
        if words:
            return f": {words[:_WORDS_CHARACTERS]}"
    return ""


def _explanation(text: str) -> str:
    """The explanation in a line of signs that can be shown; empty if it is a page for people."""
    with suppress(ValueError):
        content = json.loads(text)
        text = ""
        if isinstance(content, dict):
            text = _text_in(content.get("error") or content.get("message"))
    if "<" in text:
        return ""
    line = " ".join(text.split())
    return "".join(filter(str.isprintable, line))


def _text_in(explanation: object) -> str:
    """The message within errors of Google's and Azure's."""
    if isinstance(explanation, dict):
        explanation = explanation.get("message")
    if isinstance(explanation, str):
        return explanation
    return ""


@contextmanager
def _blamed(url: str) -> Iterator[None]:
    """Every failure as an OSError that names the page, without what it was asked."""
    # The question may have a token in it.
    shown = hidden(url).partition("?")[0]
    try:
        yield
    except (http.client.HTTPException, ValueError) as error:
        kind = type(error).__name__
        raise OSError(f"{shown}: {kind}: {hidden(str(error))}") from error
    except OSError as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # its connection is still open, to read the page that explains
        raise OSError(f"{shown}: {hidden(_reason_of(error))}") from error


def _reason_of(error: OSError) -> str:
    """`Connection refused`, of `<urlopen error [Errno 111] Connection refused>`."""
    cause: object = error
    if isinstance(error, urllib.error.URLError) and not isinstance(
        error, urllib.error.HTTPError
    ):
        cause = error.reason
    # A certificate's errors have their reason in their text alone.
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError):
        return cause.strerror or str(cause)
    return str(cause)


def _request(
    url: str, headers: Mapping[str, str], method: str
) -> urllib.request.Request:
    parts = urllib.parse.urlsplit(url)
    user_info, at, host = parts.netloc.rpartition("@")
    address = parts._replace(netloc=host).geturl()
    request = urllib.request.Request(address, headers=dict(headers), method=method)
    if at:
        words = urllib.parse.unquote(user_info)
        encoded = base64.b64encode(words.encode()).decode()
        # A server may repeat the header in its answer, and that may be shown.
        remember(words.partition(":")[2], encoded)
        request.add_header("Authorization", f"Basic {encoded}")
    return request


def get_json(
    url: str,
    timeout_s: float = TIMEOUT_S,
    opener: urllib.request.OpenerDirector = _opener,
    question: Mapping[str, object] | None = None,
    most_bytes: int = PAGE_BYTES,
    headers: Mapping[str, str] | None = None,
) -> Any:
    """Returns the body, parsed. OSError also if it is not JSON, or an object with `error`."""
    if question:
        # OData's own signs stay as they are, and a space is no plus.
        quote = urllib.parse.quote
        words = urllib.parse.urlencode(question, safe=_ODATA, quote_via=quote)
        url = f"{url}?{words}"
    try:
        body = get(url, timeout_s, opener, headers, most_bytes=most_bytes)
        if not body.strip():
            raise OSError(f"{hidden(url)}: the answer is empty")
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise OSError(f"{hidden(url)}: not JSON") from error
    if isinstance(content, dict) and "error" in content:
        raise OSError(f"{hidden(url)}: {content['error']}")
    return content


def get_history(
    url: str,
    timeout_s: float,
    question: Mapping[str, object],
    headers: Mapping[str, str] | None = None,
) -> Any:
    """Samples of hours, as `get_json`, through `history_opener`."""
    opener = history_opener(url, headers)
    return get_json(url, timeout_s, opener, question, HISTORY_BYTES, headers)


def history_opener(
    url: str, headers: Mapping[str, str] | None
) -> urllib.request.OpenerDirector:
    """An opener for the service that has a history.

    One with a user in the address, or with headers that sign in, may be a public service: it is
    reached through the machine's proxy, if there is one.
    """
    if headers or names_a_user(url):
        return _signed_in
    return _opener


@contextmanager
def understood(page: str) -> Iterator[None]:
    """A page that has another form than the block expects is an OSError that names it."""
    try:
        yield
    except UNREADABLE as error:
        kind = type(error).__name__
        raise OSError(f"{hidden(page)} has an unknown form: {kind}: {error}") from error


def get_public_json(url: str, question: Mapping[str, str] | None = None) -> Any:
    """JSON of a public service, as from `get_json`, through the machine's proxy if it has one."""
    return get_json(url, PUBLIC_TIMEOUT_S, _public, question)
