"""Images of the engine: looked up, built, imported, pulled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from docker.errors import DockerException, ImageNotFound

from docker import DockerClient
from orchestrator.errors import RunError
from orchestrator.platforms.docker.errors import engine_errors
from orchestrator.platforms.docker.patience import patiently
from orchestrator.powers import Clock


class Images:
    """The part of `DockerPlatform` that deals with images."""

    _client: DockerClient
    _clock: Clock

    def image_present(self, tag: str) -> bool:
        return self.image_id(tag) is not None

    def image_id(self, tag: str) -> str | None:
        with engine_errors(f"looking for image {tag}"):
            try:
                return str(patiently(lambda: self._client.images.get(tag).id, self._clock))
            except ImageNotFound:
                return None

    def push(self, tag: str, registry: str) -> None:
        """Pushes an image as `registry`/`tag`. RunError if the registry refuses it."""
        name, _, version = f"{registry}/{tag}".rpartition(":")
        with engine_errors(f"pushing {tag} to {registry}"):
            self._client.images.get(tag).tag(name, version)
            for line in self._client.images.push(name, version, stream=True, decode=True):
                if "error" in line:
                    raise RunError(
                        f"{tag} could not be pushed to {registry}: {line['error']}",
                        advice="sign in there with `docker login`",
                    )

    def take_from(self, other: Images, tag: str) -> None:
        """Brings an image of another engine here, through this computer."""
        with engine_errors(f"bringing {tag}"):
            saved = other._client.images.get(tag).save(named=tag)
            images: Any = self._client.images  # its types want a file; a stream does too
            images.load(saved)

    def engine_id(self) -> str | None:
        with engine_errors("reading the engine's identity"):
            return self._client.info().get("ID") or None

    def ways_to_get(self, tag: str) -> str:
        return (
            f"`docker pull {tag}`, or, on a machine that can, `docker save` it and bring it with "
            "`docker load`"
        )

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        lines: list[str] = []
        with engine_errors(f"building {tag}"):
            for entry in self._client.api.build(path=folder, tag=tag, rm=True, decode=True):
                text = str(entry.get("stream") or entry.get("error") or "").rstrip()
                if text:
                    lines.append(text)
                    on_line(text)
                if "error" in entry:
                    raise RunError(f"building {tag} failed", evidence="\n".join(lines[-30:]))

    def import_image(self, tarball: str, repository: str, tag: str) -> None:
        with engine_errors(f"importing {repository}:{tag}"):
            self._client.api.import_image_from_file(tarball, repository=repository, tag=tag)

    def pull(self, tag: str) -> bool:
        try:
            patiently(lambda: self._client.images.pull(tag), self._clock)
        except (DockerException, OSError):
            return False
        return True
