"""What goes into a ticket: one section, drawn on the page, as Markdown and as plain text."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from orchestrator import report
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.model import Objective
from orchestrator.report.sections import decisions
from orchestrator.tier import NodeDisks, Price, RealDisks
from tests.campaigns import build_campaign
from tests.judged import judged_index

LOADS = ["insert", "tpcc"]


@pytest.fixture(name="campaign", scope="module")
def ticketed_campaign() -> Results:
    made = build_campaign(workloads=LOADS, noise_pct=0.3)
    return replace(made, checksum="0f" * 32)


def as_markdown(campaign: Results) -> str:
    return report.for_the_ticket(campaign, judge(campaign))


def ticket(campaign: Results) -> str:
    """Its text without the marks of Markdown."""
    text = as_markdown(campaign).replace("**", "").replace("\\", "")
    text = re.sub(r"^(#+|-) ", "", text, flags=re.M)
    text = re.sub(r"^```.*\n", "", text, flags=re.M)
    return re.sub(r"\n\n+", "\n", text)


def line(text: str, lead: str) -> str:
    (found,) = [one for one in text.splitlines() if one.startswith(f"{lead}: ")]
    return found.removeprefix(f"{lead}: ")


@pytest.mark.parametrize(
    ("lead", "words"),
    [
        ("Tier", "ultra (Ultra Disk, 10,000 IOPS, 250 MB/s)"),
        ("Count", "3 disks, for 3 nodes"),
        (
            "Price",
            "780.00 USD a month for the disks of your 3 nodes. At list price (westus2, as of "
            "2026-01-01; example price list)",
        ),
        ("Result", "Conclusive. 2 of 2 workloads have an answer; "),
        (
            "Workloads",
            "insert (24 threads, windows of 60 s) and tpcc (24 threads, windows of 60 s)",
        ),
        (
            "Reason",
            "ultra is the cheapest tier proven enough for both workloads together: ",
        ),
        (
            "insert, premium",
            "premium is the cheapest tier proven within 5 % of the best",
        ),
        ("Emulated disks", "The disks of premium, premium-v2, ultra are emulated"),
    ],
)
def test_it_says_what_to_buy_and_what_that_rests_on(
    campaign: Results, lead: str, words: str
) -> None:
    assert line(ticket(campaign), lead).startswith(words)


def test_a_load_that_ends_with_its_work_has_no_window_of_its_deadline() -> None:
    """`measure` is then the most that it may take, and no run was measured for that long."""
    made = build_campaign(workloads=["insert"])
    plan = made.plan
    (load,) = plan.workloads
    scanned = replace(load, script="bulk/scan.lua", measure_s=600.0)
    text = ticket(replace(made, plan=replace(plan, workloads=(scanned,))))
    words = "insert (24 threads, measured until its work is done, at most 10 min)"
    assert line(text, "Workloads") == words
    assert "windows of" not in text


def test_it_says_how_to_check_the_campaign(campaign: Results) -> None:
    command, _, checksum = ticket(campaign).partition(
        "\nSHA-256 of the campaign, in its folder\n"
    )
    assert command.splitlines()[-2:] == [
        "Command",
        "tierbench compare --profiles 'premium premium-v2 ultra' --workloads 'insert tpcc'",
    ]
    how = "cat plan.json fingerprint.json runs/*/record.json | sha256sum"
    assert checksum.splitlines() == ["0f" * 32, how]


def test_it_says_what_limits_the_tier_that_is_named(campaign: Results) -> None:
    limits = {
        one.workload: one.text
        for one in judge(campaign).bottlenecks
        if one.profile == "ultra"
    }
    text = ticket(campaign).split("What limits it\n")[1]
    assert {load: line(text, load) for load in LOADS} == limits


def test_each_tier_stands_in_a_table_with_price_and_standing(campaign: Results) -> None:
    rows = [
        one.strip("| ").split(" | ")
        for one in ticket(campaign).splitlines()
        if one.startswith("|") and "USD" in one
    ]
    assert rows == [
        ["premium", "103.68 USD", "enough", "not enough", "not enough"],
        ["premium-v2", "255.00 USD", "enough", "not enough", "not enough"],
        ["ultra", "780.00 USD", "enough", "enough", "enough"],
    ]


@pytest.mark.parametrize(
    ("logs", "count"),
    [
        (None, "6 disks, for 3 nodes"),
        ("a log's disk", "3 disks, and 3 of a log's disk for the WAL, for 3 nodes"),
    ],
)
def test_the_disks_of_the_wal_are_counted_too(logs: str | None, count: str) -> None:
    made = build_campaign(workloads=["insert"], noise_pct=0.3)
    places = {f"node-{n}": NodeDisks(f"/mnt/{n}", f"/mnt/wal-{n}") for n in (1, 2, 3)}
    profiles = []
    for profile in made.plan.profiles:
        tier = replace(profile.tier, disk=RealDisks(disks=places))
        wal = replace(tier, title=logs) if logs else None
        profiles.append(replace(profile, tier=replace(tier, wal=wal)))
    plan = replace(made.plan, profiles=tuple(profiles))
    assert line(ticket(replace(made, plan=plan)), "Count") == count


def on_machines(monthly: dict[str, float]) -> Results:
    """Tiers on machines of a kind for each price."""
    made = build_campaign(workloads=LOADS, noise_pct=0.3)
    profiles = []
    for profile in made.plan.profiles:
        price = Price(
            monthly[profile.name], "USD", "westus2", "2026-02-01", "list of machines"
        )
        vm = f"azure/D{price.monthly:.0f}"
        cluster = replace(profile.cluster, vm=vm, vm_price=price)
        profiles.append(replace(profile, cluster=cluster))
    return replace(made, plan=replace(made.plan, profiles=tuple(profiles)))


def test_machines_of_one_kind_have_their_price_beside_that_of_the_disks() -> None:
    text = ticket(on_machines({"premium": 280.0, "premium-v2": 280.0, "ultra": 280.0}))
    assert line(text, "Price").startswith(
        "780.00 USD a month for the disks of your 3 nodes. At list price"
    )
    assert line(text, "Machines") == (
        "beside it 840.00 USD a month (westus2, as of 2026-02-01; list of machines)"
    )


def test_the_answer_is_the_cheapest_disk_and_machine_together() -> None:
    """For the inserts premium's disks would be the cheapest, by 50 each, and are not with their
    machines, which cost 300 more each."""
    made = on_machines({"premium": 580.0, "premium-v2": 280.0, "ultra": 280.0})
    (insert, _) = judge(made).decisions
    assert (insert.tier, insert.with_vms, insert.monthly_cost) == (
        "premium-v2",
        True,
        1095.0,
    )
    text = ticket(made)
    assert line(text, "Price").startswith(
        "1,620.00 USD a month for the disks and machines of your 3 nodes. At"
    )
    assert line(text, "Machines").startswith("in it 840.00 USD a month (westus2")
    remark = decisions.table(judged_index(made), insert).remarks[-1]
    assert remark == (
        "List prices of the disks and machines of 3 nodes: premium-v2, ultra and premium "
        "(westus2, as of 2026-01-01; example price list); azure/D280 and azure/D580 (westus2, "
        "as of 2026-02-01; list of machines)."
    )


def test_who_is_faster_is_said_in_a_line_for_each_workload(campaign: Results) -> None:
    """As the comparisons were judged: those of inserts are the same."""
    lines = ticket(campaign).split("Which is faster\n")[1].splitlines()[:2]
    assert lines[0] == (
        "insert: premium and premium-v2 are as fast as each other; premium and ultra are as fast "
        "as each other"
    )
    assert re.fullmatch(
        r"tpcc: premium-v2 was 1\.\d\d times as fast as premium \(1\.\d\d to 1\.\d\d\); "
        r"ultra was 1\.\d\d times as fast as premium \(1\.\d\d to 1\.\d\d\)",
        lines[1],
    )


def test_an_slo_is_named() -> None:
    made = build_campaign(workloads=["tpcc"], frames=False)
    clause = Objective("nopm", "all", 9000.0)
    (load,) = made.plan.workloads
    plan = replace(made.plan, workloads=(replace(load, slo=(clause,)),))
    assert line(ticket(replace(made, plan=plan)), "SLO") == "nopm > 9000"


def test_without_an_answer_it_names_no_tier_and_says_why() -> None:
    text = ticket(build_campaign(workloads=["insert"], repetitions=1, frames=False))
    assert text.startswith("For the ticket: No tier to buy yet for insert\nWhy: ")
    assert "\nReason: One repetition of " in text
    assert "\nTier: " not in text and "What limits it" not in text


def test_one_profile_has_nothing_to_buy() -> None:
    text = ticket(
        build_campaign(profiles=["ultra"], workloads=["insert"], frames=False)
    )
    assert text.startswith("For the ticket: ultra did ")


def test_markdown_has_headings_lists_and_a_table_and_no_html(campaign: Results) -> None:
    text = as_markdown(campaign)
    assert text.startswith(
        "## For the ticket: Buy ultra (Ultra Disk, 10,000 IOPS, 250 MB/s): "
        "780.00 USD a month for the disks"
    )
    assert "\n- **Tier**: ultra (Ultra Disk" in text
    assert "| --- | ---: | --- | --- | --- |\n| premium | 103.68" in text
    assert re.findall(r"(?<!\\)<", text) == []
    assert text.count("```") == 4  # the command, and that of the checksum


def test_the_pages_button_copies_the_same_markdown(
    campaign: Results, tmp_path: Path
) -> None:
    page = concluding.write_report(campaign, judge(campaign), tmp_path).html.read_text(
        encoding="utf-8"
    )
    (copied,) = re.findall(r' data-copy="([^"]*)"', page)
    assert unescape(copied) == as_markdown(campaign)
    assert page.count('class="ticket"') == 1


def test_the_checksum_is_left_out_where_no_files_are() -> None:
    assert "SHA-256" not in ticket(build_campaign(workloads=["insert"], frames=False))
