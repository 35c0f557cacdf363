"""A store of files that others run, by the URL that Hadoop's drivers know it by: `abfs://…`, `s3a://…`.

Its nodes are containers of our image `hadoop` in which only the jobs run, a share of the load each:
what is seen of them is the client's side. Each run has a folder of its own in the store, which is
removed at its end. What signs in is in this program's environment and in that of the jobs alone.
"""

import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from orchestrator.errors import Mistake, TierbenchError, UnavailableError, require_none
from orchestrator.hadoop.pages import Servers
from orchestrator.keys.messages import failure, message
from orchestrator.keys.strict_yaml import shipped
from orchestrator.model import Cluster, ClusterSpec, Volume
from orchestrator.parts import Database
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import as_node
from orchestrator.powers import Container, ContainerSpec, Network, World
from orchestrator.system import at_once, redaction

_SHELL = ("job", "org.apache.hadoop.fs.FsShell")
_ASK_S, _REMOVE_S = 120.0, 3600.0
_SETTING = re.compile(r"fs\.(?:s3a|azure)\.[\w.-]+")
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
        require_none(list(_mistakes(spec)), what, "correct the profile, or the environment")
        own_images.provide(world.root, "hadoop", world.platform, world.progress)
        environment = _environment(spec, "")
        asked = (*_SHELL, "-ls", f"{environment['STORE']}/")
        plan = own_images.container(
            "hadoop", f"{world.scope}-ask", asked, world, environment=environment
        )
        if (done := world.platform.once(plan, timeout_s=_ASK_S)).exit_code != 0:
            url, evidence = spec.existing["url"], done.tail()
            raise failure(UnavailableError, "no answer of the store", url=url, evidence=evidence)

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: Network, world: World
    ) -> Iterator[Cluster]:
        environment = _environment(spec, f"{network.name}-{secrets.token_hex(4)}")
        plans = [_client(n, spec, network, world) for n in range(1, spec.nodes + 1)]
        with at_once.entered([world.platform.running(plan) for plan in plans]) as started:
            nodes = tuple(
                as_node(at, f"node-{n}", "database", cpus=plan.cpus, memory_bytes=plan.memory_bytes)
                for n, (plan, at) in enumerate(zip(plans, started, strict=True), start=1)
            )
            try:
                handle = Servers("", {}, environment)
                yield Cluster(self.name, "", nodes, (), network.name, handle)
            finally:
                _remove(started[0], environment, world)


def _mistakes(spec: ClusterSpec) -> Iterator[Mistake]:
    signs, where = shipped(__package__, "store.yaml"), "cluster.existing"
    url = urlsplit(spec.existing.get("url", ""))
    if spec.settings:
        yield Mistake("cluster.settings", f"write the driver's under `{where}`")
    if url.scheme not in signs or not url.hostname or url.query or url.password:
        schemes = " or ".join(f"{scheme}://…" for scheme in signs)
        yield Mistake(f"{where}.url", f"is no store's: write {schemes}, without a password")
    for name, value in spec.existing.items():
        if name != "url" and (not _SETTING.fullmatch(name) or set(value) & set(" \t\n'\"")):
            yield Mistake(f"{where}.{name}", "is no `fs.s3a.…` or `fs.azure.…` without spaces")
        elif name != "url" and _SECRET.search(name):
            yield Mistake(f"{where}.{name}", "is a secret: the environment alone may have it")
    for variable in signs.get(url.scheme, ()):
        if not os.environ.get(variable):
            yield Mistake(f"{where}.url", f"the environment variable {variable} is not set")


def _environment(spec: ClusterSpec, folder: str) -> dict[str, str]:
    """Of the jobs: where the store is, their folder there, and what signs in."""
    url = urlsplit(spec.existing["url"])
    signs = {name: os.environ[name] for name in shipped(__package__, "store.yaml")[url.scheme]}
    redaction.remember(*signs.values())
    given = (f"-D{name}={value}" for name, value in spec.existing.items() if name != "url")
    return {
        **signs,
        "STORE": f"{url.scheme}://{url.netloc}",
        "FOLDER": f"{url.path.rstrip('/')}/{folder}",
        "SETTINGS": " ".join(given),
    }


def _client(number: int, spec: ClusterSpec, network: Network, world: World) -> ContainerSpec:
    wait = ("sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done")
    return own_images.container(
        *("hadoop", f"{network.name}-node-{number}", wait, world),
        role="database",
        network=network.name,
        placement=f"node-{number}",
        cpus=spec.node.cpus if spec.node else None,
        memory_bytes=spec.node.memory_bytes if spec.node else None,
    )


def _remove(container: Container, environment: Mapping[str, str], world: World) -> None:
    """Removes the run's folder; a warning names it if that fails."""
    words = ("-rm", "-r", "-f", "-skipTrash", environment["FOLDER"])
    try:
        done = container.exec((*_SHELL, *words), env=environment, timeout_s=_REMOVE_S)
        error = done.tail() if done.exit_code != 0 else ""
    except TierbenchError as raised:
        error = raised.what
    if error:
        where = environment["STORE"] + environment["FOLDER"]
        world.progress.warn(message("folder may stay", where=where, error=error[-300:]))
