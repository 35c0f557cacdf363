"""Histories: what other programs have kept of a disk's counters → its demand. One file each, and
one line here."""

from collections.abc import Callable, Mapping, Sequence

from orchestrator.analysis.observed.demand import Demand
from orchestrator.errors import UNREADABLE, UsageError
from orchestrator.histories import counters_csv, providers, sysstat
from orchestrator.histories import prometheus as prometheus

Reader = Callable[[str, str, str], Sequence[Demand]]  # text, node, device → of each disk
# `node` and `device` name what the text does not name; devices that it names are all read.
FORMATS: Mapping[str, tuple[str, Reader]] = {  # with what only such a file has
    "sadf": ('"disk-device"', sysstat.sadf),
    "iostat": ('"disk_device"', sysstat.iostat),
    "csv": (counters_csv.FIRST, counters_csv.read),
    "azure": ('"timeseries"', providers.azure),
    "cloudwatch": ('"MetricDataResults"', providers.cloudwatch),
}


def read(file: str, text: str, form: str | None, node: str, device: str) -> list[Demand]:
    """The disks of a file. UsageError if it has no known form, or not the form `form`."""
    form = form or next((name for name, (mark, _) in FORMATS.items() if mark in text), None)
    if form is None or form not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f"{file}: its form is not known", advice=f"name it with --format: {known}")
    try:
        demands = FORMATS[form][1](text, node, device)
        known_as = {demand.device for demand in demands}
        own = [each for each in demands if device in ("", each.device) and len(each.begin_s)]
    except UNREADABLE as error:
        what = f"{file}: cannot be read as {form}: {type(error).__name__}: {error}"
        raise UsageError(what, advice="docs/OBSERVE.md shows how each form is made") from error
    if not own:
        has = ", ".join(sorted(known_as)) or "no disk"
        raise UsageError(f"{file} has no readings of {device or 'a disk'}", advice=f"it has {has}")
    return own
