"""Which code measured: the git revision of the project's folder, where it is a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.errors import TierbenchError
from orchestrator.powers import Shell

_DEADLINE_S = 20.0
_READ_ONLY = {"GIT_OPTIONAL_LOCKS": "0"}  # else `status` may rewrite the index


def of(root: Path, code: tuple[str, ...], shell: Shell) -> dict[str, Any]:
    """`revision`, and `revision_changed`: whether files in the folders `code` differ from it. Empty
    if `root` is no checkout of its own, or git is not there to say."""
    try:
        top, revision = _git(["rev-parse", "--show-toplevel", "HEAD"], root, shell).splitlines()
        if Path(top).resolve() != root.resolve():
            return {}
        changed = _git(["status", "--porcelain", "--", *code], root, shell)
    except (TierbenchError, ValueError):
        return {}
    return {"revision": revision, "revision_changed": bool(changed.strip())}


def _git(argv: list[str], root: Path, shell: Shell) -> str:
    """ValueError if git says no."""
    done = shell.run(["git", "-C", str(root), *argv], timeout_s=_DEADLINE_S, env=_READ_ONLY)
    if done.exit_code != 0:
        raise ValueError(done.err)
    return done.out
