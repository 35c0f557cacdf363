"""What tierbench is made of, without network: `make audit`.

Held against what is pinned: the packages installed here against requirements.lock, and the Go
modules of the test cluster, each of which needs its checksum in go.sum. Printed, for a record: of
each image that is here its id, its digest in a registry, and a checksum over the names and versions
of its Debian packages, which are not pinned (`docker run … dpkg-query -W` lists them). Exit 1 if
something differs from what is pinned.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from orchestrator.extensions.benchbase import distribution
from orchestrator.platforms import own_images
from tests import ROOT

_ENTRY = re.compile(
    r"^(?P<name>[a-z0-9][\w.-]*)==(?P<version>[^\s;]+)[^\\\n]*(?P<sums>(?:\\\n +--hash=\S+ ?)*)",
    re.MULTILINE,
)
_REQUIRED = re.compile(
    r"^\s*(?:require )?([^\s>]+\.\S+) (v\S+)(?: //.*)?$", re.MULTILINE
)
_REPLACED = re.compile(r"^\s*(?:replace )?(\S+) => \S+ (v\S+)", re.MULTILINE)


def installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def differing_packages(
    lock: str, version_of: Callable[[str], str | None] = installed
) -> Iterator[str]:
    """One that is not installed is of another system, or of another use. Some are pinned once for
    each version of Python."""
    pinned: dict[str, list[str]] = {}
    for entry in _ENTRY.finditer(lock):
        pinned.setdefault(entry["name"], []).append(entry["version"])
        if not entry["sums"]:
            yield f"{entry['name']} {entry['version']} is pinned without a checksum"
    for name, versions in pinned.items():
        if (found := version_of(name)) not in (None, *versions):
            yield f"{name} {found} is installed, {' or '.join(versions)} is pinned: `make setup`"


def modules_without_checksum(go_mod: str, go_sum: str) -> Iterator[str]:
    replaced = dict(_REPLACED.findall(go_mod))
    for name, required in _REQUIRED.findall(go_mod):
        version = replaced.get(name, required)
        if (
            f"{name} {version} h1:" not in go_sum
            and f"{name} {version}/go.mod h1:" not in go_sum
        ):
            yield f"{name} {version} has no checksum in go.sum"


def differences(
    root: Path, version_of: Callable[[str], str | None] = installed
) -> Iterator[str]:
    yield from differing_packages((root / "requirements.lock").read_text(), version_of)
    for file in sorted((root / "tests/cluster").rglob("go.mod")):
        go_sum = file.with_name("go.sum")
        sums = go_sum.read_text() if go_sum.is_file() else ""
        for line in modules_without_checksum(file.read_text(), sums):
            yield f"{file.relative_to(root)}: {line}"


def docker(*argv: str) -> str | None:
    """What it prints; None if it fails, or is not there."""
    try:
        done = subprocess.run(
            ["docker", *argv], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def image(tag: str) -> str:
    shown = docker(
        "image", "inspect", "--format", '{{.Id}} {{join .RepoDigests ","}}', tag
    )
    if shown is None:
        return f"{tag}: not here"
    run = ("run", "--rm", "--network", "none", "--entrypoint", "dpkg-query", tag, "-W")
    packages = docker(*run)
    if not packages:
        return f"{tag}: {shown}; no Debian packages"
    digest = hashlib.sha256(packages.encode()).hexdigest()[:12]
    return f"{tag}: {shown.strip()}; {len(packages.splitlines())} Debian packages, {digest}"


def main() -> int:
    tags = [own_images.BASE, *(own_images.tag(ROOT, name) for name in own_images.OURS)]
    of_benchbase = distribution.named(os.environ).image
    if of_benchbase:
        tags.append(of_benchbase)
    for tag in tags:
        sys.stdout.write(f"{image(tag)}\n")
    found = list(differences(ROOT))
    sys.stdout.write("".join(f"differs: {line}\n" for line in found))
    sys.stdout.write("all that is pinned is as it is pinned\n" if not found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
