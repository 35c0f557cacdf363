"""Load generators: one file or folder each, and one line here."""

from collections.abc import Mapping

from orchestrator import parts
from orchestrator.registry.extension import GeneratorEntry
from orchestrator.registry.installed import BroughtEntry, family
from orchestrator.registry.references import ObjectPlace

_PLACE = "orchestrator.load_generators"
_BUILT_IN = {
    "sysbench": GeneratorEntry(
        f"{_PLACE}.sysbench.generator:Sysbench",
        rules=f"{_PLACE}.sysbench.command_lines:RULES",
    ),
    "fio": GeneratorEntry(f"{_PLACE}.fio:Fio", rules=f"{_PLACE}.fio:RULES"),
    "dry": GeneratorEntry(f"{_PLACE}.dry:DryGenerator"),
}


def entries() -> Mapping[str, BroughtEntry[GeneratorEntry]]:
    """The entries of built-in load generators, and after them those of extensions."""
    return family("load_generators", _BUILT_IN)


def load_generators() -> Mapping[str, parts.LoadGenerator]:
    makers = {}
    for name, owned in entries().items():
        makers[name] = ObjectPlace(owned.entry.member, owned.origin)
    return parts.Members("load generator", makers)
