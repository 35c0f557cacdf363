"""What was judged of finished runs, kept beside them: `status` reads the tables of a run once ever.

`judged.json` in a campaign's folder has of each run what limited it and how many doubts it has, and
of the campaign the lines of its decisions. Beside each stands the digest of all that it was made
from: this program's own code, the record, and size and time of change of the run's tables. What has
another digest now counts as absent, as does a file that cannot be read; so nothing kept is trusted
over a record or a table that was changed. Of verdict.json too it has such a digest, so that
`report` reads it and no table. What measures or judges a campaign writes it; what only looks reads
it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter

from orchestrator.errors import CutError
from orchestrator.keys import plain_files
from orchestrator.system import files, run_folders

_FILE = "judged.json"
_CODE = ("*.py", "*.yaml")
# Of a campaign, beside its records.
_NOUNS = ("plan.json", "fingerprint*.json", "gates.json")
_OF_VERDICT = (*_NOUNS, "predictions.json", "verified.json", "verdict.json")


@dataclass(frozen=True)
class JudgedRun:
    """`limit`: what limited it, as a phrase; empty if nothing is said of that."""

    limit: str
    doubts: int
    digest: str = ""  # of what it was judged from


@dataclass(frozen=True)
class JudgedRuns:
    """All that is kept of a campaign: runs by their folders' names, and the lines of its decisions
    with the digest of what these were made from. `verdict`: the digest of verdict.json and of all
    that it was made from; empty if it was not made of a whole campaign."""

    runs: Mapping[str, JudgedRun]
    decisions: tuple[str, ...] = ()
    digest: str = ""
    verdict: str = ""

    def of_run(self, folder: Path, cpus: float | None) -> JudgedRun | None:
        """What is kept of the run in a folder; None if it is of other files. `cpus`: of the
        machine that ran the campaign."""
        kept = self.runs.get(folder.name)
        if kept is not None and kept.digest == _digest_of_run(folder, cpus):
            return kept
        return None

    def lines(self, campaign: Path) -> tuple[str, ...] | None:
        """Those of the decisions; None if they were made from other files."""
        if self.digest and self.digest == _digest_of_campaign(campaign):
            return self.decisions
        return None

    def has_verdict(self, campaign: Path) -> bool:
        """Whether verdict.json is what this program would find now."""
        return bool(self.verdict) and self.verdict == _digest_of_verdict(campaign)


class Digest(Protocol):
    """Of hashlib, which does not export its type."""

    def update(self, content: bytes, /) -> None: ...


_NOTHING = JudgedRuns({})
_form = TypeAdapter(JudgedRuns)


def kept(campaign: Path) -> JudgedRuns:
    """What is kept in a campaign's folder; nothing if there is no such file, or it is damaged."""
    with suppress(OSError, CutError, ValueError):
        return _form.validate_json(plain_files.read(campaign / _FILE))
    return _NOTHING


def keep(
    campaign: Path,
    judged: Mapping[str, JudgedRun],
    cpus: float | None,
    decisions: Sequence[str],
    has_verdict: bool = False,
) -> None:
    """Keeps these too. `judged`: by the name of the run's folder; `has_verdict`: whether
    verdict.json was made of all runs now. A folder that cannot be written loses nothing but time:
    then they are judged anew when they are asked for."""
    runs = dict(kept(campaign).runs)
    for name, run in judged.items():
        digest = _digest_of_run(campaign / "runs" / name, cpus)
        runs[name] = replace(run, digest=digest)
    of_verdict = ""
    if has_verdict:
        of_verdict = _digest_of_verdict(campaign)
    digest = _digest_of_campaign(campaign)
    new = JudgedRuns(runs, tuple(decisions), digest, of_verdict)
    with suppress(OSError):
        files.write_json(campaign / _FILE, asdict(new))


def _digest_of_run(folder: Path, cpus: float | None) -> str:
    digest = hashlib.sha256(f"{_digest_of_code()} {cpus}".encode())
    digest.update(_content(folder / "record.json"))
    digest.update(_status_of_tables(folder))
    return digest.hexdigest()


def _status_of_tables(folder: Path) -> bytes:
    """Size and time of change of those of a run."""
    words: list[str] = []
    for name in run_folders.TABLES:
        with suppress(OSError):
            status = (folder / name).lstat()
            words.append(f" {name} {status.st_size} {status.st_mtime_ns}")
    return "".join(words).encode()


def _digest_of_campaign(campaign: Path) -> str:
    digest = hashlib.sha256(_digest_of_code().encode())
    for pattern in (*_NOUNS, "runs/*/record.json"):
        _add_files(digest, campaign, pattern)
    return digest.hexdigest()


def _digest_of_verdict(campaign: Path) -> str:
    digest = hashlib.sha256(_digest_of_code().encode())
    for pattern in (*_OF_VERDICT, "runs/*/record.json"):
        _add_files(digest, campaign, pattern)
    for folder in sorted(campaign.glob("runs/*")):
        digest.update(_status_of_tables(folder))
    return digest.hexdigest()


def _add_files(digest: Digest, campaign: Path, pattern: str) -> None:
    """Their names and contents."""
    for file in sorted(campaign.glob(pattern)):
        digest.update(f" {file.relative_to(campaign)} ".encode())
        digest.update(_content(file))


def _content(file: Path) -> bytes:
    """Nothing of what is no plain file; then it is left out of the campaign, too."""
    with suppress(OSError, CutError):
        return plain_files.read(file)
    return b""


@cache
def _digest_of_code() -> str:
    """Of this program: another version may judge otherwise."""
    digest = hashlib.sha256()
    for file in _files_of_code():
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _files_of_code() -> Iterable[Path]:
    package = Path(__file__).parents[1]
    code: list[Path] = []
    for pattern in _CODE:
        code += package.rglob(pattern)
    return sorted(code)
