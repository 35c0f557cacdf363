"""Images of the engine: looked up, built, imported, pulled."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from docker.errors import DockerException

from orchestrator.errors import RunError, UnavailableError
from orchestrator.platforms.common import architectures, commands, lifecycle
from orchestrator.platforms.docker.connection import Engine
from orchestrator.powers import Images
from orchestrator.system import at_once

# The silence of a build step that compiles, while its engine answers.
_WORK_SILENCE_S = 900.0
_KEPT = 5  # lines of the last output that are kept as evidence


class DockerImages(Images):
    """The `Images` protocol on an engine."""

    def __init__(self, engine: Engine, architecture: str = "") -> None:
        self._architecture = architecture
        self._engine = engine
        self._client = engine.client

    def id(self, tag: str) -> str | None:
        images = self._client.images
        return self._engine.find(
            f"looking for image {tag}", lambda: str(images.get(tag).id)
        )

    @property
    def architecture(self) -> str:
        return self._architecture

    def mismatch(self, tag: str) -> str:
        def inspect() -> object:
            return self._client.images.get(tag).attrs.get("Architecture")

        built_for = self._engine.find(f"looking at image {tag}", inspect)
        return architectures.mismatch(architectures.named(built_for), self.architecture)

    def push(self, tag: str, registry: str) -> None:
        """Pushes an image as `registry`/`tag`. RunError if the registry refuses it."""
        name, _, version = f"{registry}/{tag}".rpartition(":")
        with self._engine.errors(f"pushing {tag} to {registry}"):
            self._client.images.get(tag).tag(name, version)
            push = self._client.images.push
            for line in self._told(
                lambda: push(name, version, stream=True, decode=True)
            ):
                if "error" in line:
                    error = line["error"]
                    raise RunError(
                        f"{tag} could not be pushed to {registry}: {error}",
                        advice="sign in there with `docker login`",
                    )

    def take_from(self, other: Self, tag: str) -> None:
        """Brings an image of another engine here, through this computer."""
        with self._engine.errors(f"bringing {tag}"):
            saved = other._client.images.get(tag).save(named=tag)
            # docker-py's types want a file, and a stream does too: no image is kept here.
            images: Any = self._client.images
            images.load(at_once.pieces(saved, self._engine.silence_s))

    def ways_to_get(self, tag: str) -> str:
        return (
            f"`docker pull {tag}`, or, on a machine that can, `docker save` it "
            "and bring it with `docker load`"
        )

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        lines: list[str] = []
        with self._engine.errors(f"building {tag}"):
            build = self._client.api.build
            for entry in self._told(
                lambda: build(path=folder, tag=tag, rm=True, decode=True)
            ):
                text = str(entry.get("stream") or entry.get("error") or "").rstrip()
                if text:
                    lines.append(text)
                    on_line(text)
                if "error" in entry:
                    raise RunError(
                        f"building {tag} failed", evidence="\n".join(lines[-30:])
                    )

    def import_image(self, tarball: str, repository: str, tag: str) -> None:
        with self._engine.errors(f"importing {repository}:{tag}"):
            take = self._client.api.import_image_from_file
            list(self._told(lambda: [take(tarball, repository=repository, tag=tag)]))

    def pull(self, tag: str) -> bool:
        def pull() -> None:
            for _ in self._told(
                lambda: self._client.api.pull(tag, stream=True, decode=True)
            ):
                pass
            self._client.images.get(tag)

        with self._engine.errors(f"pulling {tag}"):
            try:
                self._engine.patiently(pull)
            except (DockerException, OSError):
                return False
        return True

    def _told(self, begin: Callable[[], Iterable[Any]]) -> Iterator[Any]:
        """What the engine tells of work that lasts for minutes, for which docker-py has no limit.
        UnavailableError, with the last of it, if the engine says nothing at all any more."""
        last: deque[str] = deque(maxlen=_KEPT)

        def entries() -> Iterator[Any]:
            yield from begin()

        # A build may be silent for minutes while it
        # compiles, so the engine itself is asked beside it.
        every_s = min(commands.QUIET_S, self._engine.silence_s)
        ask = self._client.ping
        try:
            for entry in at_once.pieces(entries(), _WORK_SILENCE_S, ask, every_s):
                last.append(str(entry))
                yield entry
        except (DockerException, OSError) as error:
            # Any other error is a refusal, which the caller translates.
            if not lifecycle.timed_out(error):
                raise
            what = f"the Docker engine does not go on with it ({error})"
            raise UnavailableError(what, evidence="\n".join(last)) from error
