"""YugabyteDB from its own image: nodes under `yugabyted`, every one of which takes SQL.

Shape: n nodes with 1, 3 or 5 copies of every tablet; a write is answered when a majority of the
copies has it. Each node runs a master, a tablet server and PostgreSQL's front end; leaders are
spread, so clients spread their connections over all nodes.

A loaded data set is kept as copies of all nodes' disks. They name each other by address, so a copy
starts only on the addresses it was loaded at; `restore: load` does without copies.
Facts, traps and their sources: docs/YUGABYTEDB.md.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.databases.common import container_nodes
from orchestrator.databases.common.yugabyte import cache, lsm, pages, queries, release, versions
from orchestrator.databases.common.yugabyte import facts as said
from orchestrator.databases.yugabytedb import flags, image, nodes, settings, tls
from orchestrator.databases.yugabytedb.readiness import Waiting, admin_address, check_flags
from orchestrator.errors import NodeError, RunError, UsageError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, Volume, sources
from orchestrator.powers import Container, Network, World
from orchestrator.system import sql
from orchestrator.system.sql import Connect

_FLUSH_S = 600.0


@dataclass
class _Running:
    """The handle of a running cluster. `begun`: its counters when measuring began."""

    asked: settings.Settings
    masters: str
    waiting: Waiting
    begun: lsm.ByNode


class YugabyteDB:
    name = "yugabytedb"

    def __init__(
        self, connect: Connect = sql.session, *, refuse_other_release: bool = True
    ) -> None:
        self._connect, self._refuse_other_release = connect, refuse_other_release

    def image(self, spec: ClusterSpec, world: World) -> str:
        return image.chosen(settings.read(spec)[0], world.platform)

    def restores(self, spec: ClusterSpec) -> bool:
        """Whether a copy of the loaded disks is started from: the profile's `restore`."""
        return settings.read(spec)[0].restores

    # -------------------------------------------------------------- before anything starts

    def check(self, spec: ClusterSpec, world: World) -> None:
        asked, mistakes = settings.read(spec)
        if mistakes:
            raise UsageError(
                "YugabyteDB cannot run this cluster",
                advice="correct the profile",
                mistakes=mistakes,
            )
        image.need(asked, world.platform)

    # -------------------------------------------------------------- up and down

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: Network, world: World
    ) -> Iterator[Cluster]:
        """New nodes start one after the other, each joining the first; restored ones at once.

        NodeError where the running cluster is not what was asked: release, copies, durability.
        """
        asked, _ = settings.read(spec)
        waiting = Waiting(spec, asked, self._connect, world)
        password = container_nodes.new_password()
        kept = any(volume.kept and not volume.restored for volume in volumes)
        with ExitStack() as up:
            try:
                started = self._start(spec, asked, volumes, network, password, waiting, up, world)
                cluster = self._formed(spec, asked, started, waiting, network.name, world)
                masters = flags.master_addresses(spec, network.addresses)
                yield replace(cluster, handle=_Running(asked, masters, waiting, {}))
            finally:
                names = [f"{network.name}-node-{number}" for number in range(1, spec.nodes + 1)]
                nodes.stop(names, world, 60 if kept else 0)

    def _start(
        self,
        spec: ClusterSpec,
        asked: settings.Settings,
        volumes: Sequence[Volume],
        network: Network,
        password: str,
        waiting: Waiting,
        up: ExitStack,
        world: World,
    ) -> list[tuple[Node, Endpoint]]:
        tag = image.need(asked, world.platform)
        certificates: Sequence[Any] = [None] * spec.nodes
        if asked.tls:
            folder = world.cache / "certificates" / network.name
            up.callback(shutil.rmtree, folder, ignore_errors=True)  # private keys are in it
            certificates = tls.make(folder, network.addresses, world.clock.now())
        started: list[tuple[Node, Endpoint]] = []
        for number, volume in enumerate(volumes, start=1):
            plan = nodes.container_spec(
                spec, asked, number, volume, network, tag, certificates[number - 1]
            )
            container: Container = up.enter_context(world.platform.running(plan))
            node = container_nodes.described(
                number, plan, volume, container, nodes.sources(container)
            )
            started.append((node, container_nodes.endpoint(container, flags.YSQL, password)))
            if not volume.restored:
                waiting.answers(*started[-1], up=[each for each, _ in started])
        return started

    def _formed(
        self,
        spec: ClusterSpec,
        asked: settings.Settings,
        started: Sequence[tuple[Node, Endpoint]],
        waiting: Waiting,
        network: str,
        world: World,
    ) -> Cluster:
        """The cluster, once it is whole, runs what was asked, and has the generator's database."""
        up = tuple(node for node, _ in started)
        endpoints = tuple(endpoint for _, endpoint in started)
        for node, endpoint in started:
            waiting.answers(node, endpoint, up)
        place = flags.place_data(spec)
        if place is not None:
            nodes.run(up[0], place, 300, world)
        waiting.whole(up, endpoints[0])
        check_flags(up, asked)
        admin = admin_address(endpoints[0], waiting.password(up[0]))
        with self._connect(admin, 120.0) as asking:
            running = self._release(asked, queries.banner(asking), up, world)
            queries.create_own(asking, endpoints[0])
        return Cluster(self.name, running, up, endpoints, network)

    def _release(
        self, asked: settings.Settings, banner: str, up: Sequence[Node], world: World
    ) -> str:
        """What runs. NodeError where SQL names another release than asked; another build, or none
        that can be read, is said here and doubted in the report."""
        running = release.told(banner, sources(up, pages.TSERVER).values())
        number = versions.banner_number(banner)
        if number not in (None, asked.version.number) and self._refuse_other_release:
            raise NodeError(
                f"the image runs YugabyteDB {running}, expected {asked.version}",
                advice="correct `version` in the profile, or bring the image of that release",
            )
        if running != str(asked.version):
            world.progress.warn(
                f"YugabyteDB {running or 'of unknown version'} runs, not the asked {asked.version}"
            )
        return running or "unknown"

    # -------------------------------------------------------------- while it runs

    def settle(self, cluster: Cluster, world: World) -> None:
        """Memory tables are written out, then all is waited for that this sets off, and until the
        disks hold what a copy of them needs to start from."""
        here: _Running = cluster.handle
        world.progress.step("writing memory tables to disk, then waiting until nothing is merged")
        for node, endpoint in zip(cluster.nodes, cluster.endpoints, strict=True):
            nodes.flush_tablets(node, endpoint.host, here.asked.tls, _FLUSH_S, world)
        first, secured = cluster.nodes[0], here.asked.tls
        nodes.admin(first, here.masters, secured, ("flush_sys_catalog",), _FLUSH_S, world)
        lsm.rest(cluster.nodes, world)
        here.waiting.remembers_masters(cluster.nodes)

    def warm(self, cluster: Cluster, world: World) -> None:
        """Reads all tables over all nodes, as far as ten minutes go."""
        cache.fill(self._connect, [sql.local(endpoint) for endpoint in cluster.endpoints], world)

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Waits until leaders are spread and the disks are quiet; counts from here."""
        here: _Running = cluster.handle
        here.waiting.balanced(cluster.nodes, here.masters)
        lsm.rest(cluster.nodes, world, deadline_s=1800)
        here.begun = lsm.read(cluster.nodes)

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        """RunError where the cluster cannot say; NodeError where that is because a node died."""
        here: _Running = cluster.handle
        try:
            return self._facts(cluster, here, world)
        except (OSError, KeyError, ValueError, RunError) as error:
            world.clock.sleep(0.5)  # a connection is lost before the engine notices the death
            nodes.raise_if_dead([node.container or node.name for node in cluster.nodes], world)
            if isinstance(error, RunError):
                raise
            raise RunError(f"YugabyteDB's servers could not be read: {error}") from error

    def _facts(self, cluster: Cluster, here: _Running, world: World) -> DatabaseFacts:
        servers = check_flags(cluster.nodes, here.asked)
        with self._connect(sql.local(cluster.endpoints[0]), 60.0) as asked:
            banner = queries.banner(asked)
            isolation = queries.effective_isolation(asked)
        placement = said.placement(cluster.nodes)
        return DatabaseFacts(
            version=cluster.version,
            version_asked=str(here.asked.version),
            image=image.chosen(here.asked, world.platform),
            stand_in=said.STAND_IN in banner or None,
            durable=said.durable(servers),
            durability={"asked": here.asked.durability, **said.durability(servers)},
            data_bytes=placement.pop("data_bytes"),
            cache_bytes=cluster.nodes[0].memory_bytes,
            since_reset=lsm.since(here.begun, lsm.read(cluster.nodes)),
            more={
                "banner": banner,
                "tls": here.asked.tls,
                "isolation": isolation,
                "flags": said.telling(servers),
                **placement,
            },
        )
