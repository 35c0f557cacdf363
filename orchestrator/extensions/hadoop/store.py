"""A store of files that others run, by its URL as Hadoop's drivers write it: `abfs://…`, `s3a://…`.

Its nodes are containers in which only the jobs run, each with a share of the load: the client's
side. Each run has a folder of its own in the store, removed at its end. What signs in is in the
environment of this program and of the jobs, and nowhere else."""

import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from orchestrator.errors import Mistake, TierbenchError, UnavailableError, require_none
from orchestrator.extensions.hadoop import pages
from orchestrator.extensions.hadoop.settings import is_setting
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import Cluster, ClusterSpec, Node, Volume
from orchestrator.parts import Database
from orchestrator.platforms import own_images
from orchestrator.platforms.common.node_records import as_node
from orchestrator.powers import Container, ContainerSpec, Network, World
from orchestrator.system import at_once, redaction

_SHELL = ("job", "org.apache.hadoop.fs.FsShell")
# The drivers' defaults try for long to reach a store that is not there.
_FEW_TRIES = ("-Dfs.azure.io.retry.max.retries=2", "-Dfs.s3a.attempts.maximum=2")
_ASK_S = 120.0
_REMOVE_S = 3600.0
_URL = re.compile(
    r"(?P<store>(?P<scheme>\w+)://[^\s/:?#]+)(?P<folder>(?:/[^\s/:?#]+)*)/?"
)

_SECRET = re.compile("key|secret|token|password|sas")


class Store(Database):
    """Nothing of it settles, is warmed or has counters that are read here."""

    name = "store"

    def image(self, spec: ClusterSpec, world: World) -> str:
        return own_images.tag(world.root, "hadoop")

    def restores(self, spec: ClusterSpec) -> bool:
        return False

    def check(self, spec: ClusterSpec, world: World) -> None:
        """See `Database`. UnavailableError too if the store does not answer, or not to this key."""
        what = "the store cannot be used as the profile says"
        require_none(
            list(_mistakes(spec)), what, "correct the profile, or the environment"
        )
        own_images.provide(world.root, "hadoop", world.platform, world.progress)
        environment = _environment(spec, "")
        with world.platform.running(_client(f"{world.scope}-ask", world)) as client:
            asked = (*_FEW_TRIES, "-ls", environment["STORE"] + "/")
            trouble = _trouble(client, environment, _ASK_S, *asked)
        if trouble:
            url = spec.existing["url"]
            raise UnavailableError(
                f"the store {url} does not answer, or not with the credentials of "
                "the environment",
                advice=(
                    "read the driver's message below. The container or bucket must "
                    "exist, and this computer's containers must be able to reach the "
                    "store"
                ),
                evidence=trouble,
            )

    @contextmanager
    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> Iterator[Cluster]:
        # Another computer may measure the same store, with a network of the same name.
        suffix = secrets.token_hex(4)
        environment = _environment(spec, f"{network.name}-{suffix}")
        names = [f"node-{number}" for number in range(1, spec.nodes + 1)]
        starting = [
            world.platform.running(_node(name, network, world)) for name in names
        ]
        with at_once.entered(starting) as started:
            nodes: list[Node] = []
            for name, container in zip(names, started, strict=True):
                nodes.append(as_node(container, name, "database"))
            try:
                handle = pages.Servers("", {}, environment)
                yield Cluster(
                    database=self.name,
                    version="",
                    nodes=tuple(nodes),
                    endpoints=(),
                    network=network.name,
                    handle=handle,
                )
            finally:
                _remove(started[0], environment, world)


def _mistakes(spec: ClusterSpec) -> Iterator[Mistake]:
    signs = shipped(__package__, "store.yaml")
    where = "cluster.existing"
    url = _URL.fullmatch(spec.existing.get("url", ""))
    if spec.settings:
        yield Mistake("cluster.settings", f"write the driver's under `{where}`")
    if not url or url["scheme"] not in signs:
        schemes = " or ".join(f"{scheme}://…" for scheme in signs)
        yield Mistake(
            f"{where}.url",
            f"is not the address of a store: write {schemes}, without a password",
        )
    for name, value in _given(spec).items():
        if not _is_of_a_driver(name, value):
            yield Mistake(
                f"{where}.{name}",
                "is not a key `fs.s3a.…` or `fs.azure.…`, or has spaces",
            )
        elif _SECRET.search(name):
            yield Mistake(
                f"{where}.{name}", "is a secret: the environment alone may have it"
            )
    if not url:
        return
    for variable in signs.get(url["scheme"], ()):
        if not os.environ.get(variable):
            yield Mistake(
                f"{where}.url", f"the environment variable {variable} is not set"
            )


def _is_of_a_driver(name: str, value: str) -> bool:
    return any(is_setting(begin, name, value) for begin in ("fs.s3a.", "fs.azure."))


def _given(spec: ClusterSpec) -> dict[str, str]:
    """What the profile says of the store, beside its URL."""
    settings = dict(spec.existing)
    settings.pop("url", None)
    return settings


def _environment(spec: ClusterSpec, folder: str) -> dict[str, str]:
    """The environment of jobs: where the store is, their folder there, and what signs in."""
    url = _URL.fullmatch(spec.existing["url"])
    assert url is not None, "`check` refuses others"
    variables = shipped(__package__, "store.yaml")[url["scheme"]]
    signs = {name: os.environ[name] for name in variables}
    redaction.remember(*signs.values())  # a driver's message may repeat them
    settings = " ".join(f"-D{name}={value}" for name, value in _given(spec).items())
    return {
        **signs,
        "STORE": url["store"],
        "FOLDER": f"{url['folder']}/{folder}",
        "SETTINGS": settings,
    }


def _node(name: str, network: Network, world: World) -> ContainerSpec:
    return _client(
        f"{network.name}-{name}",
        world,
        role="database",
        network=network.name,
        placement=name,
    )


def _client(
    name: str,
    world: World,
    *,
    role: str = "client",
    network: str | None = None,
    placement: str = "",
) -> ContainerSpec:
    """Waits for commands; what signs in is given to these, not to it."""
    wait = ("sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done")
    return own_images.container(
        "hadoop", name, wait, world, role=role, network=network, placement=placement
    )


def _trouble(
    client: Container, environment: Mapping[str, str], most_s: float, *words: str
) -> str:
    """What the driver says of a command that failed; "" of one that did not."""
    done = client.exec((*_SHELL, *words), env=environment, timeout_s=most_s)
    if done.exit_code != 0:
        return done.tail()
    return ""


def _remove(client: Container, environment: Mapping[str, str], world: World) -> None:
    """Removes the run's folder; a warning names it if that fails."""
    folder = environment["FOLDER"]
    try:
        # A trash in the store would keep the data, and cost what they cost.
        words = ("-rm", "-r", "-f", "-skipTrash", folder)
        trouble = _trouble(client, environment, _REMOVE_S, *words)
    except TierbenchError as error:
        trouble = error.what
    if trouble:
        where = environment["STORE"] + folder
        world.progress.warn(
            f"the folder {where} of this run may still be there: remove it "
            f"yourself ({trouble[-300:]})"
        )
