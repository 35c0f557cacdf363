"""The files a person names: profiles, workloads and clusters of the project folder, as texts.

Reads files and hands their texts to `profiles`, which knows what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator import profiles as parse
from orchestrator import tier_catalog
from orchestrator.errors import Mistake, UsageError
from orchestrator.model import Profile, Workload
from orchestrator.strict_yaml import collecting, raise_all


def names(folder: Path) -> tuple[str, ...]:
    """The names of the YAML files in `folder`, without their ending."""
    return tuple(sorted(file.stem for file in folder.glob("*.yaml")))


def read(
    root: Path, profile_names: Sequence[str], workload_names: Sequence[str], scale: str
) -> tuple[tuple[Profile, ...], tuple[Workload, ...]]:
    """Profiles (by name, or by the path of a YAML file) and workloads, at one scale.

    UsageError with the mistakes of all files at once.
    """
    clusters = {
        name: (root / "profiles/clusters" / f"{name}.yaml").read_text()
        for name in names(root / "profiles/clusters")
    }

    rows = catalog(root)

    def profile(name: str) -> Profile:
        file = _find(root / "profiles", "profile", name)
        return parse.read_profile(file.stem, file.read_text(), clusters, scale, rows)

    def workload(name: str) -> Workload:
        file = _find(root / "workloads", "workload", name)
        return parse.read_workload(file.stem, file.read_text(), scale)

    mistakes: list[Mistake] = []
    found_profiles: list[Profile] = []
    found_workloads: list[Workload] = []
    for name in dict.fromkeys(profile_names):
        with collecting(mistakes):
            found_profiles.append(profile(name))
    for name in dict.fromkeys(workload_names):
        with collecting(mistakes):
            found_workloads.append(workload(name))
    raise_all(mistakes)
    return tuple(found_profiles), tuple(found_workloads)


def catalog(root: Path) -> tier_catalog.Catalog:
    """The disk tiers and VM sizes of `profiles/catalog`. UsageError with every mistake."""
    files = sorted((root / "profiles/catalog").glob("*.yaml"))
    return tier_catalog.read({f"profiles/catalog/{file.name}": file.read_text() for file in files})


def _find(folder: Path, kind: str, name: str) -> Path:
    if name.endswith((".yaml", ".yml")) or "/" in name:
        file = Path(name)
        if not file.is_file():
            raise UsageError(f"there is no {kind} file {name}")
        return file
    file = folder / f"{name}.yaml"
    if not file.is_file():
        raise UsageError(
            f"unknown {kind} {name!r}; there is {', '.join(names(folder)) or 'none'}",
            advice="`tierbench list` shows what there is",
        )
    return file
