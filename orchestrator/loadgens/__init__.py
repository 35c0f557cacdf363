"""Load generators: one file each, and one line here."""

from orchestrator.loadgens.sysbench import Sysbench
from orchestrator.protocols import LoadGenerator


def load_generators() -> dict[str, LoadGenerator]:
    return {"sysbench": Sysbench()}
