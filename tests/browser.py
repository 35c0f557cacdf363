"""A headless Chromium, told what to do over a pair of pipes (its DevTools protocol)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
_PATIENCE_S = 30.0


class Page:
    """One open page. `requests`: addresses that it asked for; `complaints`: what it complained of
    on its console, and errors that nothing caught."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers, self._number, self._rest = to, answers, 0, b""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self._ask("Target.createTarget", {"url": "about:blank"})
        attached = self._ask(
            "Target.attachToTarget", {"targetId": target["targetId"], "flatten": True}
        )
        self._session = str(attached["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._ask(method, parameters, {"sessionId": self._session})

    def open(self, file: Path) -> None:
        """Returns when its scripts have begun."""
        self.ask("Page.navigate", url=file.resolve().as_uri())
        self.wait_for("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """Of a JavaScript expression; promises are waited for."""
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self.ask("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Until a JavaScript expression holds."""
        end = time.monotonic() + _PATIENCE_S
        while not self.value(f"Boolean({expression})"):
            assert time.monotonic() < end, (
                f"never came true: {expression}; {self.complaints}"
            )
            time.sleep(0.05)

    def size(self, width: int, height: int) -> None:
        metrics = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": width < 600,
        }
        self.ask("Emulation.setDeviceMetricsOverride", **metrics)

    def media(self, media: str = "screen", scheme: str = "light") -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[feature])

    def point_at(
        self, x: float, y: float, kind: str = "mouseMoved", **more: Any
    ) -> None:
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, file: Path) -> None:
        """A PNG of what the window shows."""
        shot = self.ask("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(shot["data"]))

    def _ask(
        self,
        method: str,
        parameters: Mapping[str, Any],
        more: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        self._number += 1
        asked = {
            "id": self._number,
            "method": method,
            "params": parameters,
            **(more or {}),
        }
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, f"{method}: {said['error']}"
                return dict(said["result"])
            self._note(said)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._answers, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        one, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(one))

    def _note(self, said: Mapping[str, Any]) -> None:
        method, told = said.get("method"), said.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"])[:600])
        elif method == "Log.entryAdded" and told["entry"]["level"] in (
            "error",
            "warning",
        ):
            self.complaints.append(
                f"{told['entry']['text']} {told['entry'].get('url', '')}"
            )
        elif method == "Runtime.consoleAPICalled" and told["type"] in (
            "error",
            "warning",
        ):
            self.complaints.append(json.dumps(told["args"])[:600])


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """An empty page in a browser without a network; `profile`: a folder for what it keeps."""
    assert PROGRAM
    theirs_in, to = os.pipe()
    answers, theirs_out = os.pipe()
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={profile}",
        "--remote-debugging-pipe",
    ]
    process = os.posix_spawn(
        PROGRAM,
        [PROGRAM, *options],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, theirs_in, 3),  # where the protocol is spoken
            (os.POSIX_SPAWN_DUP2, theirs_out, 4),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(to, answers)
    finally:
        os.close(to)
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
        os.close(answers)
