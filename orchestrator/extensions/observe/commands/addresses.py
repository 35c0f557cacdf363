"""Addresses of servers and exporters that options name, before anything is asked of them."""

from collections.abc import Iterable

from orchestrator.errors import UsageError
from orchestrator.system.redaction import hidden


def check(exporters: Iterable[str], prometheus: str | None) -> None:
    """UsageError for one without a scheme: in `db-1:9100` the host would be taken for it."""
    for url in exporters:
        _require_scheme("--exporter", url)
    if prometheus is not None:
        _require_scheme("--prometheus", prometheus)


def _require_scheme(option: str, url: str) -> None:
    if url.lower().startswith(("http://", "https://")):
        return
    # What follows another scheme, such as ftp://, is the address all the same. It may have a
    # password, which an error must not show.
    host = url.rpartition("://")[2] or "HOST:PORT"
    shown = hidden(f"http://{host}")
    raise UsageError(
        f"the address of {option} does not begin with http:// or https://",
        f"write {option} {shown}",
    )
