"""One campaign on a Docker engine: the guard, and what others and dead campaigns left.

Method: docker-py's client is replaced by that of tests/fake_docker.py.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import GuardLostError, UnavailableError
from orchestrator.platforms.docker import guard as docker_guard
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import ContainerSpec
from orchestrator.system import host
from tests.fake_docker import RESET, Engine, refusal

SPEC = ContainerSpec("tierbench-x", "image", ("true",), "client")


DEAD = "another-boot pid:[1] 4194304 1"


def of_another(engine: Engine, process: str) -> None:
    """The guard of a campaign `feed00` with one container."""
    campaign = {"tierbench.campaign": "feed00"}
    labels = {**campaign, "tierbench.host": "there", "tierbench.process": process}
    for name in (docker_guard.NAME, f"{docker_guard.NAME}-beat-feed00"):
        engine.add("volume", name, {"Labels": labels, "CreatedAt": engine.now()})
    container = {"Config": {"Labels": {"tierbench": "1", **campaign}}}
    engine.add("container", "tierbench-feed00-1-node-1", container)


def test_a_second_campaign_on_the_engine_is_refused(
    engine: Engine, ours: DockerPlatform
) -> None:
    of_another(engine, host.process_mark())
    message = "another campaign is running on this Docker engine"
    with pytest.raises(UnavailableError, match=message), ours.guard.held():
        pass
    of_several = engine.platform(known_as="vm2")
    with (
        pytest.raises(UnavailableError, match=f"^vm2: {message}"),
        of_several.guard.held(),
    ):
        pass
    assert ours.guard.other() == "feed00"
    assert ours.sweep() == ()
    assert engine.names("container") == ["tierbench-feed00-1-node-1"]


def test_a_beat_that_is_answered_after_the_campaign_leaves_no_guard(
    engine: Engine, ours: DockerPlatform
) -> None:
    guard = ours.guard
    assert isinstance(guard, docker_guard.VolumeGuard)
    with guard.held():
        assert len(engine.names("volume")) == 2
    guard._beat_anew()
    assert engine.names("volume") == []


def test_a_guard_is_found_by_our_label_and_outlives_sweeps(
    engine: Engine, ours: DockerPlatform
) -> None:
    """A campaign sweeps at its start and between its runs, under its own guard."""
    with ours.guard.held():
        guards = engine.names("volume")
        assert len(guards) == 2
        labelled = engine.volumes.list(filters={"label": "tierbench=1"})
        assert sorted(volume.name for volume in labelled) == sorted(guards)
        assert ours.sweep(only_list=True) == ours.sweep() == ()
        assert engine.platform().sweep() == (), "of one that is alive"
        assert engine.names("volume") == guards


def test_a_beat_whose_campaign_has_lost_its_place_is_a_leftover(
    engine: Engine, ours: DockerPlatform
) -> None:
    labels = {"tierbench": "1", "tierbench.campaign": "dead00"}
    beat = f"{docker_guard.NAME}-beat-dead00"
    engine.add("volume", beat, {"Labels": labels, "CreatedAt": engine.now()})
    with ours.guard.held():
        assert ours.sweep(only_list=True) == (f"volume {beat}",)
        assert ours.sweep() == (f"volume {beat}",)
    assert engine.names("volume") == []


def test_the_guard_of_a_dead_campaign_is_a_leftover_until_another_takes_its_place(
    engine: Engine, ours: DockerPlatform
) -> None:
    of_another(engine, DEAD)
    engine.ahead_s = 310
    for volume in engine.volumes.list():
        volume.attrs["Labels"]["tierbench"] = "1"
    listed = ours.sweep(only_list=True)
    guard = f"volume {docker_guard.NAME}"
    assert {guard, f"{guard}-beat-feed00"} < set(listed)
    dead = engine.volumes.get(docker_guard.NAME)
    third = engine.platform()
    with third.guard.held():
        # What was listed before the third came is removed by its name, which is the third's now.
        assert isinstance(ours.guard, docker_guard.VolumeGuard) and ours.guard.keeps(
            dead
        )
        ours.sweep()
        assert third.guard.beats.lost is None
        assert ours.guard.other() == third.campaign
    of_another(engine, DEAD)
    for volume in engine.volumes.list():
        volume.attrs["Labels"]["tierbench"] = "1"
    engine.ahead_s = 700
    assert set(ours.sweep()) == set(listed)
    assert engine.things == []


def test_leftovers_are_listed_one_by_one_and_stay(
    engine: Engine, ours: DockerPlatform
) -> None:
    def labels(campaign: str, **more: str) -> dict[str, str]:
        return {"tierbench": "1", "tierbench.campaign": campaign, **more}

    role = {"tierbench.role": "disk"}
    engine.add(
        "container",
        "tierbench-1-node-1",
        {"Config": {"Labels": labels("dead00", **role)}},
    )
    engine.add("volume", "tierbench-1-data", {"Labels": labels("dead00")})
    engine.add("network", "tierbench-1", {"Labels": {"tierbench": "1"}})
    engine.add("container", "agent", {"Config": {"Labels": labels(ours.campaign)}})
    engine.add("volume", "theirs", {"Labels": {"mine": "1"}})
    ours.stand(replace(SPEC, name="tierbench-standing-p15", note="what it is"))
    things = list(engine.things)
    assert ours.sweep(only_list=True) == (
        "container tierbench-1-node-1",
        "volume tierbench-1-data",
        "network tierbench-1",
    )
    assert engine.things == things
    assert set(ours.sweep()) == {
        *("container agent", "container tierbench-1-node-1", "volume tierbench-1-data"),
        "network tierbench-1",
    }


def test_the_guard_is_given_back(engine: Engine, ours: DockerPlatform) -> None:
    with ours.guard.held():
        assert ours.guard.other() is None
        assert engine.platform().guard.other() == ours.campaign
    assert engine.things == []


def test_the_place_of_a_dead_campaign_is_taken(
    engine: Engine, ours: DockerPlatform
) -> None:
    boot, space, number, started = host.process_mark().split()
    of_another(engine, f"{boot} {space} {number} {int(started) + 1}")
    with ours.guard.held():
        assert ours.sweep() == ("container tierbench-feed00-1-node-1",)
    assert engine.things == []


def test_a_far_campaign_lives_while_it_beats(
    engine: Engine, ours: DockerPlatform
) -> None:
    of_another(engine, DEAD)
    engine.ahead_s = 290
    with pytest.raises(UnavailableError), ours.guard.held():
        pass
    engine.ahead_s = 310
    with ours.guard.held():
        pass


def test_a_campaign_whose_beat_is_being_renewed_lives(
    engine: Engine, ours: DockerPlatform
) -> None:
    """Its beat is away for a moment, its guard is hours old."""
    of_another(engine, DEAD)
    beat = engine.things.pop(1)
    engine.ahead_s = 3000
    beat.attrs["CreatedAt"] = engine.now()
    slept = engine.clock.sleep

    def meanwhile(seconds: float) -> None:
        slept(seconds)
        engine.things.append(beat)

    engine.clock.sleep = meanwhile  # type: ignore[method-assign]
    assert ours.guard.other() == "feed00"


def test_a_guard_taken_at_the_same_time_is_theirs(
    engine: Engine, ours: DockerPlatform
) -> None:
    """Both find a dead campaign; the slower removes what the faster made."""
    of_another(engine, DEAD)
    engine.ahead_s = 600

    def meanwhile(seconds: float) -> None:
        engine.clock.time_s += seconds
        engine.things = [
            thing for thing in engine.things if thing.name != docker_guard.NAME
        ]
        of_another(engine, host.process_mark())

    engine.clock.sleep = meanwhile  # type: ignore[method-assign]
    with pytest.raises(UnavailableError, match="another campaign"), ours.guard.held():
        pass


def test_a_guard_that_another_has_taken_is_lost(
    engine: Engine, ours: DockerPlatform
) -> None:
    """This machine slept for long."""
    with ours.guard.held():
        engine.things = [
            thing for thing in engine.things if thing.name != docker_guard.NAME
        ]
        of_another(engine, DEAD)
        with pytest.raises(GuardLostError, match="the campaign feed00 on there"):
            ours.guard.beats.renew()
    assert docker_guard.NAME in engine.names("volume"), "it is left alone"


def test_an_engine_that_was_away_or_pruned_leaves_the_guard_ours(
    engine: Engine, ours: DockerPlatform
) -> None:
    with ours.guard.held():
        engine.errors[f"create volume {docker_guard.NAME}"] = [RESET] * 1000
        ours.guard.beats.renew()
        engine.errors.clear()
        engine.things.clear()
        ours.guard.beats.renew()
        assert engine.platform().guard.other() == ours.campaign
        engine.errors[f"create volume {docker_guard.NAME}"] = [
            refusal(403, "not allowed by policy")
        ]
        with pytest.raises(GuardLostError, match="not allowed by policy"):
            ours.guard.beats.renew()


def test_a_volume_of_the_guards_name_is_left_alone(
    engine: Engine, ours: DockerPlatform
) -> None:
    engine.add("volume", docker_guard.NAME, {"Labels": None, "CreatedAt": engine.now()})
    engine.ahead_s = 900
    with pytest.raises(UnavailableError), ours.guard.held():
        pass
    assert engine.names("volume") == [docker_guard.NAME]
