"""What sessions wait for, from a history of active sessions that is shorter than the window.

Goal: the part that it covers is read from the servers. Method: one node of the stand-in, a session
that sleeps, and a history of three seconds.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.databases.yugabytedb.session_history import session_history
from orchestrator.powers import World
from orchestrator.yugabyte import versions
from tests.integration.standin_nodes import ask, spec, up

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left", "impatient")]


@pytest.mark.slow
def test_a_short_history_covers_the_end_of_the_window(image: str, world: World) -> None:
    asked = replace(spec(image, count=1), version=versions.DEFAULT)
    switches = {1: {"STANDIN_VERSION": versions.DEFAULT, "STANDIN_HISTORY_S": "3"}}
    with up(asked, world, switches, YugabyteDB()) as cluster:
        sleeper = threading.Thread(
            target=ask, args=(cluster, 1, "SELECT pg_sleep(9)::text")
        )
        sleeper.start()
        threading.Event().wait(7.0)
        short = session_history(cluster, 60.0)
        whole = session_history(cluster, 2.0)
        sleeper.join()
    assert 1.5 < short["covered_s"] < 5.5
    assert short["events"]
    assert "covered_s" not in whole
