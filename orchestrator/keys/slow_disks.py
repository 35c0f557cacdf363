"""The texts of one slow disk (`slow` of a workload, `--slow`): `NODE=HOW,TIME[@AFTER]`. Pure.

`node-3=10%,60s` is a tenth of its IOPS and bytes/s, `node-3=10x,60s` ten times its latency, and
`node-3=stall,5s@30s` no answer at all, from 30 s after the window's begin. `node-3.wal` is the disk
that holds only its WAL.
"""

from orchestrator.texts.foreign_text import short
from orchestrator.tier.slow_disk import LOG_OF_NODE, SlowDisk
from orchestrator.units import MOST, OtherFormError, parse_seconds

FORM = "NODE=HOW,TIME[@AFTER]"
_EXAMPLES = "such as node-3=10%,60s or node-3=10x,60s or node-3=stall,5s@30s"
_STALL = "stall"


def texts_in(value: object) -> object:
    """One text as the list of its words; a list as it is."""
    if isinstance(value, str):
        return value.split()
    return value


def slow_disk_in(text: object) -> SlowDisk:
    """ValueError with what is wrong in it."""
    disk, _, rest = str(text).partition("=")
    how, _, times = rest.partition(",")
    lasts, has_after, after = times.partition("@")
    node = disk.strip().removesuffix(LOG_OF_NODE)
    of_log = disk.strip().endswith(LOG_OF_NODE)
    how = how.strip()
    if not node or not how or not lasts.strip():
        raise OtherFormError(f"expected {FORM}, {_EXAMPLES}", text)
    lasts_s = parse_seconds(lasts.strip())
    after_s = None
    if has_after:
        after_s = parse_seconds(after.strip())
    if lasts_s <= 0:
        raise ValueError(f"a slow disk lasts longer than {short(lasts)}")
    if how == _STALL:
        return SlowDisk(
            node=node,
            how="stall",
            amount=0.0,
            lasts_s=lasts_s,
            after_s=after_s,
            of_log=of_log,
        )
    if how.endswith("%"):
        return SlowDisk(
            node=node,
            how="share",
            amount=_share_pct(how),
            lasts_s=lasts_s,
            after_s=after_s,
            of_log=of_log,
        )
    if how.endswith("x"):
        times_latency = _times_latency(how)
        return SlowDisk(
            node=node,
            how="latency",
            amount=times_latency,
            lasts_s=lasts_s,
            after_s=after_s,
            of_log=of_log,
        )
    raise ValueError(
        f"a disk is slow by a share (10%), a latency (10x) or stall, not {short(how)}"
    )


def _share_pct(how: str) -> float:
    share_pct = _number(how, "%")
    # A share of 0 would be a stall, and one of 100 the disk as it is.
    if not 0 < share_pct < 100:
        raise ValueError(f"a share is above 0 % and below 100 %, not {short(how)}")
    return share_pct


def _times_latency(how: str) -> float:
    times_latency = _number(how, "x")
    # The disk is as it is at 1x, and below it would be faster.
    if not 1 < times_latency < MOST:
        raise ValueError(f"a slower latency is more than 1x, not {short(how)}")
    return times_latency


def _number(how: str, unit: str) -> float:
    try:
        return float(how.removesuffix(unit))
    except ValueError:
        raise OtherFormError(f"expected a number before {unit}", how) from None
