"""Commands that measure what was predicted, as the run was measured from which it was predicted."""

import shlex
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.results import Results
from orchestrator.planning.named_tiers import row_and_changes
from orchestrator.report.sections import method

# These options of the earlier command are replaced: the next one measures other tiers, whose disks
# are emulated unless volumes of a StorageClass are looked at.
OTHERS = {
    "--enforcement",
    "--profile",
    "--profiles",
    "-p",
    "--workload",
    "--workloads",
    "-w",
    "--slo",
    "--sweep",
}
# Options with which the disks of any profile are volumes of a StorageClass.
_ON_CLASSES = {"--platform": "kubernetes", "--enforcement": "storage-class"}


def commands_that_measure(
    campaign: Results,
    workload: str,
    tiers: Sequence[Prediction],
    slo: str = "",
    of_classes: bool = False,
) -> Iterator[str]:
    """Commands that measure these tiers, each on its machine, as the run was measured.

    `slo`: that they are to meet, if one was asked for. `of_classes`: as volumes of a StorageClass.
    """
    if not tiers:
        return
    profiles = []
    for number, prediction in enumerate(tiers, start=1):
        profiles.append(f"advised-{number}")
        yield init_command(profiles[-1], prediction)
    words = ["tierbench", "compare", "--profiles", ",".join(profiles)]
    words += ["--workloads", workload]
    if slo:
        words += ["--slo", slo]
    if of_classes:
        for option, value in _ON_CLASSES.items():
            words += [option, value]
    words += _kept_words(campaign, of_classes)
    yield shlex.join(words)


def init_command(profile: str, prediction: Prediction) -> str:
    """The command that writes a profile of that tier: its row, its machine and its keys."""
    row, changes = row_and_changes(prediction.tier)
    words = ["tierbench", "init", profile, "--tier", row]
    if prediction.machine:
        words += ["--vm", prediction.machine]
    words += changes
    return shlex.join(words)


def _kept_words(campaign: Results, of_classes: bool) -> Iterator[str]:
    """Words of the command that measured the run, without those that the next one has anew."""
    others = set(OTHERS)
    if of_classes:
        others.update(_ON_CLASSES)
    given = shlex.split(method.command(campaign))[1:]
    for before, word in pairwise(given):
        if before not in others and not _has_an_other(word, others):
            yield word


def _has_an_other(word: str, others: Collection[str]) -> bool:
    """Whether it is one of these options, or one with its value: `--slo=…`, `-ptpcc`."""
    if word.partition("=")[0] in others:
        return True
    return not word.startswith("--") and word[:2] in others
