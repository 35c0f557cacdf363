"""Whether a machine can use the volumes of a node's data and of its log together, by the labels
that it must have. Pure."""

from collections.abc import Iterator, Sequence
from itertools import product

from orchestrator.errors import UnavailableError
from orchestrator.powers import MachineTerm, RentedVolume


def require_one_machine(node: str, volumes: Sequence[RentedVolume]) -> None:
    """`volumes`: of its data, and of its log if it has one. UnavailableError if no machine takes
    both, such as in two zones."""
    data, *logs = volumes
    for log in logs:
        if not _may_be_together(data, log):
            raise UnavailableError(
                f"{node} has its data on a volume of {_in_words(data)}, and its log on one of "
                f"{_in_words(log)}: no machine takes both",
                advice="name classes with `volumeBindingMode: WaitForFirstConsumer`, which "
                "give a volume where its node runs",
            )


def _may_be_together(data: RentedVolume, log: RentedVolume) -> bool:
    """Whether a machine may meet a term of each."""
    if not data.machine_terms or not log.machine_terms:
        return True
    for term_of_data, term_of_log in product(data.machine_terms, log.machine_terms):
        if _may_both_hold(term_of_data, term_of_log):
            return True
    return False


def _may_both_hold(term_of_data: MachineTerm, term_of_log: MachineTerm) -> bool:
    """Whether a machine may have all labels of both: it has one value of a label."""
    for key, values in term_of_data.items():
        values_of_log = term_of_log.get(key, values)
        if set(values).isdisjoint(values_of_log):
            return False
    return True


def _in_words(volume: RentedVolume) -> str:
    """`zone=a or zone=b`; `zone=a and type=x, or zone=b`."""
    terms: list[str] = []
    for term in volume.machine_terms:
        terms.append(" and ".join(_labels_in_words(term)))
    return ", or ".join(terms)


def _labels_in_words(term: MachineTerm) -> Iterator[str]:
    for key, values in term.items():
        yield " or ".join([f"{key}={value}" for value in values])
