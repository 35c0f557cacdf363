"""Whether two stored campaigns measured alike, so that time is what differs. Pure.

Unlike database, hardware, kernel, tier, data or workload make a comparison inconclusive. Another
code revision or image is what one may want to compare: it is allowed and said. What one side did
not record is a doubt, because it cannot be known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.analysis import comparability, results
from orchestrator.analysis.results import Results, RunData
from orchestrator.facts import group
from orchestrator.tier import Tier, in_layout
from orchestrator.units import format_bytes, listed

# Words about a tier, not the tier; how its data are put back does not change them.
_NOT_THE_DISK = frozenset(
    {"name", "title", "catalog_type", "snapshots", "price", "source", "as_of", "notes", "vm_caps"}
)
_HARDWARE = {"cpu_model": "CPU", "cpus": "cores", "kernel": "kernel"}


def obstacle(
    before: Results, after: Results, profile: str, workload: str, across_machines: bool = False
) -> str:
    """Why a profile × workload, of which both have finished runs, must not be compared, or an empty
    text.

    `across_machines`: machines of other names count as one if they are of the same kind.
    """
    if before.published or after.published:
        return "published figures: what they were measured on is not known well enough"
    runs = [results.finished(campaign, profile, workload) for campaign in (before, after)]
    tiers = [of_campaign[0].record.profile.tier for of_campaign in runs]
    every = [*runs[0], *runs[1]]
    unlike = [
        *unlike_machines(before, after, across_machines),
        *_tiers(*tiers),
        *_file_systems(*runs),
        *comparability.among(every),
    ]
    return f"unlike {'; '.join(unlike)}" if unlike else comparability.obstacle(every)


def _host(campaign: Results) -> Mapping[str, Any]:
    return group(campaign.fingerprint, "host")


def unlike_machines(before: Results, after: Results, across: bool = False) -> Iterator[str]:
    """`kernel 6.1 against 6.2`: of all machines, if both recorded the others than the first.
    `across`: whatever they are called."""
    others = [campaign.fingerprint.get("other_machines") for campaign in (before, after)]
    rest = others if None not in others else [(), ()]
    every = [(_host(one), *(of or ())) for one, of in zip((before, after), rest, strict=True)]
    names = {} if across else {"hostname": "machine"}
    for key, title in {**names, **_HARDWARE, "memory_bytes": "memory of the machine"}.items():
        one, two = (sorted({machine.get(key) or 0 for machine in each}, key=str) for each in every)
        if 0 in (*one, *two):
            continue  # one of them does not say it
        if key == "memory_bytes":
            sizes = [(min(values), max(values)) for values in (one, two)]
            unlike = comparability.unlike_memory(*sizes)
            words = [listed(list(dict.fromkeys(map(format_bytes, each)))) for each in sizes]
        else:
            unlike = one != two
            words = [listed([str(value) for value in values]) for values in (one, two)]
        if unlike:
            yield f"{title} {' against '.join(words)}"


def _tiers(one: Tier, two: Tier) -> Iterator[str]:
    left, right = (asdict(tier, dict_factory=in_layout) for tier in (one, two))
    for key in (key for key in {**left, **right} if key not in _NOT_THE_DISK):
        values = left.get(key), right.get(key)
        if values[0] != values[1]:
            short = all(value is None or isinstance(value, (int, float, str)) for value in values)
            words = f" {values[0]} against {values[1]}" if short else ""
            yield f"tier's {key}{words}"


def _file_systems(left: Sequence[RunData], right: Sequence[RunData]) -> Iterator[str]:
    one, two = (_mounted(runs) for runs in (left, right))
    if one and two and one != two:
        yield f"file system {' or '.join(sorted(one))} against {' or '.join(sorted(two))}"


def _mounted(runs: Sequence[RunData]) -> set[str]:
    every = (results.identity(run.record).file_systems.values() for run in runs)
    return {str(system) for systems in every for system in systems}


# ------------------------------------------------------------------ what is said


def remarks(before: Results, after: Results) -> tuple[str, ...]:
    """Differences that are allowed and said, and what cannot be known, a sentence each."""
    every = (_names, _code, _images, _unrecorded)
    cut = (f"{one.name}: {text}" for one in (before, after) for text in results.left_out(one))
    return (*cut, *(remark for said in every for remark in said(before, after)))


def _names(before: Results, after: Results) -> Iterator[str]:
    """Compared all the same only if that was asked for."""
    names = [_host(campaign).get("hostname") for campaign in (before, after)]
    if all(names) and names[0] != names[1]:
        yield (
            f"they were measured on machines of other names ({names[0]} and {names[1]}): what "
            "differs between two machines of a kind is in every difference"
        )


def _code(before: Results, after: Results) -> Iterator[str]:
    one, two = (revision(campaign) for campaign in (before, after))
    if one and two and one != two:
        yield f"they were measured by other code: tierbench {one} against {two}"
    elif one and "with changes" in one:
        yield f"both were measured with changes to tierbench {one}: the changes may differ"
    engines = [campaign.fingerprint.get("engine") for campaign in (before, after)]
    if all(isinstance(engine, Mapping) for engine in engines) and engines[0] != engines[1]:
        keys = dict.fromkeys(key for engine in engines for key in engine or ())
        unlike = [key for key in keys if len({str((e or {}).get(key)) for e in engines}) > 1]
        yield f"the container engine was another, or set otherwise: {listed(unlike)} differ"


def revision(campaign: Results) -> str:
    """`0.1.0 (1a2b3c4d5e6f, with changes)`; empty if no revision was recorded."""
    facts = campaign.fingerprint
    if not facts.get("revision"):
        return ""
    changed = ", with changes" if facts.get("revision_changed") else ""
    return f"{facts.get('tierbench', '')} ({str(facts['revision'])[:12]}{changed})".strip()


def _images(before: Results, after: Results) -> Iterator[str]:
    one, two = (_every_image(campaign) for campaign in (before, after))
    for role in one.keys() & two.keys():
        if one[role] != two[role]:
            yield (
                f"images of the {role} differ ({', '.join(sorted(one[role]))} against "
                f"{', '.join(sorted(two[role]))}): libraries in them may too"
            )


def _every_image(campaign: Results) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for run in campaign.runs:
        for role, image in results.identity(run.record).images.items():
            found.setdefault(role, set()).add(str(image))
    return found


def _unrecorded(before: Results, after: Results) -> Iterator[str]:
    for campaign in (before, after):
        if absent := list(_absent(campaign)):
            yield f"not recorded in {campaign.name}, and so not compared: {listed(absent)}"


def _absent(campaign: Results) -> Iterator[str]:
    host = _host(campaign)
    if not host.get("hostname"):
        yield "the machine"
    elif not host.get("kernel"):
        yield "its kernel"
    if not campaign.fingerprint.get("revision"):
        yield "the code revision"
    records = [run.record for run in campaign.done]
    if not all(results.generator(record).version for record in records):
        yield "the load generator's version"
    if not all("identity" in record.facts for record in records):
        yield "scripts, images and mount options"
