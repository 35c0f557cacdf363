"""YugabyteDB, and all that it can do: it is started and read by `database`."""

from orchestrator.databases.yugabytedb import (
    checklist,
    checklist_kept,
    image,
    session_history,
)
from orchestrator.databases.yugabytedb.collector import YugabyteDBCollector
from orchestrator.databases.yugabytedb.database import YugabyteNodes
from orchestrator.parts import (
    DatabaseAbilities,
    FirstRun,
)


class YugabyteDB(YugabyteNodes):
    @property
    def abilities(self) -> DatabaseAbilities:
        return DatabaseAbilities(
            session_limit=self.session_limit,
            first_run=FirstRun(
                checklist.spec,
                checklist.look,
                checklist_kept.kept,
                checklist_kept.passed,
            ),
            image_supply=image,
            collectors=_collectors,
            # Its pg_stat_activity does not say what a statement waits for.
            counts_statements=True,
            session_history=session_history.session_history,
        )


def _collectors() -> tuple[YugabyteDBCollector, ...]:
    return (YugabyteDBCollector(),)
