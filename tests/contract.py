"""What every platform does, whatever runs its containers. A class of tests for each kind of
platform, of which a place that has one makes its own, with the fixtures `platform` and `sleeper`,
a container that does nothing until it is removed:

- `Lifecycle`: all, those of tests too;
- `Commands`: all in which commands really run;
- `Containers`: those whose containers really run and end.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import NodeError, RunError, TierbenchError
from orchestrator.powers import Container, ContainerSpec, Platform
from orchestrator.system.clock import SystemClock, wait_until

NOBODY = "tierbench-nobody"
_TOLD = "/tmp/told"


def ends_when_told(
    sleeper: ContainerSpec, script: str, exit_code: int
) -> ContainerSpec:
    """A container that runs a script, and ends when it is told to."""
    script = f"{script}; until [ -e {_TOLD} ]; do sleep 0.1; done; exit {exit_code}"
    return replace(sleeper, command=("-c", script))


def tell(container: Container) -> None:
    with suppress(TierbenchError):  # it may end before the answer has come
        container.exec(("touch", _TOLD), timeout_s=20)


def names(platform: Platform, role: str) -> list[str]:
    return [entry.name for entry in platform.find_containers(role)]


class Lifecycle:
    def test_a_container_is_there_while_it_runs(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        with platform.running(sleeper) as container:
            assert container.name == sleeper.name
            # Without one in a network it may have got one.
            assert sleeper.address is None or container.address == sleeper.address
            assert container.id and container.state().words == "running"
            assert platform.container(sleeper.name).state().words == "running"
            assert sleeper.name in names(platform, sleeper.role)
            assert sleeper.name not in names(platform, "another-role")
            assert container.find_machine() in platform.machines()
        assert container.state().words == "gone" and sleeper.name not in names(
            platform, ""
        )

    def test_machines_are_known_and_not_asked_for(self, platform: Platform) -> None:
        machines = platform.machines()
        assert machines and platform.machines() == machines
        assert len({machine.name for machine in machines}) == len(machines)

    def test_a_container_that_is_not_there(self, platform: Platform) -> None:
        assert platform.container(NOBODY).state().words == "gone"
        assert platform.container(NOBODY).logs() == ""
        assert platform.container(NOBODY).find_image() == ""
        platform.container(NOBODY).remove(1)

    def test_one_that_is_removed_early_is_no_error(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        with platform.running(sleeper) as container:
            container.remove(1)
            assert container.state().words == "gone"

    def test_an_error_of_the_block_is_the_one_that_is_raised(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        with pytest.raises(NodeError, match="it died"), platform.running(sleeper):
            raise NodeError("it died")
        assert platform.container(sleeper.name).state().words == "gone"

    def test_each_node_has_an_address(self, platform: Platform) -> None:
        with platform.network("tierbench-net", 3) as network:
            assert len(set(network.addresses)) == 3

    def test_no_other_campaign_is_there_and_nothing_is_left(
        self, platform: Platform
    ) -> None:
        assert platform.guard.other() is None and platform.answers()
        assert platform.sweep(only_list=True) == () == platform.sweep()

    def test_an_image_that_does_not_exist(self, platform: Platform) -> None:
        assert not platform.images.present("nobody.test/none:0")
        assert platform.images.id("nobody.test/none:0") is None
        assert platform.images.mismatch("nobody.test/none:0") == ""
        assert "nobody.test/none:0" in platform.images.ways_to_get("nobody.test/none:0")


class Commands(Lifecycle):
    def test_a_command_gets_its_environment_and_gives_its_output(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        secret = "a b ' \" $x \\ é"
        with platform.running(sleeper) as container:
            script = "echo $SECRET; echo error >&2; exit 7"
            done = container.exec(
                ("sh", "-c", script), timeout_s=20, env={"SECRET": secret}
            )
            assert container.find_image()
        assert (done.exit_code, done.out, done.err) == (7, f"{secret}\n", "error\n")

    def test_a_variable_may_have_line_breaks(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        """The XML of BenchBase has 42."""
        text = "<a>\n  \\n \\\\ \\c \\0101 %s $x\n</a>\\\n\n"
        with platform.running(sleeper) as container:
            done = container.exec(
                ("sh", "-c", 'printf %s "$TEXT"'), timeout_s=20, env={"TEXT": text}
            )
        assert (done.exit_code, done.out) == (0, text)

    def test_lines_come_as_they_are_written_and_large_output_whole(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        lines: list[str] = []
        with platform.running(sleeper) as container:
            script = "echo one; sleep 0.2; echo two"
            container.exec(("sh", "-c", script), timeout_s=20, on_line=lines.append)
            large = container.exec(("head", "-c", "3000000", "/dev/zero"), timeout_s=60)
        assert lines == ["one", "two"] and len(large.out) == 3_000_000

    def test_a_command_past_its_time_is_an_error(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        with (
            platform.running(sleeper) as container,
            pytest.raises(RunError, match="did not end within 1 s"),
        ):
            container.exec(("sleep", "60"), timeout_s=1)

    def test_a_command_is_talked_with(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        script = "while read -r line; do echo got $line; done"
        with platform.running(sleeper) as container:
            with container.conversation(("sh", "-c", script)) as talk:
                for word in ("one", "two"):
                    talk.send(word)
                    assert talk.receive(20) == f"got {word}"
                with pytest.raises(RunError, match="no answer"):
                    talk.receive(0.5)
            with container.conversation(("true",)) as talk, pytest.raises(RunError):
                talk.receive(20)

    def test_a_stopped_container_stays_with_its_log(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        with platform.running(sleeper) as container:
            container.stop(10)
            assert container.state().words.startswith("exited") and isinstance(
                container.logs(), str
            )


class Containers(Commands):
    def test_a_container_runs_to_its_end(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        script = "echo to out; echo to err >&2; exit 3"
        done = platform.once(replace(sleeper, command=("-c", script)), timeout_s=60)
        assert (done.exit_code, set(done.out.splitlines())) == (3, {"to out", "to err"})
        with pytest.raises(RunError, match="did not end within 1 s"):
            platform.once(sleeper, timeout_s=1)
        assert platform.container(sleeper.name).state().words == "gone"

    def test_a_container_that_ends_is_an_error_of_the_run(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        with platform.running(ends_when_told(sleeper, "echo broken", 5)) as container:
            tell(container)
            assert wait_until(
                lambda: container.state().words != "running",
                deadline_s=60,
                clock=SystemClock(),
            )
            assert (container.state().words, container.logs()) == (
                "exited (exit 5)",
                "broken\n",
            )

    def test_a_watched_container_that_dies_is_named(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        dying = replace(ends_when_told(sleeper, "true", 1), name="tierbench-other")
        with (
            platform.running(sleeper) as container,
            platform.running(dying) as other,
            pytest.raises(NodeError, match=r"tierbench-other died .*exit 1"),
        ):
            begun = ("sh", "-c", "echo begun; sleep 30")
            container.exec(
                begun, timeout_s=25, on_line=lambda _: tell(other), watch=[other]
            )

    def test_politely_stopped_and_killed(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        polite = "trap 'echo stopped politely; exit 0' TERM; echo up; while :; do sleep 0.1; done"
        with platform.running(replace(sleeper, command=("-c", polite))) as container:
            container.stop(60)
            assert container.state().words == "exited (exit 0)"
            assert container.logs() == "up\nstopped politely\n"
            assert container.logs(tail=1) == "stopped politely\n"
            with pytest.raises(NodeError):
                container.exec(("true",), timeout_s=5)
        deaf = "trap '' TERM; while :; do sleep 0.1; done"
        with platform.running(replace(sleeper, command=("-c", deaf))) as container:
            container.stop(1)
            assert container.state().words == "exited (exit 137)"

    def test_files_are_there_before_it_begins(
        self, platform: Platform, sleeper: ContainerSpec
    ) -> None:
        folders = {"/given": {"read": b"0 100\n", "write": b"0 200\n"}, "/out": {}}
        script = "cat /given/* && echo rows > /out/1 && cat /out/1"
        spec = replace(sleeper, folders=folders, command=("-c", script))
        done = platform.once(spec, timeout_s=60)
        assert (done.out, done.exit_code) == ("0 100\n0 200\nrows\n", 0)

    def test_files_are_put_into_it_and_fetched(
        self, platform: Platform, sleeper: ContainerSpec, tmp_path: Path
    ) -> None:
        given, out, key = tmp_path / "given", tmp_path / "out", tmp_path / "client.key"
        for folder in (given / "lib", given / "empty", out):
            folder.mkdir(parents=True)
        (given / "lib" / "loop.lua").write_text("first")
        (out / "kept").write_text("what was here")
        key.write_text("key")
        key.chmod(0o600)
        spec = replace(sleeper, folders={"/given": {}, "/out": {}})
        with platform.running(spec) as container:

            def said(script: str) -> str:
                return container.exec(("sh", "-c", script), timeout_s=20).out

            container.put(given, "/given")
            container.put(key, "/out/other.key")
            script = (
                "cat /given/lib/loop.lua /out/other.key; stat -c ' %a' /out/other.key"
            )
            assert said(script) == "firstkey 600\n"
            (given / "lib" / "loop.lua").write_text("second")
            container.put(given, "/given")
            assert said("cat /given/lib/loop.lua") == "second"
            said("mkdir /out/raw; echo rows > /out/raw/1; ln -s /etc/passwd /out/link")
            container.fetch("/out", out)
            assert (out / "raw" / "1").read_text() == "rows\n"
            assert sorted(path.name for path in out.iterdir()) == [
                "kept",
                "other.key",
                "raw",
            ]
            said("rm /out/raw/1; head -c 3000000 /dev/zero > /out/kept")
            container.fetch("/out", out)
            assert (out / "raw" / "1").is_file() and (
                out / "kept"
            ).stat().st_size == 3_000_000
            with pytest.raises(RunError):
                container.fetch("/nowhere", out)
            with pytest.raises(RunError):
                container.put(key, "/nowhere/key")
