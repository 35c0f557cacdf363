"""Certificates for servers of tests, as OpenSSL makes them, and as YugabyteDB's Helm chart does."""

from __future__ import annotations

import ipaddress
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_NEW_KEY = "openssl req -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"


@dataclass(frozen=True)
class Certificate:
    """As PEM. `authority`: the file of who signed it."""

    authority: Path
    certificate: str
    key: str


def authority(folder: Path) -> Path:
    """Makes one; returns the file of its certificate. Its key stands beside it."""
    _run(
        folder,
        f"{_NEW_KEY} -x509 -keyout root.key -out root.crt -subj /CN=theirs "
        "-addext basicConstraints=critical,CA:TRUE",
    )
    return folder / "root.crt"


def signed(folder: Path, *names: str) -> Certificate:
    """A certificate for these names or addresses by the folder's authority."""
    alternatives = ",".join(_alternative(name) for name in names)
    (folder / "names").write_text(f"subjectAltName={alternatives}\n")
    _run(folder, f"{_NEW_KEY} -keyout server.key -out server.csr -subj /CN=node")
    _run(
        folder,
        "openssl x509 -req -in server.csr -out server.crt -CA root.crt -CAkey root.key "
        "-CAcreateserial -extfile names",
    )
    certificate = (folder / "server.crt").read_text()
    return Certificate(
        folder / "root.crt", certificate, (folder / "server.key").read_text()
    )


def certified(folder: Path, *names: str) -> Certificate:
    """The same, by an authority of its own."""
    authority(folder)
    return signed(folder, *names)


def names_of_the_chart(host: str, release: str = "yb") -> tuple[str, ...]:
    """Those of the node `yb-tserver-0.yb-tservers.yb.svc.cluster.local`, and two with an asterisk.

    As `stable/yugabyte/templates/service.yaml` of yugabyte/charts at 1349b41 lists them: the
    latter hold the release's name also with `oldNamingStyle`, which names no node by it.
    """
    _, service, space, domain = host.split(".", 3)
    of_release = f"*.{release}-yugabyte-{service}.{space}"
    return host, of_release, f"{of_release}.{domain}"


def _alternative(name: str) -> str:
    with suppress(ValueError):
        return f"IP:{ipaddress.ip_address(name)}"
    return f"DNS:{name}"


def _run(folder: Path, command: str) -> None:
    subprocess.run(command.split(), cwd=folder, capture_output=True, check=True)
