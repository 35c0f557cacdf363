"""Commands that measure what was predicted, as the run was measured from which it was predicted."""

import shlex
from collections.abc import Iterator, Sequence

from orchestrator.analysis.given_commands import given_command
from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.results import Results
from orchestrator.cli.common.campaign_files import NOT_OF_A_CAMPAIGN
from orchestrator.extensions.predict.command_lines import options_of
from orchestrator.planning.named_tiers import row_and_changes

# Options of the earlier command that are given anew, because the next one measures other tiers.
# Their disks are emulated unless volumes of a StorageClass are looked at.
_GIVEN_ANEW = frozenset({"profiles", "workloads", "slo", "sweep", "enforcement"})
# Options that name tiers or workloads that are not measured again, or that ask one tier's noise.
_OF_EARLIER_TIERS = frozenset({"baseline", "weights", "aa"})
# Options with which the disks of any profile are volumes of a StorageClass.
_ON_CLASSES = {"platform": "kubernetes", "enforcement": "storage-class"}


def commands_that_measure(
    campaign: Results,
    workload: str,
    tiers: Sequence[Prediction],
    slo: str = "",
    *,
    of_classes: bool,
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
            words += [f"--{option}", value]
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
    """The options of the measuring command that the next command keeps.

    The next command sets some options anew. Options that say what was printed or where results went
    are left out too.
    """
    left_out = {*_GIVEN_ANEW, *_OF_EARLIER_TIERS, *NOT_OF_A_CAMPAIGN}
    if of_classes:
        left_out.update(_ON_CLASSES)
    for option in options_of(shlex.split(given_command(campaign))):
        if left_out.isdisjoint(option.keys):
            yield from option.words
