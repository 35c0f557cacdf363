"""A Kubernetes API server in memory: objects by their addresses, and commands of pods by WebSocket.

It answers over HTTP, so that the real client library is between it and what is tested. Pods run as
soon as they are made; their commands run on this computer, with `/inside` in a folder of the
test's. Statuses, refusals and frames are those that Kubernetes 1.31 gave; of scheduling, kubelets
and volumes nothing is played: `tests/kubernetes` has a real cluster for that.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse
from uuid import uuid4

from orchestrator.extensions.kubernetes import examination
from orchestrator.powers import ContainerSpec
from tests import fake_exec

Thing = dict[str, Any]
IMAGE = "debian:trixie-slim"


def spec(name: str = "runs", **more: Any) -> ContainerSpec:
    """A pod that sleeps."""
    return ContainerSpec(
        name, IMAGE, ("infinity",), "client", entrypoint=("sleep",), **more
    )


class FakeCluster:
    """`things`: address → object. `refusals`: (method, end of the address) → status and message.
    `started`: is called with each new pod, and may change it. `allows`: whether a right that is
    asked for (SelfSubjectAccessReview) is given. `removing`: answers instead of a removal, if not
    by None. `guests_are`: the state of ephemeral containers. `calls`: all that was asked. `gone`:
    "silent" or "cut", if it answers nothing any more but is silent, or cuts the connection;
    `heard`: is called before with what is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.things: dict[str, Thing] = {}
        self.refusals: dict[tuple[str, str], tuple[int, str]] = {}
        self.guests_are: Thing = {"terminated": {"exitCode": 0}}
        self.calls: list[tuple[str, str]] = []
        self.started: Callable[[Thing], None] = lambda _pod: None
        self.allows: Callable[[Thing], bool] = lambda _asked: True
        self.removing: Callable[[str], tuple[int, Thing] | None] = lambda _path: None
        self.gone, self._over = "", threading.Event()
        self.heard: Callable[[str], None] = lambda _path: None
        self.lock = threading.RLock()
        self._version = 0
        for number in range(2):
            self.add_machine(f"vm-{number}")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _answering(self))
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        ).start()

    def add_machine(self, name: str) -> None:
        self.things[f"/api/v1/nodes/{name}"] = {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": {},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "capacity": {"cpu": "4", "memory": "16Gi"},
                "nodeInfo": {
                    "kernelVersion": "6.1",
                    "containerRuntimeVersion": "containerd://2",
                },
                "images": [
                    {"names": ["docker.io/library/debian:trixie-slim"], "sizeBytes": 1}
                ],
            },
        }

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def kubeconfig(self, **others: FakeCluster) -> Path:
        """Its own context is "test", which is the current one; `others`: further contexts, each
        with a namespace of its name."""
        contexts = {"test": self, **others}
        file = self.folder / "kubeconfig"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {"name": name, "cluster": {"server": one.address}} for name, one in contexts.items()
            ],
            "contexts": [
                {"name": name, "context": {"cluster": name, "user": "test"}
                 | ({"namespace": f"of-{name}"} if name in others else {})}
                for name in contexts
            ],
            "users": [{"name": "test", "user": {"token": "secret"}}],
        }  # fmt: skip
        file.write_text(json.dumps(config))
        return file

    def is_cluster(self, uid: str) -> None:
        """Gives it the namespace by whose uid a cluster is known."""
        system = {"metadata": {"name": "kube-system", "uid": uid}}
        self.things["/api/v1/namespaces/kube-system"] = system

    def close(self) -> None:
        """AssertionError if it was asked for something that needs a right that `doctor` does not
        look for: whatever a test makes the platform do."""
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        unknown = self.rights() - rights_of_doctor()
        assert not unknown, f"doctor does not look for {sorted(unknown)}"

    def rights(self) -> set[str]:
        """The rights that its calls needed, as `kubectl auth can-i` has them: "get pods/exec"."""
        return {right for _, right in self.placed_rights()}

    def placed_rights(self) -> set[tuple[str, str]]:
        """The same, with the namespace in which each was needed, "" for all of them."""
        return {
            (_namespace_in(address), right)
            for method, address in self.calls
            for right in _rights(method, address)
        }

    def lose(self, machine: str) -> None:
        """As the node controller does when a kubelet is not heard of."""
        lost = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:16Z",
                "message": "Kubelet stopped posting node status."}  # fmt: skip
        with self.lock:
            self.things[f"/api/v1/nodes/{machine}"]["status"]["conditions"] = [lost]
            for path, thing in self.things.items():
                if "/pods/" in path and thing["spec"]["nodeName"] == machine:
                    thing["status"]["conditions"] = [
                        {"type": "Ready", "status": "False"}
                    ]

    def names(self, kind: str) -> list[str]:
        """The names of all objects of a kind, in whatever namespace."""
        with self.lock:
            paths = [path.split("/") for path in self.things]
        return sorted(path[-1] for path in paths if path[-2] == kind)

    # -------------------------------------------------------------- what is asked

    def _new_version(self) -> str:
        self._version += 1
        return str(self._version)

    def made(self, folder: str, thing: Thing) -> tuple[int, Thing]:
        path = f"{folder}/{thing['metadata']['name']}"
        if path in self.things:
            return 409, _status(409, "AlreadyExists", f"{path} already exists")
        thing = copy.deepcopy(thing)
        thing["metadata"].setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        thing["metadata"] |= {
            "uid": str(uuid4()),
            "resourceVersion": self._new_version(),
        }
        self.things[path] = thing
        if folder.endswith("/pods"):
            _run(thing)
            self.started(thing)
        if folder.endswith("/persistentvolumes"):
            thing["status"] = {"phase": "Available"}
        if folder.endswith("/persistentvolumeclaims") and "volumeName" in thing["spec"]:
            thing["status"] = {"phase": "Bound"}
        if folder.endswith("/namespaces"):
            account = f"{path}/serviceaccounts/default"
            self.things[account] = {"metadata": {"name": "default"}}
        return 201, thing

    def changed(self, path: str, change: Thing) -> tuple[int, Thing]:
        path, added, _ = path.partition("/ephemeralcontainers")
        if path not in self.things:
            return 404, _status(404, "NotFound", f"{path} not found")
        given = change.get("metadata", {}).get("resourceVersion")
        if given not in (None, self.things[path]["metadata"].get("resourceVersion")):
            return 409, _status(
                409, "Conflict", f"{path}: the object has been modified"
            )
        _merge(self.things[path], change)
        self.things[path]["metadata"]["resourceVersion"] = self._new_version()
        if "/pods/" in path and "activeDeadlineSeconds" in change.get("spec", {}):
            end(self.things[path], 0)
        if added:
            self.things[path]["status"]["ephemeralContainerStatuses"] = [
                {"name": one["name"], "state": self.guests_are}
                for one in change["spec"]["ephemeralContainers"]
            ]
        return 200, self.things[path]

    def removed(self, path: str, version: str | None = None) -> tuple[int, Thing]:
        if answer := self.removing(path):
            return answer
        if path not in self.things:
            return 404, _status(404, "NotFound", f"{path} not found")
        if version not in (
            None,
            there := self.things[path]["metadata"].get("resourceVersion"),
        ):
            text = (
                f"{path}: the ResourceVersion in the precondition ({version}) "
                f"does not match the ResourceVersion in record ({there})"
            )
            return 409, _status(409, "Conflict", text)
        for below in [
            one for one in self.things if one == path or one.startswith(f"{path}/")
        ]:
            del self.things[below]
        return 200, {"status": "Success"}

    def listed(self, folder: str, selector: str) -> tuple[int, Thing]:
        demands = [one.partition("=") for one in selector.split(",") if one]
        found = [
            thing
            for path, thing in self.things.items()
            if folder in (path.rpartition("/")[0], _of_all(path))
            and _has(thing, demands)
        ]
        return 200, {"items": found}


def end(pod: Thing, code: int, reason: str = "") -> None:
    """Ends the container `main` of a pod."""
    for status in pod["status"]["containerStatuses"]:
        status["state"] = {"terminated": {"exitCode": code, "reason": reason}}


def _run(pod: Thing) -> None:
    pod["spec"]["nodeName"] = "vm-0"
    pod["status"] = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {"name": one["name"], "state": {"running": {}}, "imageID": "sha256:0",
             "containerID": "containerd://0123"}
            for one in pod["spec"]["containers"]
        ],
    }  # fmt: skip


def _of_all(path: str) -> str:
    """The address that lists an object's kind in all namespaces."""
    before, found, rest = path.partition("/namespaces/")
    return f"{before}/{rest.split('/')[1]}" if found and "/" in rest else ""


def _is_folder(path: str) -> bool:
    """Whether an address is that of all objects of a kind: /api/v1/pods,
    /apis/<group>/v1/namespaces/<name>/claims."""
    _, root, *parts = path.split("/")
    parts = parts[1 if root == "api" else 2 :]
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    return len(parts) == 1


def _has(thing: Thing, demands: list[tuple[str, str, str]]) -> bool:
    labels = thing["metadata"].get("labels") or {}
    return all(
        labels.get(key) == value if equals else key.lstrip("!") not in labels
        for key, equals, value in demands
    )


def _merge(into: Thing, change: Thing) -> None:
    for key, value in change.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


# What everybody who has signed in may ask (system:discovery, system:basic-user), and what only adds
# a hint to what `doctor` says.
_OF_EVERYBODY = ("/version", "/selfsubjectaccessreviews", "/csinodes")
_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}


def _rights(method: str, address: str) -> Iterator[str]:
    path = urlparse(address).path
    if path.endswith(_OF_EVERYBODY):
        return
    _, root, *parts = path.split("/")
    group = "" if root == "api" else f".{parts.pop(0)}"
    parts = parts[1:]
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    resource, below = parts[0] + group, "/".join(["", *parts[2:]])
    yield f"{_VERBS.get(method) or ('get' if len(parts) > 1 else 'list')} {resource}{below}"
    if below in ("/exec", "/portforward"):
        # A WebSocket is a GET. From 1.35 on it needs "create" too (kubernetes PR 134577).
        yield f"create {resource}{below}"


def _namespace_in(address: str) -> str:
    """ "" for what is in none, and for all of a kind."""
    _, found, rest = urlparse(address).path.partition("/namespaces/")
    return rest.split("/")[0] if found and "/" in rest else ""


def rights_of_doctor() -> frozenset[str]:
    """What `doctor` looks for, as `FakeCluster.rights` has it."""
    return frozenset(right for _, right in placed_rights_of_doctor(""))


@cache
def placed_rights_of_doctor(namespace: str) -> frozenset[tuple[str, str]]:
    """The same as `FakeCluster.placed_rights` has it, where a profile names this namespace."""
    asked: set[tuple[str, str]] = set()

    class Asked:
        context = host = ""

        def make(self, _path: str, review: Thing) -> Thing:
            one = review["spec"]["resourceAttributes"]
            below = f"/{one['subresource']}" if one["subresource"] else ""
            group = f".{one['group']}" if one["group"] else ""
            asked.add(
                (one["namespace"], f"{one['verb']} {one['resource']}{group}{below}")
            )
            return {"status": {"allowed": True}}

        def listed(self, *_: str) -> list[Thing]:
            return []

    api: Any = Asked()
    list(examination.examine(api, "v1.31.4", [], namespace))
    return frozenset(asked)


def _status(code: int, reason: str, message: str) -> Thing:
    return {"kind": "Status", "code": code, "reason": reason, "message": message}


def _answering(cluster: FakeCluster) -> type[BaseHTTPRequestHandler]:
    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = (
            True  # or each answer waits 40 ms for the one before it
        )

        def _answer(self) -> None:
            url = urlparse(self.path)
            query = parse_qs(url.query)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            given = json.loads(body) if body else {}
            cluster.calls.append((self.command, self.path))
            cluster.heard(url.path)
            if cluster.gone:
                self.close_connection = True
                if cluster.gone == "silent":
                    cluster._over.wait()
                return
            if url.path.endswith("/exec"):
                inside = str(cluster.folder / "inside")
                fake_exec.run(
                    self, [word.replace("/inside", inside) for word in query["command"]]
                )
                return
            with cluster.lock:
                code, answer = self._decided(url.path, query, given)
            text = (
                json.dumps(answer).encode()
                if not isinstance(answer, str)
                else answer.encode()
            )
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _decided(
            self, path: str, query: dict[str, list[str]], given: Thing
        ) -> tuple[int, Any]:
            for (method, ending), (code, message) in cluster.refusals.items():
                if self.command == method and path.endswith(ending):
                    return code, _status(code, "Forbidden", message)
            if path == "/version":
                return 200, {"gitVersion": "v1.31.4"}
            if path.endswith("/log") and path.removesuffix("/log") in cluster.things:
                return 200, "a log\n"
            if path.endswith("/selfsubjectaccessreviews"):
                asked = given["spec"]["resourceAttributes"]
                return 201, given | {"status": {"allowed": cluster.allows(asked)}}
            if self.command == "POST":
                return cluster.made(path, given)
            if self.command == "PATCH":
                return cluster.changed(path, given)
            if self.command == "DELETE":
                version = (given.get("preconditions") or {}).get("resourceVersion")
                return cluster.removed(path, version or None)
            if path in cluster.things:
                return 200, cluster.things[path]
            if _is_folder(path):
                return cluster.listed(path, query.get("labelSelector", [""])[0])
            return 404, _status(404, "NotFound", f"{path} not found")

        do_GET = do_POST = do_PATCH = do_DELETE = _answer

        def log_message(self, *_: Any) -> None:
            """Silent."""

    return Answering
