"""One campaign at a time on a cluster: it holds the cluster's Lease, and a job without pods owns
all that it makes (docs/KUBERNETES.md). Times are the API server's."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from functools import partial

from orchestrator.errors import (
    LeftBehindError,
    RunError,
    TierbenchError,
    UnavailableError,
)
from orchestrator.extensions.kubernetes import campaigns, connection, manifests, space
from orchestrator.extensions.kubernetes.space import Space, annotation_of, label_of
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.lifecycle import DEAD_S
from orchestrator.system import clock, host

# The lease is in a namespace that every cluster has and none loses, unless one is given. All look
# for it there.
_LEASE_NAME = "tierbench-campaign"
_CONFLICT = 409
_ACCOUNT_S = 60.0


class LeaseGuard:
    """The `Guard` protocol. `within`: what is done to the namespace while it is there; `rent_s`:
    how long what is rented outlives this program."""

    def __init__(
        self,
        space: Space,
        within: Callable[[], AbstractContextManager[None]],
        rent_s: int,
    ) -> None:
        self._space = space
        self._api = space.api
        self._clock = space.clock
        self._within = within
        self._rent = Rent(space, rent_s)
        self.beats = space.beats
        self._leftovers = campaigns.ClusterLeftovers(space)
        self._at = space.given or "default"
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{self._at}/leases"
        self._path = f"{self._leases}/{_LEASE_NAME}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Takes the Lease and makes the namespace; removes both at the end, with all in it.
        UnavailableError if another campaign is alive, LeftBehindError if rented things may stay."""
        with connection.cluster_errors("looking for another campaign"):
            self._take()
        try:
            with connection.cluster_errors(
                f"making the namespace {self._space.namespace}"
            ):
                if not self._space.given:
                    self._make_namespace()
                self._await_account()
                # The rent comes before anything else: objects without an owner would outlive a
                # killed program.
                self._rent.hire()
            with self.beats.during(self._beat, self._clock), self._within():
                yield
        finally:
            # The next campaign finds what cannot be removed now: this process is dead by then. A
            # second Ctrl-C in mid-removal leaves this as the trouble that is told.
            trouble: TierbenchError | None = RunError("its removal was given up")
            try:
                trouble = self._leftovers.trouble_of_removal()
                if self._space.given:
                    self._rent.end()
                with suppress(connection.Refused, connection.Unanswered):
                    lease = self._api.find(self._path)
                    if lease and self._is_own(lease):
                        self._api.remove(
                            self._path, version=lease["metadata"]["resourceVersion"]
                        )
            finally:
                if trouble:
                    raise self._rent.left_behind(trouble)

    def other(self) -> str | None:
        with connection.cluster_errors("looking for another campaign"):
            lease = self._api.find(self._path)
            if lease is None or self._is_own(lease) or not self._lives(lease):
                return None
            return label_of(lease, space.CAMPAIGN)

    def _is_own(self, lease: connection.Thing) -> bool:
        return label_of(lease, space.CAMPAIGN) == self._space.campaign

    def _lives(self, lease: connection.Thing) -> bool:
        if not label_of(lease, space.CAMPAIGN):
            return True  # tierbench did not make it, so it must not be taken
        renewed = datetime.fromisoformat(str(lease["spec"]["renewTime"]))
        mark = annotation_of(lease, space.PROCESS)
        return lifecycle.lives(
            mark, lambda: self._api.now() - renewed.timestamp() < DEAD_S
        )

    def _take(self) -> None:
        while True:
            lease = self._api.find(self._path)
            if lease is not None and self._lives(lease):
                more = f"campaign {label_of(lease, space.CAMPAIGN)}"
                drop = f"kubectl -n {self._at} delete lease {_LEASE_NAME}"
                mark = annotation_of(lease, space.PROCESS)
                at = annotation_of(lease, space.HOST)
                raise lifecycle.refusal("cluster", mark, at, more, drop)
            try:
                if lease is None:
                    self._api.make(self._leases, self._lease())
                else:
                    self._replace(lease)
                return
            except connection.Refused as error:
                # Another campaign was faster: which, is seen at the next look.
                if error.status != _CONFLICT:
                    raise

    def _lease(self) -> connection.Thing:
        notes = {space.HOST: host.name(), space.PROCESS: host.process_mark()}
        return manifests.lease(
            _LEASE_NAME, self._space.labels, notes, self._api.now(), DEAD_S
        )

    def _replace(self, lease: connection.Thing) -> None:
        """Refused with a conflict if it has changed since it was read."""
        new = self._lease()
        # The version is the one that was read. One is refused of two that take over a dead
        # campaign's.
        new["metadata"]["resourceVersion"] = lease["metadata"]["resourceVersion"]
        self._api.change(self._path, new)

    def _beat(self) -> None:
        try:
            lease = self._api.find(self._path)
            if lease is None:  # removed by hand
                self._api.make(self._leases, self._lease())
            elif not self._is_own(lease):
                other = label_of(lease, space.CAMPAIGN)
                raise lifecycle.taken_over(
                    "the cluster", other, annotation_of(lease, space.HOST)
                )
            else:
                self._replace(lease)
            self._rent.prolong()
        except connection.Refused as error:
            if error.status in (401, 403):
                raise lifecycle.refused_beat("the cluster", error) from error
            raise

    def _make_namespace(self) -> None:
        namespace = manifests.namespace(self._space.namespace, self._space.labels)
        try:
            self._api.make(space.address("namespace"), namespace)
        except connection.Refused as error:
            if error.status != 403:
                raise
            raise UnavailableError(
                "a campaign needs a namespace of its own, and you may not make "
                f"one: {error}",
                advice="ask for the right to create and delete namespaces; "
                f"{connection.RIGHTS}",
            ) from error

    def _await_account(self) -> None:
        """Pods may be made when the namespace has its default service account."""
        there = partial(self._space.find, "account", "default")
        if not clock.wait_until(
            there, deadline_s=_ACCOUNT_S, clock=self._clock, every_s=0.1
        ):
            raise UnavailableError(
                f"{self._space.namespace} has no service account within "
                f"{_ACCOUNT_S:g} s",
                advice=(
                    "check that the namespace exists, and that the cluster's "
                    "controller manager runs"
                ),
            )


class Rent:
    """The job that owns what is made."""

    def __init__(self, space: Space, rent_s: int) -> None:
        self._space = space
        self._api = space.api
        self._rent_s = rent_s
        self._since_s = 0.0

    def hire(self) -> None:
        """All that is made from now on ends with a job of its own."""
        # The cluster removes a job that has ended (ttlSecondsAfterFinished). Its garbage collector
        # removes what the job owned.
        now_s = self._api.now()
        name = f"rent-{round(now_s)}"
        job = manifests.rent(name, self._space.labels, self._rent_s)
        uid = self._api.make(self._space.path("job"), job)["metadata"]["uid"]
        self._space.owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": name,
            "uid": uid,
        }
        self._since_s = now_s

    def prolong(self) -> None:
        """A job that ended, or was removed, while no sign of life came is made anew."""
        # A job's deadline counts from its start.
        end_s = round(self._api.now() - self._since_s + self._rent_s)
        path = self._space.path("job", self._space.owner["name"])
        with suppress(connection.Missing):
            job = self._api.change(path, {"spec": {"activeDeadlineSeconds": end_s}})
            is_ending = job.get("metadata", {}).get("deletionTimestamp")
            if not is_ending and not job.get("status", {}).get("conditions"):
                return
        self.hire()

    def end(self) -> None:
        """Ends the job by its deadline, where it would not go with its namespace."""
        with suppress(connection.Refused, connection.Unanswered):
            name = self._space.owner.get("name")
            if name:
                path = self._space.path("job", name)
                self._api.change(path, {"spec": {"activeDeadlineSeconds": 1}})

    def left_behind(self, trouble: TierbenchError) -> LeftBehindError:
        name = self._space.namespace
        what = (
            f"what {name} rented may still be there, and cost money: "
            f"{trouble.what}. It ends by itself {self._rent_s} s after the last "
            "sign of life, if the cluster works"
        )
        commands = (
            "kubectl get pv,volumesnapshotcontent",
            "tierbench clean --platform kubernetes",
        )
        look = (f"kubectl get all,pvc,volumesnapshot -n {name}", *commands)
        return LeftBehindError(what, look, trouble.advice)
