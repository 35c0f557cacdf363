"""Images for the nodes: out of Docker as they are, and the one of a pod's first process."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path


def save(names: Sequence[str], archive: Path) -> None:
    """Writes images of Docker into `archive`, each of their layers once. CalledProcessError where
    there is none of a name."""
    command = ["docker", "save", "--output", str(archive), *names]
    subprocess.run(command, check=True, capture_output=True)


def of_program(program: Path, name: str, archive: Path) -> None:
    """Writes an image that holds one static program, in the form that `docker save` writes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as layer:
        layer.add(program, arcname=program.name)
    data = packed.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    configuration = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    config = json.dumps(configuration).encode()
    config_file = f"{hashlib.sha256(config).hexdigest()}.json"
    layer_file = f"{digest}/layer.tar"
    manifest = [{"Config": config_file, "RepoTags": [name], "Layers": [layer_file]}]
    contents = (
        (config_file, config),
        (layer_file, data),
        ("manifest.json", json.dumps(manifest).encode()),
    )
    with tarfile.open(archive, "w") as whole:
        for file, content in contents:
            entry = tarfile.TarInfo(file)
            entry.size = len(content)
            whole.addfile(entry, io.BytesIO(content))
