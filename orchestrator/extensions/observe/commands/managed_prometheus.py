"""HTTP headers for a managed Prometheus: a bearer token, and for Mimir a tenant.

Amazon's service takes neither: its requests must be signed (SigV4). Amazon's own proxy does that
(https://github.com/awslabs/aws-sigv4-proxy)."""

from collections.abc import Mapping
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.system.http_client import names_a_user
from orchestrator.system.redaction import remember

# Variables of the environment: an option would be seen in the list of processes, and stay in the
# shell's history.
TOKEN = "TIERBENCH_PROMETHEUS_TOKEN"
TOKEN_FILE = "TIERBENCH_PROMETHEUS_TOKEN_FILE"
TENANT = "TIERBENCH_PROMETHEUS_TENANT"


def headers(environment: Mapping[str, str], url: str) -> dict[str, str]:
    """The headers of each request; empty without these variables.

    UsageError for a file that cannot be read, for a token that is not one line of text, and for a
    token beside a user in the address."""
    sent = {}
    token = _token(environment)
    if token and names_a_user(url):
        raise UsageError(
            "a token and a user are both given, but a request can carry only one",
            f"unset {TOKEN} and {TOKEN_FILE}, or take the user out of --prometheus",
        )
    if token:
        # The token is hidden from now on in all that is shown or written.
        remember(token)
        sent["Authorization"] = f"Bearer {token}"
    tenant = environment.get(TENANT, "").strip()
    if tenant:
        sent["X-Scope-OrgID"] = tenant
    # A line break in a header would begin another header.
    for value in sent.values():
        if not value.isascii() or not value.isprintable():
            raise UsageError(
                f"{TOKEN} or {TENANT} holds a character that is not printable ASCII",
                "set it to the value alone, without line breaks",
            )
    return sent


def _token(environment: Mapping[str, str]) -> str:
    token = environment.get(TOKEN, "").strip()
    file = environment.get(TOKEN_FILE, "")
    if token or not file:
        return token
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{TOKEN_FILE} names {file}, which cannot be read: {error}",
            "write the token alone into it",
        ) from error
