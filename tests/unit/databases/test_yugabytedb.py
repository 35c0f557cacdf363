"""YugabyteDB's command lines, word for word, and the profiles that it refuses.

Goal: nodes are started with exactly what docs/research/YUGABYTEDB.md says each release takes.
Method: golden files per release (`make golden`), whose change is reviewed against that document.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.measure.database_choice import on_database
from orchestrator.databases.common import container_nodes
from orchestrator.databases.yugabytedb import (
    YugabyteDB,
    checklist,
    flags,
    image,
    nodes,
    settings,
)
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import ClusterSpec, NodeSize, Volume
from orchestrator.planning import project_files
from orchestrator.powers import Network
from orchestrator.system.shell import SystemShell
from orchestrator.yugabyte import counters, releases, versions
from tests import ROOT, golden
from tests.fakes import FakePlatform, fake_world

GOLDEN = golden.FOLDER / "yugabytedb"
MIB, GIB = 2**20, 2**30
NETWORK = Network("tierbench-4", tuple(f"10.201.77.{11 + k}" for k in range(5)))
D8S = NodeSize(cpus=8.0, memory_bytes=32 * GIB, disk_bytes=250 * 10**9)
THREE = ClusterSpec("yugabytedb", 3, 3, D8S)

CASES: dict[str, tuple[ClusterSpec, bool]] = {
    "three": (THREE, False),
    "three-restored": (THREE, True),
    "one": (replace(THREE, nodes=1, replication_factor=1), False),
    "five": (replace(THREE, nodes=5, replication_factor=5), False),
    "durable-tls-own-wal": (
        replace(
            THREE,
            port=5433,
            settings={
                "durability": "durable",
                "tls": "on",
                "wal_directory": "own",
                "zones": "azure.westeurope.1 azure.westeurope.2 azure.westeurope.3",
                "tserver.rocksdb_max_background_compactions": "4",
                "log_min_seconds_to_retain": "300",
            },
        ),
        False,
    ),
    "laptop": (replace(THREE, node=NodeSize(2.0, 2 * GIB, 10 * GIB)), False),
}


def rendered(spec: ClusterSpec, restored: bool) -> str:
    chosen, mistakes = settings.read(spec)
    assert mistakes == ()
    lines = []
    for number, address in enumerate(NETWORK.addresses[: spec.nodes], start=1):
        volume = Volume(f"tierbench-node-{number}", "/dev/loop0", restored)
        certificates = {f"node.{address}.crt": b"certificate"} if chosen.tls else {}
        tag = image.tags(chosen)[0]
        plan = nodes.container_spec(
            spec, chosen, number, volume, NETWORK, tag, certificates
        )
        lines += [
            f"# {plan.name} at {plan.address}, {plan.cpus:g} CPUs, {plan.memory_bytes} bytes",
            f"image {plan.image}",
            *(f"environment {key}={value}" for key, value in plan.environment.items()),
            *(f"mount {mount.source} {mount.target}" for mount in plan.mounts),
            *(
                f"files {folder}: {', '.join(files)}"
                for folder, files in plan.folders.items()
            ),
            *(
                f"port {inside} -> {outside or 'any'}"
                for inside, outside in plan.ports.items()
            ),
            f"shared memory {plan.shared_memory_bytes}",
            *(f"at least {name} {least}" for name, least in plan.ulimits.items()),
            *plan.command,
            "",
        ]
    place = flags.place_data(spec)
    if place:
        lines += ["# once all nodes are up, in node 1", *place, ""]
    return "\n".join(lines)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("release", versions.PINNED)
def test_nodes_are_started_word_for_word_so(release: str, case: str) -> None:
    spec, restored = CASES[case]
    text = rendered(replace(spec, version=release), restored)
    golden.compare(f"yugabytedb/{release}/{case}.txt", text)


def test_only_the_pinned_releases_have_golden_files() -> None:
    assert {folder.name for folder in GOLDEN.iterdir()} == set(versions.PINNED)


# ------------------------------------------------------------------ releases


def test_releases_sort_by_time_and_read_back() -> None:
    names = [
        "2.18.1.0-b84",
        "2.18.1.0-b85",
        "2.20.10.0-b29",
        "2024.2.2.2-b2",
        "2025.2.6.0-b111",
    ]
    read = [versions.parse(name) for name in names]
    assert read == sorted(read)
    assert [str(version) for version in read] == names


@pytest.mark.parametrize(
    ("release", "day", "said"),
    [
        (versions.STUDY, "2025-02-15", "2.18, of which 2.18.1.0-b84 is, reaches"),
        (versions.STUDY, "2025-02-16", "past its end of life since 2025-02-16"),
        ("2024.2.11.0-b36", "2026-11-29", ""),
        ("2025.1.4.0-b103", "2026-11-29", "end of life on 2027-01-23"),
        ("2025.1.4.0-b103", "2026-10-25", "end of life on 2027-01-23"),  # 90 days
        ("2025.1.4.0-b103", "2026-10-24", ""),
        (versions.DEFAULT, "2026-11-29", ""),
        ("2.25.2.0-b359", "2026-11-29", "no series that is known to be supported"),
        ("2.14.0.0-b1", "2026-11-29", "no series that is known to be supported"),
        ("2.19.3.0-b140", "2023-11-29", "no series that is known to be supported"),
        ("2027.1.0.0-b1", "2027-11-29", ""),  # newer than the list
    ],
)
def test_who_starts_a_release_out_of_support_is_told(
    release: str, day: str, said: str
) -> None:
    text = releases.end_of_support(release, date.fromisoformat(day))
    assert said in text and bool(said) is bool(text)
    assert not text or text.endswith("; 2025.2.6.0-b111 is supported until 2028-06-11")


def test_what_is_started_without_a_release_is_supported_for_long() -> None:
    series = releases.newest_long_term().name
    assert versions.DEFAULT.startswith(f"{series}.")
    assert str(settings.read(THREE)[0].version) == versions.DEFAULT


STUDYS = [f"profiles/study/{name}.yaml" for name in ("premium", "premium-v2", "ultra")]


@pytest.mark.parametrize(
    ("profiles", "database", "version"),
    [
        (STUDYS, "yugabytedb", versions.STUDY),
        (STUDYS, "postgresql", None),
        (["premium", "premium-v2", "ultra"], "yugabytedb", None),
    ],
)
def test_the_studys_release_is_that_of_the_studys_profiles_alone(
    profiles: list[str], database: str, version: str | None
) -> None:
    """A cluster that is like the study's in all else has the release of today."""
    read, _ = project_files.read(ROOT, profiles, [], "study")
    clusters = [on_database(profile.cluster, database) for profile in read]
    assert {cluster.version for cluster in clusters} == {version}


@pytest.mark.parametrize(
    ("preview", "has", "lacks"),
    [
        ("2.21.1.0-b271", None, "memory_defaults_for_ysql"),
        ("2.23.1.0-b220", "memory_defaults_for_ysql", "braced_flags"),
        ("2.25.2.0-b359", "braced_flags", "auto_analyze"),
        ("2.29.0.0-b1", "auto_analyze", None),
    ],
)
def test_a_preview_has_what_the_series_before_it_brought(
    preview: str, has: str | None, lacks: str | None
) -> None:
    version = versions.parse(preview)
    assert str(version) == preview
    assert has is None or version.has(has)
    assert lacks is None or not version.has(lacks)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2025.2.5.2-b5-aarch64", "2025.2.5.2-b5"),
        ("2025.2.6.0", "2025.2.6.0-b111"),
        ("2024.2.11.0", "2024.2.11.0-b36"),
    ],
)
def test_a_tag_for_arm_and_a_release_without_its_build_are_understood(
    text: str, version: str
) -> None:
    assert str(versions.parse(text)) == version


@pytest.mark.parametrize("text", ["latest", "2025.2.99.0", "newest"])
def test_what_names_no_known_build_is_refused_with_one_that_does(text: str) -> None:
    with pytest.raises(ValueError, match=r"2025\.2\.6\.0-b111"):
        versions.parse(text)


def test_an_image_for_arm_is_the_one_that_is_started() -> None:
    chosen, mistakes = settings.read(replace(THREE, version="2025.2.5.2-b5-aarch64"))
    assert not mistakes
    assert image.tags(chosen) == ("yugabytedb/yugabyte:2025.2.5.2-b5-aarch64",)


def test_an_image_for_arm_has_its_build_in_its_tag() -> None:
    chosen, mistakes = settings.read(replace(THREE, version="2025.2.6.0-aarch64"))
    assert not mistakes
    assert image.tags(chosen) == ("yugabytedb/yugabyte:2025.2.6.0-b111-aarch64",)


def test_series_are_listed_by_age_with_an_image_of_each() -> None:
    listed = releases.series()
    assert [row.released for row in listed] == sorted(row.released for row in listed)
    for row in listed:
        assert row.released < row.end_of_life
        assert row.newest.startswith(f"{row.name}.")
        assert str(versions.parse(row.newest)) == row.newest
    assert releases.newest_long_term().name == "2025.2"


# As pasted by users of released builds: 2.0.0.0-b16 and 2.13.1.0-b112 print -b0, as all others do
# (yugabyte/yugabyte-db issues 2447, 12323, 17660; `ysql_dump` of 2025.2.1.0).
@pytest.mark.parametrize(
    ("banner", "number"),
    [
        (
            "PostgreSQL 11.2-YB-2.0.0.0-b0 on x86_64-pc-linux-gnu, compiled by gcc",
            (2, 0, 0, 0),
        ),
        (
            "PostgreSQL 11.2-YB-2.13.1.0-b0 on x86_64-pc-linux-gnu, 64-bit",
            (2, 13, 1, 0),
        ),
        ("PostgreSQL 11.2-YB-2.18.0.1-b0 on x86_64-pc-linux-gnu", (2, 18, 0, 1)),
        ("PostgreSQL 15.12-YB-2025.2.1.0-b0 on aarch64", (2025, 2, 1, 0)),
        ("PostgreSQL 17.2 (Debian 17.2-1.pgdg120+1)", None),
    ],
)
def test_the_banner_tells_the_releases_number_and_never_its_build(
    banner: str, number: tuple[int, ...] | None
) -> None:
    assert versions.banner_number(banner) == number


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.18.1.0-b84", False),
        ("2025.1.4.0-b103", False),
        ("2025.2.6.0-b111", True),
        ("2026.1", True),
    ],
)
def test_statistics_are_collected_where_the_planner_uses_them(
    version: str, expected: bool
) -> None:
    assert versions.analyzed(version) is expected


def test_the_pinned_releases_are_on_both_sides_of_every_difference() -> None:
    old, new = versions.parse(versions.STUDY), versions.parse(versions.DEFAULT)
    since = shipped("orchestrator.yugabyte", "versions.yaml")["since"]
    assert not any(old.has(difference) for difference in since)
    assert all(new.has(difference) for difference in since)


# ------------------------------------------------------------------ memory and flags


def test_memory_is_shared_out_of_the_containers_not_the_machines() -> None:
    shares = flags.memory(32 * GIB)
    assert shares.master_bytes == 2 * GIB
    assert shares.tserver_bytes == 20_615_843_020
    assert shares.block_cache_bytes == 10_307_921_510


def test_a_flag_unknown_to_a_release_is_not_passed_to_it() -> None:
    flag = "use_memory_defaults"
    assert flag not in rendered(replace(THREE, version="2.18.1.0-b84"), restored=False)
    assert flag in rendered(replace(THREE, version="2025.2.6.0-b111"), restored=False)


@pytest.mark.parametrize(
    ("release", "expected"),
    [("2.18.1.0-b84", None), ("2024.2.2.2-b2", None), ("2025.2.6.0-b111", "false")],
)
def test_nothing_is_analysed_in_the_background_of_a_run(
    release: str, expected: str | None
) -> None:
    chosen, _ = settings.read(replace(THREE, version=release))
    assert (
        flags.tserver_flags(THREE, chosen).get("ysql_enable_auto_analyze") == expected
    )
    assert "ysql_enable_auto_analyze" not in flags.master_flags(THREE, chosen)


def test_history_is_kept_for_the_longest_check_unless_the_profile_says_otherwise() -> (
    None
):
    name = "timestamp_history_retention_interval_sec"
    for given, expected in (({}, "14400"), ({name: "900"}, "900")):
        chosen, _ = settings.read(replace(THREE, settings=given))
        servers = flags.master_flags(THREE, chosen), flags.tserver_flags(THREE, chosen)
        assert [server[name] for server in servers] == [expected, expected]


def test_durable_is_required_so_that_it_cannot_be_turned_off_silently() -> None:
    chosen, _ = settings.read(replace(THREE, settings={"durability": "durable"}))
    durable = flags.tserver_flags(THREE, chosen)
    assert (
        durable["durable_wal_write"] == durable["require_durable_wal_write"] == "true"
    )
    chosen, _ = settings.read(THREE)
    assert flags.tserver_flags(THREE, chosen)["durable_wal_write"] == "false"


def test_a_flag_for_one_server_goes_to_that_server_alone() -> None:
    given = {"master.a_flag": "1", "tserver.b_flag": "2", "c_flag": "3"}
    chosen, mistakes = settings.read(replace(THREE, settings=given))
    assert mistakes == ()
    assert chosen.master_flags == {"a_flag": "1", "c_flag": "3"}
    assert chosen.tserver_flags == {"b_flag": "2", "c_flag": "3"}


@pytest.mark.parametrize(
    ("text", "tls"), [("on", True), ("True", True), ("False", False)]
)
def test_a_switch_is_read_as_yaml_writes_it(text: str, tls: bool) -> None:
    chosen, mistakes = settings.read(replace(THREE, settings={"tls": text}))
    assert (chosen.tls, mistakes) == (tls, ())


def test_a_value_with_commas_is_braced_where_the_release_takes_that() -> None:
    with_comma = replace(THREE, settings={"ysql_pg_conf_csv": "a=1,b=2"})
    old = replace(with_comma, version=versions.STUDY)
    recent = replace(with_comma, version=versions.DEFAULT)
    assert "ysql_pg_conf_csv={a=1,b=2}" in rendered(recent, restored=False)
    assert mistakes_of(old) == {
        "cluster.settings.ysql_pg_conf_csv": "2.18.1.0-b84 splits flags at every comma, so a value "
        "cannot hold one"
    }


@pytest.mark.parametrize(
    ("in_force", "short"),
    [
        ({"nofile": "1048576", "nproc": "unlimited"}, ""),
        ({"nofile": "1024", "nproc": "unlimited"}, "nofile 1024 instead of 1048576"),
        ({}, ""),
    ],
    ids=["raised", "not raised", "not to be read from here"],
)
def test_limits_that_the_engine_does_not_raise_are_said(
    in_force: dict[str, str], short: str
) -> None:
    chosen, _ = settings.read(THREE)
    volume = Volume("tierbench-node-1", "/dev/loop0", False)
    plan = nodes.container_spec(THREE, chosen, 1, volume, NETWORK, "an-image", {})
    container = replace(FakePlatform().container(plan.name), ulimits=in_force)
    assert container_nodes.short_limits(plan, container) == short


# ------------------------------------------------------------------ what is refused


def mistakes_of(spec: ClusterSpec) -> dict[str, str]:
    return {mistake.where: mistake.what for mistake in settings.read(spec)[1]}


SMALL = NodeSize(1.0, 384 * MIB, GIB)


@pytest.mark.parametrize(
    ("nodes", "copies", "options"),
    [
        (2, 1, None),
        (3, 3, None),
        (3, 1, ["--rf=1"]),
        (5, 5, ["--fault_tolerance=zone", "--rf=5"]),
    ],
)
def test_copies_that_yugabyted_does_not_make_by_itself_are_set(
    nodes: int, copies: int, options: list[str] | None
) -> None:
    spec = replace(THREE, nodes=nodes, replication_factor=copies)
    chosen, mistakes = settings.read(spec)
    assert not mistakes and (copies > 1 or len(set(chosen.zones)) == 1)
    command = flags.place_data(spec)
    assert (command and list(command[3:-1])) == options


def test_a_hundred_nodes_share_the_zones_that_copies_are_placed_in() -> None:
    """The third node that joins has copies placed in the zones of the first three."""
    chosen, mistakes = settings.read(replace(THREE, nodes=100))
    assert not mistakes
    assert set(chosen.zones[:3]) == set(chosen.zones) and len(set(chosen.zones)) == 3
    assert chosen.zones[3] == chosen.zones[0]
    two, _ = settings.read(replace(THREE, nodes=2, replication_factor=1))
    assert (len(set(two.zones)), two.fault_tolerance) == (1, "none")


@pytest.mark.parametrize(
    ("changes", "where", "part"),
    [
        ({"version": "2.18"}, "version", "the tag of the image"),
        ({"nodes": 101}, "nodes", "1 to 100"),
        ({"replication_factor": 2}, "replication_factor", "odd number"),
        ({"replication_factor": 5}, "replication_factor", "a node of its own"),
        ({"node": SMALL}, "node.memory", "384 MiB is too little for a master, a tablet server and a"
         " few sessions: give it at least 1.50 GiB"),
        *(
            ({"settings": {name: value}}, f"settings.{name}", part)
            for name, value, part in (
                ("durability", "sometimes", "none of default, durable"),
                ("durable_wal_write", "true", "use `durability: default` or `durable`"),
                ("tserver.never_fsync", "true", "what survives a power cut"),
                ("fs_data_dirs", "/mnt", "the tier's disk"),
                ("master.replication_factor", "3", "use `cluster.replication_factor`"),
                ("zones", "a.b.c a.b.d", "2 zones for 3 nodes"),
                ("zones", "a.b a.b.c a.b.d", "a.b: write cloud.region.zone"),
                ("Not A Flag", "1", "neither one of durability, tls"),
                ("a_flag", "{1}", "braces"),
            )
        ),
    ],
)  # fmt: skip
def test_a_cluster_that_would_not_start_or_would_deceive_is_refused(
    changes: dict[str, Any], where: str, part: str
) -> None:
    ((place, text),) = mistakes_of(replace(THREE, **changes)).items()
    assert place == f"cluster.{where}"
    assert part in text


def test_all_mistakes_are_said_at_once() -> None:
    spec = replace(THREE, version="x", settings={"tls": "maybe", "never_fsync": "true"})
    with pytest.raises(UsageError) as raised:
        YugabyteDB().check(spec, fake_world(shell=SystemShell()))
    assert [mistake.where for mistake in raised.value.mistakes] == [
        "cluster.settings.tls",
        "cluster.version",
        "cluster.settings.never_fsync",
    ]


# ------------------------------------------------------------------ where the image comes from

OFFICIAL = f"yugabytedb/yugabyte:{versions.DEFAULT}"
PACKED = f"tierbench/yugabytedb:{versions.DEFAULT}"


def test_without_an_image_all_ways_to_get_one_are_said_and_the_exit_code_is_69() -> (
    None
):
    with pytest.raises(UnavailableError) as raised:
        YugabyteDB().check(THREE, fake_world(shell=SystemShell()))
    assert raised.value.exit_code == 69
    assert OFFICIAL in raised.value.what
    for way in (
        "docker pull",
        "docker load",
        "make yugabyte-image TARBALL=",
        "DB=auto",
    ):
        assert way in raised.value.advice


@pytest.mark.parametrize(
    ("here", "taken"),
    [((OFFICIAL, PACKED), OFFICIAL), ((PACKED,), PACKED), ((), OFFICIAL)],
)
def test_the_official_image_goes_before_one_made_from_a_tarball(
    here: tuple[str, ...], taken: str
) -> None:
    assert YugabyteDB().image(THREE, fake_world(platform=platform(*here))) == taken


def platform(*images: str, registry: tuple[str, ...] = ()) -> Any:
    return FakePlatform(images=images, registry=registry)


NATIVE = f"{OFFICIAL}-aarch64"


def on_arm(*images: str, registry: tuple[str, ...] = ()) -> Any:
    """An engine on machines with ARM. YugabyteDB's plain tags are for x86-64."""
    arm = platform(*images, registry=registry)
    arm.images.architecture = "arm64"
    arm.images.built_for = {OFFICIAL: "amd64", NATIVE: "arm64"}
    return arm


@pytest.mark.parametrize(
    ("here", "taken"),
    [
        ((OFFICIAL, PACKED, NATIVE), NATIVE),
        ((OFFICIAL, PACKED), PACKED),
        ((OFFICIAL,), NATIVE),
        ((), NATIVE),
    ],
)
def test_on_machines_with_arm_the_image_is_the_one_for_them(
    here: tuple[str, ...], taken: str
) -> None:
    """The plain one starts under emulation and never becomes healthy."""
    assert YugabyteDB().image(THREE, fake_world(platform=on_arm(*here))) == taken


def test_what_is_pulled_and_downloaded_there_is_for_them_too() -> None:
    both = (OFFICIAL, NATIVE)
    assert image.obtain(THREE, on_arm(registry=both)) == NATIVE
    # Also where the one for x86-64 is here already.
    arm = on_arm(OFFICIAL, registry=both)
    assert image.obtain(THREE, arm) == NATIVE
    YugabyteDB().check(THREE, fake_world(platform=arm))
    with pytest.raises(UnavailableError) as raised:
        YugabyteDB().check(THREE, fake_world(platform=on_arm()))
    assert raised.value.what == f"the image {NATIVE} is not here"
    assert f"docker pull {NATIVE}`" in raised.value.advice
    assert f"yugabyte-{versions.DEFAULT}-el8-aarch64.tar.gz" in raised.value.advice


@pytest.mark.parametrize(
    ("engine", "version", "said"),
    [
        (
            on_arm(OFFICIAL),
            None,
            f"the image {OFFICIAL} is built for amd64; the engine runs on arm64",
        ),
        (
            platform(NATIVE),
            f"{versions.DEFAULT}-aarch64",
            f"the image {NATIVE} is built for arm64; the engine runs on amd64",
        ),
    ],
)
def test_an_image_for_another_architecture_is_refused_before_anything_starts(
    engine: Any, version: str | None, said: str
) -> None:
    if not engine.images.architecture:
        engine.images.architecture = "amd64"
        engine.images.built_for = {NATIVE: "arm64"}
    spec = replace(THREE, version=version)
    with pytest.raises(UnavailableError) as raised:
        YugabyteDB().check(spec, fake_world(platform=engine))
    assert raised.value.what == said
    assert engine.asked == []


def test_an_image_is_pulled_only_if_none_is_here() -> None:
    assert image.obtain(THREE, platform(PACKED, registry=(OFFICIAL,))) == PACKED
    assert image.obtain(THREE, platform(registry=(OFFICIAL,))) == OFFICIAL
    assert image.obtain(THREE, platform()) is None


def test_a_distribution_is_packed_under_its_own_version(tmp_path: Path) -> None:
    tarball = tmp_path / f"yugabyte-{versions.DEFAULT}-linux-x86_64.tar.gz"
    tarball.write_text("a distribution")
    engine = platform()
    assert image.pack(tarball, ROOT, engine, lambda _: None) == PACKED
    assert engine.asked == [("build", PACKED, "Dockerfile", "yugabyte.tar.gz")]
    assert [file.name for file in tmp_path.iterdir()] == [tarball.name]


def test_a_distribution_for_another_architecture_is_refused(tmp_path: Path) -> None:
    """Its image would be one for the engine that holds programs for another."""
    tarball = tmp_path / f"yugabyte-{versions.DEFAULT}-linux-x86_64.tar.gz"
    tarball.write_text("a distribution")
    arm = on_arm()
    with pytest.raises(UsageError, match="built for amd64; the engine runs on arm64"):
        image.pack(tarball, ROOT, arm, lambda _: None)
    native = tmp_path / f"yugabyte-{versions.DEFAULT}-el8-aarch64.tar.gz"
    native.write_text("a distribution")
    assert image.pack(native, ROOT, arm, lambda _: None) == PACKED


def test_a_file_that_is_no_distribution_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "postgresql-17.2.tar.gz"
    other.write_text("")
    with pytest.raises(UsageError, match="not a distribution of YugabyteDB"):
        image.pack(other, ROOT, platform(), lambda _: None)


def test_a_data_set_may_be_loaded_before_every_run_instead() -> None:
    assert YugabyteDB().restores(THREE)
    assert not YugabyteDB().restores(replace(THREE, settings={"restore": "load"}))


# ------------------------------------------------------------------ documents


def test_every_line_of_the_checklist_is_documented() -> None:
    text = (ROOT / "docs" / "research" / "YUGABYTEDB.md").read_text()
    names = [fact.name for fact in checklist.lines()]
    assert names
    assert [name for name in names if f"| `{name}` |" not in text] == []


def test_settings_counters_and_releases_are_documented() -> None:
    pages = ("YUGABYTEDB.md", "research/YUGABYTEDB.md")
    text = "\n".join((ROOT / "docs" / page).read_text() for page in pages)
    names = (*settings.OWN, *counters.UNITS, *versions.PINNED)
    assert [name for name in names if f"`{name}`" not in text] == []


def test_readers_are_told_of_no_flag_that_is_not_passed() -> None:
    """The flags named in the document's chapter on starting are those of the golden files."""
    text = (ROOT / "docs" / "research" / "YUGABYTEDB.md").read_text()
    passed = (GOLDEN / versions.STUDY / "three.txt").read_text()
    for flag in (
        "ysql_num_shards_per_tserver=1",
        "enable_automatic_tablet_splitting=false",
    ):
        assert flag in text and flag in passed


def test_without_commits_a_durable_log_is_not_synced_and_any_other_never_was() -> None:
    durable = replace(THREE, settings={"durability": "durable"}, without="commit")
    chosen, mistakes = settings.read(durable)
    assert (
        flags.tserver_flags(durable, chosen)["durable_wal_write"] == "false"
        and not mistakes
    )
    _, (mistake,) = settings.read(replace(THREE, without="commit"))
    assert "no commit waits for a sync" in mistake.what
