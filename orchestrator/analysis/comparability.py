"""Whether runs differ in their tier alone, or in a factor; else their figures are not compared.
Pure.

Whether two campaigns may be compared is in `campaigns/comparable_campaigns`.
"""

from collections.abc import Sequence

from orchestrator.analysis import differences
from orchestrator.analysis.differences import Difference
from orchestrator.analysis.results import RunData
from orchestrator.analysis.subjects import Subject, Topic
from orchestrator.design import factors


def among(runs: Sequence[RunData]) -> tuple[Difference, ...]:
    """Differences among runs that should be alike, those that read alike once."""
    by_text: dict[str, Difference] = {}
    for run in runs[1:]:
        for difference in differences.between(runs[0].compared, run.compared):
            by_text.setdefault(str(difference), difference)
    return tuple(by_text.values())


def obstacle(runs: Sequence[RunData], factor: str = "") -> str:
    """Why runs of several tiers, or at two values of a `factor`, must not be compared; or empty."""
    unlike = among(runs)
    if factor:
        unlike = _beside_factor(unlike, runs, factor)
    if unlike:
        what_may = factor or "tier"
        phrases = "; ".join(differences.in_words(unlike))
        return f"the runs differ in more than the {what_may}: {phrases}"
    return ""


# ------------------------------------------------------------------ at two values of a factor

# What follows from a factor of the cluster: loads of other sizes, how many copies a commit
# waits for, and machines that other nodes are placed on.
_FOLLOWING_FROM_CLUSTER = (
    Subject(Topic.DATA_BEFORE),
    Subject(Topic.RUNNING, "durability.synchronous_standby_names"),
    Subject(Topic.MACHINE_CPUS),
    Subject(Topic.MACHINE_MEMORY),
)
_FOLLOWING_FROM_CACHE = (
    Subject(Topic.WORKLOAD, "warm"),
    Subject(Topic.WORKLOAD, "warmup_s"),
    Subject(Topic.WORKLOAD, "warmup_most_s"),
)
# These belong to a workload at a value, whatever the factor is.
_OF_A_VALUE = (Subject(Topic.WORKLOAD, "name"), Subject(Topic.WORKLOAD, "varied"))
_WITH_FACTORS = (Topic.DATA_SET, Topic.OPTION, Topic.WORKLOAD)


def _beside_factor(
    unlike: Sequence[Difference], runs: Sequence[RunData], factor: str
) -> tuple[Difference, ...]:
    """The differences that are neither the factor itself nor follow from it."""
    allowed = _following_from(factor)
    # Loads of unlike data sets leave unlike bytes: that is the factor's doing.
    data_sets = {str(run.record.workload.dataset) for run in runs}
    if len(data_sets) > 1:
        allowed = (*allowed, Subject(Topic.DATA_BEFORE))
    beside: list[Difference] = []
    for difference in unlike:
        subject = difference.subject
        without_commits = factor == factors.WITHOUT and _is_of_commits(subject)
        if subject not in allowed and not without_commits:
            beside.append(difference)
    return tuple(beside)


def _following_from(factor: str) -> tuple[Subject, ...]:
    """The subjects that are the factor itself, or follow from it."""
    keys: tuple[str, ...] = (factor,)
    if factor == factors.DATA:
        keys = factors.SIZE_KEYS
    allowed = [Subject(topic, key) for topic in _WITH_FACTORS for key in keys]
    allowed += _OF_A_VALUE
    if factor in factors.OF_CLUSTER:
        allowed += [Subject(Topic.CLUSTER, factor), *_FOLLOWING_FROM_CLUSTER]
    if factor == factors.MEMORY:
        allowed += [Subject(Topic.MEMORY_PER_NODE), *_FOLLOWING_FROM_CLUSTER]
    if factor == factors.WITHOUT:
        # Without the network, clients are in that of the first node and no link is limited.
        allowed += [
            Subject(Topic.CLUSTER, factors.CLIENT),
            Subject(Topic.CLUSTER, factors.NETWORK),
        ]
    if factor == factors.CACHE:
        allowed += _FOLLOWING_FROM_CACHE
    return tuple(allowed)


def _is_of_commits(subject: Subject) -> bool:
    """Whether commits wait for the disk, and by which settings: `--without commit` changes both."""
    name, _, _ = subject.key.partition(".")
    return subject.topic is Topic.RUNNING and name in ("durable", "durability")
