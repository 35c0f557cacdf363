"""What was judged of finished runs, kept beside them: `status` reads no table, and judges nothing.

`judged.json` in a campaign's folder has of each run its outline, what limited it and how many
doubts it has, and of the campaign the lines of its decisions. Beside each stands the digest of all
that it was made from: this program's own code and that of extensions, the record, and size and time
of change of the run's tables. What has another digest now counts as absent, as does a file that
cannot be read or is not as it was written, which its own checksum tells; so nothing kept is trusted
over a record or a table that was changed. Of verdict.json too it has such a digest, so that
`report` reads it and no table. What measures or judges a campaign writes it; what only looks reads
it.

The digests are taken before the files are read: what another program writes while a campaign is
judged is not in the verdict, and must not be in its digest.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

from orchestrator.analysis import results
from orchestrator.errors import CutError, TierbenchError
from orchestrator.keys import plain_files
from orchestrator.registry.installed import Installed, extensions
from orchestrator.run.progress.outlines import RunOutline
from orchestrator.system import disk_metric_files, run_folders, stored_json

_FILE = "judged.json"
_CODE = ("*.py", "*.yaml")
# A run without one is going on, and decides nothing.
_RECORDS = f"runs/*/{run_folders.RECORD}"
# Files of a campaign from which its decisions are made,
_OF_DECISIONS = (
    "plan.json",
    "fingerprint*.json",
    "gates.json",
    _RECORDS,
)
# and what an answer has beside.
_OF_ANSWER = ("predictions.json", "verified.json")


@dataclass(frozen=True)
class JudgedRun:
    """`limit`: what limited it, as a phrase; empty if nothing is said of that."""

    outline: RunOutline
    limit: str
    doubts: int
    digest: str = ""  # digest of the files that it was judged from


@dataclass(frozen=True)
class Basis:
    """Digests of what a campaign is judged from. `runs`: by their folders' names; `decisions`: of
    all runs; `answer`: of that and of what is shown beside."""

    runs: Mapping[str, str]
    decisions: str
    answer: str


@dataclass(frozen=True)
class JudgedRuns:
    """All that is kept of a campaign."""

    # Runs by their folders' names.
    runs: Mapping[str, JudgedRun]
    # The lines of its decisions, and the digest of what these were made from.
    decisions: tuple[str, ...] = ()
    digest: str = ""
    # The digest of verdict.json and of all that it was made from; empty if it was not made of a
    # whole campaign.
    verdict: str = ""

    def of_run(self, name: str, basis: Basis, cpus: float | None) -> JudgedRun | None:
        """What is kept of the run in a folder of this name; None if it is of other files. `cpus`:
        of the machine that ran the campaign."""
        kept = self.runs.get(name)
        if kept is not None and kept.digest == _digest_of_run(basis, name, cpus):
            return kept
        return None

    def lines(self, basis: Basis) -> tuple[str, ...] | None:
        """The lines of the decisions; None if they were made from other files."""
        if self.digest and self.digest == basis.decisions:
            return self.decisions
        return None

    def has_verdict(self, basis: Basis, verdict_text: bytes) -> bool:
        """Whether this is the verdict that this program would find now."""
        return bool(self.verdict) and self.verdict == _digest_of_verdict(
            basis, verdict_text
        )


class Digest(Protocol):
    """The type of a hash, which hashlib does not export."""

    def update(self, content: bytes, /) -> None: ...


_NOTHING = JudgedRuns({})


def is_whole(campaign: results.Results) -> bool:
    """Whether all runs have finished and none of its files is passed over."""
    has_all_runs = len(campaign.done) == len(campaign.plan.runs)
    return has_all_runs and not results.left_out(campaign)


def kept(campaign: Path) -> JudgedRuns:
    """What is kept in a campaign's folder; nothing if there is no such file, or it is damaged."""
    with suppress(OSError, TierbenchError):
        return stored_json.sealed(campaign / _FILE, JudgedRuns)
    return _NOTHING


def keep(
    campaign: Path,
    basis: Basis,
    judged: Mapping[str, JudgedRun],
    cpus: float | None,
    decisions: Sequence[str],
    verdict_text: str = "",
) -> None:
    """Keeps these too. `basis`: as it was before the campaign was read; `judged`: by the name of
    the run's folder; `verdict_text`: what was written to verdict.json, if it was made of all runs.
    A folder that cannot be written loses nothing but time: then they are judged anew when they are
    asked for."""
    runs = dict(kept(campaign).runs)
    for name, run in judged.items():
        runs[name] = replace(run, digest=_digest_of_run(basis, name, cpus))
    verdict_digest = ""
    if verdict_text:
        verdict_digest = _digest_of_verdict(basis, verdict_text.encode())
    new = JudgedRuns(runs, tuple(decisions), basis.decisions, verdict_digest)
    with suppress(OSError):
        stored_json.write(campaign / _FILE, asdict(new))


def basis_of(campaign: Path) -> Basis:
    """The basis of the campaign in a folder, as its files are now."""
    runs: dict[str, str] = {}
    decisions = hashlib.sha256(_digest_of_program().encode())
    for pattern in _OF_DECISIONS:
        _add_files(decisions, campaign, pattern)
    # Files are sorted, as a folder promises no order: else the digest would change by itself.
    for record in sorted(campaign.glob(_RECORDS)):
        folder = record.parent
        tables = _status_of_tables(folder)
        decisions.update(f" {folder.name}{tables}".encode())
        run_digest = hashlib.sha256(_digest_of_program().encode())
        run_digest.update(_content(record))
        run_digest.update(tables.encode())
        runs[folder.name] = run_digest.hexdigest()
    answer = hashlib.sha256(decisions.digest())
    for pattern in _OF_ANSWER:
        _add_files(answer, campaign, pattern)
    return Basis(runs, decisions.hexdigest(), answer.hexdigest())


def _digest_of_run(basis: Basis, name: str, cpus: float | None) -> str:
    # No file of the run has the machine's CPUs, and causes depend on them.
    return hashlib.sha256(f"{basis.runs.get(name)} {cpus}".encode()).hexdigest()


def _digest_of_verdict(basis: Basis, verdict_text: bytes) -> str:
    return hashlib.sha256(basis.answer.encode() + verdict_text).hexdigest()


def _status_of_tables(folder: Path) -> str:
    """Size and time of change of those of a run."""
    # Contents are not read: to save that is what a kept judgement is for. No inode counts, as in
    # `file_states`: a campaign that is copied with its dates stays judged.
    words: list[str] = []
    tables = [folder / name for name in run_folders.TABLES]
    tables.append(disk_metric_files.of_run(folder.parent.parent, folder.name))
    for file in tables:
        with suppress(OSError):
            status = file.lstat()
            words.append(f" {file.name} {status.st_size} {status.st_mtime_ns}")
    return "".join(words)


def _add_files(digest: Digest, campaign: Path, pattern: str) -> None:
    """Their names and contents."""
    for file in sorted(campaign.glob(pattern)):
        content = _content(file)
        # The length is included, so that no byte can move from one file to the next unseen.
        digest.update(f" {file.relative_to(campaign)} {len(content)} ".encode())
        digest.update(content)


def _content(file: Path) -> bytes:
    """Nothing of what is no plain file; then it is left out of the campaign, too."""
    with suppress(OSError, CutError):
        return plain_files.read(file)
    return b""


@cache
def _digest_of_program() -> str:
    return digest_of_code(extensions())


def digest_of_code(among: Iterable[Installed]) -> str:
    """A digest of the code of this program and of the extensions beside it.

    Another version may judge otherwise, and an extension may have a doubt that it did not have.
    """
    digest = hashlib.sha256()
    places = [Path(__file__).parents[1]]
    for extension in among:
        digest.update(f" {extension} ".encode())
        places += extension.code
    for file in _files_of_code(places):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _files_of_code(places: Iterable[Path]) -> Iterable[Path]:
    code: set[Path] = set()
    for place in places:
        if place.is_file():
            code.add(place)
        for pattern in _CODE:
            code.update(place.rglob(pattern))
    return sorted(code)
