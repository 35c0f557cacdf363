"""What is known of members without importing them."""

from orchestrator import databases, load_generators
from orchestrator.errors import UsageError
from orchestrator.keys.refusals import unknown
from orchestrator.planning.files_or_rows import FileMembers


def image_of(database: str) -> str:
    """The image of ours for a database that `tierbench setup` builds if it is asked to. UsageError
    for a database that has none."""
    # The registry's entries tell it, for which no database and none of its libraries is imported.
    images = {}
    for name, owned in databases.entries().items():
        if owned.entry.image:
            images[name] = owned.entry.image
    if database not in images:
        raise UsageError(unknown("database with an image of its own", database, images))
    return images[database]


def on_files() -> FileMembers:
    # The registry's entries tell this too, because a plan is made before a member is needed.
    take_files = []
    on_one_engine = []
    for name, database in databases.entries().items():
        if database.entry.takes_files:
            take_files.append(name)
        if not database.entry.on_several_engines:
            on_one_engine.append(name)
    load_files = []
    for name, generator in load_generators.entries().items():
        if generator.entry.loads_files:
            load_files.append(name)
    return FileMembers(take_files, load_files, on_one_engine)
