"""`make audit` finds what differs from what is pinned."""

from __future__ import annotations

from tests import ROOT, audit

LOCK = """
one==1.0 \\
    --hash=sha256:aa
two==2.0 ; sys_platform == 'win32' \\
    --hash=sha256:bb \\
    --hash=sha256:cc
three==3.0
"""


def test_a_package_of_another_version_and_one_without_a_checksum_are_named() -> None:
    versions = {"one": "1.1", "three": "3.0"}
    assert list(audit.differing_packages(LOCK, versions.get)) == [
        "three 3.0 is pinned without a checksum",
        "one 1.1 is installed, 1.0 is pinned: `make setup`",
    ]


def test_a_module_without_a_checksum_is_named() -> None:
    required = "require (\n\ta.example/b v1.0.0\n\tc.example/d v0.0.0 // indirect\n)\n"
    go_mod = f"module x\n\n{required}replace c.example/d => c.example/d v2.0.0\n"
    assert list(
        audit.modules_without_checksum(go_mod, "a.example/b v1.0.0 h1:x=\n")
    ) == ["c.example/d v2.0.0 has no checksum in go.sum"]


def test_all_that_is_pinned_has_a_checksum() -> None:
    assert list(audit.differences(ROOT, lambda _name: None)) == []
