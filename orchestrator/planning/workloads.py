"""YAML → Workload: every mistake at once, each with its file and YAML path. Pure."""

from collections.abc import Mapping

from orchestrator.design import slo
from orchestrator.errors import KeyPlace
from orchestrator.keys import schema
from orchestrator.keys.refusals import refused, unknown_scale
from orchestrator.keys.strict_records import validate
from orchestrator.keys.yaml_text import parse
from orchestrator.model import Dataset, Workload
from orchestrator.planning import overrides


def read_workload(
    name: str,
    text: str,
    scale: str,
    where: str = "",
    given: overrides.Overrides | None = None,
) -> Workload:
    """`text` is workloads/<name>.yaml, or the file `where`; what is `given` holds over it. Raises
    UsageError with every mistake in it."""
    where = where or f"workloads/{name}.yaml"
    content = parse(where, text)
    # A command's values are checked as if they stood in the file.
    changed = content
    if given:
        changed = given.applied(name, content)
    read = validate(schema.WorkloadYaml, KeyPlace(where), changed)
    if scale not in read.scales:
        place = KeyPlace(where, ("scales",))
        raise refused([unknown_scale(place, scale, read.scales)])
    size = read.scales[scale]
    values = {**read.model_dump(exclude={"scales", "slo"}), **dict(size)}
    values["dataset"] = Dataset(read.dataset, dict(size.dataset))
    # An option of the scale stands last, and so replaces that of the whole workload.
    values["options"] = {**read.options, **size.options}
    values["scale"] = _name_of_scale(content["scales"], scale)
    workload = Workload(name, **values)
    (with_slo,) = slo.applied([workload], read.slo, KeyPlace(where, ("slo",)))
    return with_slo


def _name_of_scale(scales: Mapping[str, object], scale: str) -> str:
    """One that is a YAML alias of another (`study-20: *study`) goes by the other's name. One that
    only has equal content keeps its own."""
    for name, content in scales.items():
        # A YAML alias is read as the very object, not as one that is equal.
        if content is scales[scale]:
            return name
    return scale
