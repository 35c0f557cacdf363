"""docker-py's client with an engine in memory, which keeps containers, volumes and networks and
raises what docker-py was seen to raise. Names, errors and wording are docker-py's and moby's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import requests
from docker.errors import APIError, ImageNotFound, NotFound

from orchestrator.platforms.docker import connection
from orchestrator.platforms.docker.engine import DockerPlatform
from tests.fakes import FakeClock

ADDRESS = "tcp://127.0.0.1:2375"
RESET = requests.exceptions.ConnectionError(
    "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
)
SILENT = requests.exceptions.ReadTimeout(
    "UnixHTTPConnectionPool: Read timed out. (timeout=120)"
)


def refusal(status: int, words: str) -> APIError:
    response = requests.Response()
    response.status_code = status
    return APIError(words, response=response, explanation=words)


@dataclass
class Thing:
    """A container, a volume or a network."""

    engine: Engine
    kind: str
    name: str
    attrs: dict[str, Any]
    id: str = "id"
    started_s: float = float("inf")
    log: bytes = b"a line\n"

    @property
    def status(self) -> str:
        return str(self.attrs["State"]["Status"])

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.attrs.get("Config", self.attrs).get("Labels") or {})

    def remove(self, **_: Any) -> None:
        self.engine.called(f"remove {self.kind} {self.name}")
        self.engine.things.remove(self)

    def stop(self, **_: Any) -> None:
        self.engine.called(f"stop {self.name}")

    def start(self) -> None:
        self.engine.called(f"start {self.name}")
        self.started_s = self.engine.clock.now()

    def reload(self) -> None: ...

    def update(self, **limits: Any) -> None:
        self.engine.called(f"update {self.name}")
        self.attrs["HostConfig"].update(limits)

    def logs(self, **_: Any) -> bytes:
        self.engine.called(f"logs {self.name}")
        return self.log


class Family:
    def __init__(self, engine: Engine, kind: str) -> None:
        self._engine, self._kind = engine, kind

    def get(self, which: str) -> Thing:
        self._engine.called(f"get {self._kind} {which}")
        for thing in self._engine.things:
            if thing.kind == self._kind and which in (thing.name, thing.id):
                lasts_s, now_s = self._engine.lasts_s, self._engine.clock.now()
                if lasts_s and now_s >= thing.started_s + lasts_s:
                    thing.attrs["State"] = {
                        "Running": False,
                        "ExitCode": 0,
                        "Status": "exited",
                    }
                return thing
        raise NotFound(f"No such {self._kind}: {which}")

    def list(self, filters: Any = None, **_: Any) -> list[Thing]:
        self._engine.called(f"list {self._kind}")
        things = [thing for thing in self._engine.things if thing.kind == self._kind]
        asked = (filters or {}).get("label", [])
        labels = [
            label.split("=") for label in ([asked] if isinstance(asked, str) else asked)
        ]
        return [
            thing
            for thing in things
            if all(
                name in thing.labels
                and thing.labels[name] in (value or [thing.labels[name]])
                for name, *value in labels
            )
        ]

    def create(
        self, name: str, labels: Any = None, ipam: Any = None, **_: Any
    ) -> Thing:
        self._engine.called(f"create {self._kind} {name}")
        for thing in self._engine.things:
            if self._kind == "volume" and (thing.kind, thing.name) == ("volume", name):
                return thing  # as moby does: the existing one, with its own labels
        attrs = {"Labels": labels, "CreatedAt": self._engine.now(), "IPAM": ipam or {}}
        return self._engine.add(self._kind, name, attrs)


@dataclass
class Image:
    id: str
    attrs: dict[str, Any]


@dataclass
class Images:
    """Those that are here: tag → the architecture for which one is built."""

    built_for: dict[str, str] = field(default_factory=dict)

    def get(self, tag: str) -> Image:
        if tag not in self.built_for:
            raise ImageNotFound(f"No such image: {tag}")
        return Image(f"id of {tag}", {"Architecture": self.built_for[tag]})


class Api:
    base_url = "http+docker://localhost"  # docker-py's, for a socket
    trust_env = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get_adapter(self, url: str) -> Any:
        return requests.adapters.HTTPAdapter()

    def _retrieve_server_version(self) -> str:
        self._engine.called(f"version, by the environment: {self.trust_env}")
        return "1.52"

    def create_host_config(self, **options: Any) -> Any:
        return options

    def create_endpoint_config(self, **options: Any) -> Any:
        return options

    def create_networking_config(self, networks: Any) -> Any:
        return networks

    def put_archive(self, container: str, path: str, _content: bytes) -> None:
        self._engine.called(f"put {container} {path}")

    def create_container(
        self, name: str, labels: Any, host_config: Any, **_: Any
    ) -> dict[str, str]:
        self._engine.called(f"create container {name}")
        attrs = {
            "Config": {"Labels": labels},
            "State": {"Running": True, "Pid": 7, "Status": "running"},
            "NetworkSettings": {"Ports": {}},
            "HostConfig": host_config,
        }
        return {"Id": self._engine.add("container", name, attrs).id}

    def exec_create(self, container: str, argv: Any, **_: Any) -> dict[str, str]:
        self._engine.called(f"exec {container}")
        return {"Id": f"exec in {container}"}

    def exec_start(self, execution: str, detach: bool) -> None:
        self._engine.called(f"start {execution}")


@dataclass
class Engine:
    """The engine. `errors`: call → errors that its next calls raise."""

    clock: FakeClock
    things: list[Thing] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    errors: dict[str, list[Exception]] = field(default_factory=dict)
    lasts_s: float = 0.0
    ahead_s: int = 0
    facts: dict[str, Any] = field(default_factory=dict)  # what it says of itself

    def __post_init__(self) -> None:
        self.containers, self.volumes = (
            Family(self, "container"),
            Family(self, "volume"),
        )
        self.networks, self.api = Family(self, "network"), Api(self)
        self.images = Images()

    def called(self, call: str) -> None:
        self.calls.append(call)
        if self.errors.get(call):
            raise self.errors[call].pop(0)

    def add(self, kind: str, name: str, attrs: dict[str, Any]) -> Thing:
        self.things.append(Thing(self, kind, name, attrs, f"id-{name}"))
        return self.things[-1]

    def now(self) -> str:
        return f"2026-11-22T00:{self.ahead_s // 60:02d}:{self.ahead_s % 60:02d}Z"

    def info(self) -> dict[str, Any]:
        return {"SystemTime": self.now().replace("Z", ".123456789Z"), **self.facts}

    def platform(self, address: str = ADDRESS, known_as: str = "") -> DockerPlatform:
        """The platform on it; nothing is asked at the address."""
        faked = {"client_of": staticmethod(lambda **_: self)}
        engine = type("Faked", (connection.Engine,), faked)
        return DockerPlatform(self.clock, address, known_as=known_as, engine=engine)

    def ping(self) -> bool:
        self.called("ping")
        return True

    def names(self, kind: str) -> list[str]:
        return [thing.name for thing in self.things if thing.kind == kind]
