"""Images and guards of several engines, as those of one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from orchestrator import powers
from orchestrator.errors import TierbenchError
from orchestrator.platforms import own_images
from orchestrator.platforms.common import architectures
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system import at_once


class ImagesOfAll(powers.Images):
    """The `Images` protocol: an image is here if it is on all engines."""

    def __init__(self, engines: Sequence[DockerPlatform]) -> None:
        self._engines = engines

    def id(self, tag: str) -> str | None:
        """The id, or the several that engines have given it."""
        ids = at_once.each(lambda engine: engine.images.id(tag), self._engines)
        if None in ids:
            return None
        return " ".join(dict.fromkeys(str(image_id) for image_id in ids))

    @property
    def architecture(self) -> str:
        different: set[str] = set()
        for engine in self._engines:
            different.add(engine.images.architecture)
        return architectures.common(different)

    def mismatch(self, tag: str) -> str:
        """The first engine's that differs, with its name."""
        for engine in self._engines:
            wrong = engine.images.mismatch(tag)
            if wrong:
                return f"of {engine.known_as} {wrong}"
        return ""

    def pull(self, tag: str) -> bool:
        images = [engine.images for engine in self._engines]
        return all(
            at_once.each(lambda there: there.present(tag) or there.pull(tag), images)
        )

    def ways_to_get(self, tag: str) -> str:
        return f"on each of its machines {self._engines[0].images.ways_to_get(tag)}"

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        at_once.each(
            lambda engine: engine.images.build(folder, tag, on_line), self._engines
        )


class GuardOfAll:
    """The `Guard` protocol: that of each engine. Its holder has our images on all."""

    brings: Sequence[str] = ()

    def __init__(
        self, engines: Sequence[DockerPlatform], here: Callable[[], DockerPlatform]
    ) -> None:
        self._engines = engines
        self._here = here
        self.beats = engines[0].guard.beats
        # A campaign that loses one of its guards has lost: all of them share their beats.
        for engine in engines[1:]:
            engine.guard.beats = self.beats

    @contextmanager
    def held(self) -> Iterator[None]:
        # Guards are taken in turn: a campaign that waits at the first engine has taken no other.
        with at_once.entered(
            [engine.guard.held() for engine in self._engines], in_turn=True
        ):
            self._bring_images()
            yield

    def other(self) -> str | None:
        others = at_once.each(lambda engine: engine.guard.other(), self._engines)
        for campaign in others:
            if campaign:
                return campaign
        return None

    def _bring_images(self) -> None:
        """Brings ours to where they are missing, from another engine or from that of the
        environment, where `make setup` builds them. What none has is missed when it is needed."""
        for name in self.brings or own_images.OURS:
            tag = own_images.tag(own_images.PROJECT, name)
            having: list[DockerPlatform] = []
            lacking: list[DockerPlatform] = []
            for engine in self._engines:
                if engine.images.present(tag):
                    having.append(engine)
                else:
                    lacking.append(engine)
            if not lacking:
                continue
            if not having:
                having += self._builder(tag)
            for engine in lacking:
                self._bring_image(tag, having, engine)

    def _bring_image(
        self, tag: str, having: Sequence[DockerPlatform], engine: DockerPlatform
    ) -> None:
        """Brings the image from the first engine that has it for this engine's own architecture."""
        for source in having:
            if source.images.architecture == engine.images.architecture:
                engine.images.take_from(source.images, tag)
                return

    def _builder(self, tag: str) -> list[DockerPlatform]:
        """The engine of the environment, if it answers and has an image."""
        with suppress(TierbenchError):
            here = self._here()
            if here.images.present(tag):
                return [here]
        return []
