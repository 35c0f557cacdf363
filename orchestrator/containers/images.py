"""Images of the engine: looked up, built, imported, pulled."""

from __future__ import annotations

from collections.abc import Callable

from docker.errors import APIError, DockerException, ImageNotFound

from docker import DockerClient
from orchestrator.containers.errors import engine_errors
from orchestrator.errors import RunError


class Images:
    """The image half of the engine; `DockerContainers` is the whole."""

    _client: DockerClient

    def image_present(self, tag: str) -> bool:
        with engine_errors(f"looking for image {tag}"):
            try:
                self._client.images.get(tag)
            except ImageNotFound:
                return False
        return True

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        """Builds `folder`/Dockerfile; RunError with the last lines where it fails."""
        lines: list[str] = []
        with engine_errors(f"building {tag}"):
            stream = self._client.api.build(path=folder, tag=tag, rm=True, decode=True)
            for entry in stream:
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
        """True where the image could be pulled."""
        try:
            self._client.images.pull(tag)
        except (APIError, DockerException, OSError):
            return False
        return True
