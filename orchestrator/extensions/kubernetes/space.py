"""The namespace of a campaign on a cluster: names, labels and addresses in it, and how what is
there is removed."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from orchestrator.errors import RunError, UnavailableError
from orchestrator.extensions.kubernetes import trouble
from orchestrator.extensions.kubernetes.connection import Api, Thing, cluster_errors
from orchestrator.keys.shipped_yaml import filled, shipped
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.labels import (
    CAMPAIGN as CAMPAIGN,
    HOST as HOST,
    LABEL as LABEL,
    MARK as MARK,
    PROCESS as PROCESS,
    ROLE as ROLE,
)
from orchestrator.powers import Clock, ContainerState
from orchestrator.system.clock import wait_while

NAME = "tierbench.name"  # an annotation: the name as the caller knows it
NETWORK = "tierbench.network"
# The mark of objects made within a namespace that others have made.
WITHIN = "tierbench.namespace"
PLACEMENT = "tierbench.placement"
KIND = "tierbench.kind"  # the kind of a placement: "node", "client", …
_LONGEST = 63  # the longest DNS label, which names of pods become
REMOVAL_S = 120.0
# Kinds that campaigns make outside of their namespaces.
OUTSIDE = ("volume", "storage class")


def ours(campaign: str) -> dict[str, str]:
    return {LABEL: "1", CAMPAIGN: campaign}


def label_of(thing: Mapping[str, Any], label: str) -> str:
    return str((thing["metadata"].get("labels") or {}).get(label, ""))


def annotation_of(thing: Mapping[str, Any], name: str) -> str:
    return str((thing["metadata"].get("annotations") or {}).get(name, ""))


def name_of(thing: Mapping[str, Any]) -> str:
    return str(thing["metadata"]["name"])


def name_here(thing: Mapping[str, Any]) -> str:
    """The name by which this program knows a thing."""
    return annotation_of(thing, NAME) or name_of(thing)


def object_name(name: str) -> str:
    """Returns a name as a DNS label (RFC 1123): the same for the same, and unlike for unlike."""
    plain = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    if plain == name and len(plain) <= _LONGEST:
        return plain
    # Names that differ only in what was cut or replaced must not become one.
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{plain[: _LONGEST - 7].strip('-')}-{digest}"


def manifest(what: str, **values: Any) -> dict[str, Any]:
    """A thing, or a part of one, as manifests.yaml has it, with these values."""
    return filled(shipped(__package__, "manifests.yaml")[what], values) or {}


def address(kind: str, name: str = "", namespace: str = "") -> str:
    """The address of all things of a kind, or of one of them."""
    folder = str(shipped(__package__, "manifests.yaml")["places"][kind]).format(
        namespace
    )
    if name:
        return f"{folder}/{name}"
    return folder


def namespace_of(campaign: str) -> str:
    return f"tierbench-{campaign}"


class Space:
    """What the parts of the platform share. `kept`: addresses of claims and snapshots that stay
    until the end of the campaign. `owner`: with what all that is made ends, as ownerReferences name
    it. `given`: the namespace that others have made for campaigns; "" if each makes its own.
    `claimed`: addresses of all claims and snapshots of the given one that are or were ours."""

    def __init__(self, api: Api, clock: Clock, campaign: str, given: str = "") -> None:
        self.api = api
        self.clock = clock
        self.campaign = campaign
        self.given = given
        self.claimed: set[str] = set()
        self.kept: set[str] = set()
        self.owner: dict[str, str] = {}
        self.beats = api.beats

    @property
    def namespace(self) -> str:
        return self.given or namespace_of(self.campaign)

    @property
    def labels(self) -> dict[str, str]:
        labels = ours(self.campaign)
        if self.given:
            return {**labels, WITHIN: self.given}
        return labels

    @property
    def mark(self) -> str:
        """The selector of all things that campaigns made from here.

        With a given namespace: things of campaigns in this namespace. Without: things of campaigns
        that make their own namespaces.
        """
        if self.given:
            return f"{MARK},{WITHIN}={self.given}"
        return f"{MARK},!{WITHIN}"

    def path(self, kind: str, name: str = "") -> str:
        """The address of a kind of thing in the campaign's namespace, or of one of them."""
        if kind in OUTSIDE or not name:
            plain = name
        else:
            plain = object_name(name)
        return address(kind, plain, self.namespace)

    def listed(self, kind: str, selector: str = "", fields: str = "") -> list[Thing]:
        """All of a kind with these labels and fields. Raises as `cluster_errors`."""
        with cluster_errors(f"looking for each {kind}"):
            return self.api.listed(self.path(kind), selector, fields)

    def find(self, kind: str, name: str) -> Thing | None:
        """A thing, if it is there. Raises as `cluster_errors`."""
        with cluster_errors(f"looking at the {kind} {name}"):
            return self.api.find(self.path(kind, name))

    def make(self, kind: str, manifest: Thing, is_swept: bool = True) -> Thing:
        """Makes a thing, which if it is in the namespace ends with the owner. `is_swept`: it has
        the campaign's labels, by which sweeps remove it."""
        self.claimed.add(self.path(kind, name_of(manifest)))
        # An owner must be in the same namespace: what is outside of any is removed by sweeps alone.
        owners: list[dict[str, str]] = []
        if self.owner and kind not in OUTSIDE:
            owners = [self.owner]
        metadata = {**manifest["metadata"], "ownerReferences": owners}
        if is_swept:
            metadata["labels"] = (metadata.get("labels") or {}) | self.labels
        return self.api.make(self.path(kind), {**manifest, "metadata": metadata})

    @contextmanager
    def holding(
        self,
        kind: str,
        manifest: Thing,
        stays: bool = False,
        doing: str = "",
        remove: Callable[[], None] | None = None,
    ) -> Iterator[Thing]:
        """Makes a thing in place of a leftover of its name, yields it, and removes it at the end of
        the block. `stays`: not before the end of the campaign, unless it raised; `doing`: as for
        `cluster_errors`; `remove`: instead of the removal of the thing alone."""
        name = name_of(manifest)
        # A killed campaign may have left one of this name in a namespace that is given.
        self.remove(kind, name)
        with cluster_errors(doing or f"making {kind} {name}"):
            thing = self.make(kind, manifest)
        with lifecycle.taken_down(remove or partial(self.remove, kind, name), stays):
            yield thing
        if stays:
            self.kept.add(self.path(kind, name))

    def remove(self, kind: str, name: str, grace_s: float | None = None) -> None:
        """Removes a thing and waits until it is gone. UnavailableError if it is not ours."""
        path = self.path(kind, name)
        with cluster_errors(f"removing {kind} {name}"):
            self.kept.discard(path)
            thing = self.api.find(path)
            if thing is None:
                return
            if not label_of(thing, LABEL):
                how = "remove it with kubectl, or use another name"
                raise UnavailableError(
                    f"there is a {kind} named {name} that tierbench did not make: it is "
                    "left alone",
                    advice=f"{how}, then run again",
                )
            self.api.remove(path, grace_s)
            self.await_gone(kind, name, REMOVAL_S + (grace_s or 0))

    def await_gone(self, kind: str, name: str, deadline_s: float) -> None:
        """Waits until a thing that is being removed is gone. RunError if it stays."""

        def there() -> Thing | None:
            thing = self.find(kind, name)
            may_be_lost = thing and kind == "container" and trouble.may_be_lost(thing)
            if thing and may_be_lost and self.lost_with_machine(thing):
                # Nobody will ever say that it has ended.
                self.api.remove(self.path(kind, name), 0.0)
            return thing

        thing = wait_while(there, deadline_s=deadline_s, clock=self.clock, every_s=0.1)
        if thing:
            conditions = thing.get("status", {}).get("conditions") or []
            reasons: list[str] = []
            for condition in conditions:
                if condition.get("status") == "True" and condition.get("message"):
                    reasons.append(str(condition["message"]))
            why = "; ".join(reasons) or "it says no reason"
            raise RunError(
                f"{kind} {name} could not be removed within {deadline_s:g} s: {why}",
                advice=(
                    f"`kubectl describe` says what holds it (in {self.namespace}, "
                    "unless it has no namespace); then `tierbench clean`"
                ),
            )

    def lost_with_machine(self, pod: Thing) -> ContainerState | None:
        """How a pod stands of which its machine can tell nothing any more; None if it can."""
        name = str(pod["spec"]["nodeName"])
        return trouble.lost_with(name, self.find("machine", name))

    def events(self, thing: str) -> list[Thing]:
        """The events of a thing of the campaign, the last at the end."""
        events = self.listed("event", fields=f"involvedObject.name={thing}")
        return sorted(
            events,
            key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime")),
        )
