"""scripts/build/debian_packages.py: mirror and keys from the machine's apt sources, and its messages."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import debian_packages
import pytest
from debian_packages import ALL_KEYS, Mirror

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="not a Debian system")

ELSEWHERE = "deb https://packages.example.org/apt tools-bookworm main\n"
KEY = "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEYCQjIxYJKwYBBAHaRw8BAQdA\n -----END PGP PUBLIC KEY BLOCK-----"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the sources folder of an isolated apt."""
    folder = tmp_path / "etc/apt/sources.list.d"
    folder.mkdir(parents=True)
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").touch()
    (tmp_path / "apt.conf").write_text(
        f'Dir "{tmp_path}";\nDir::State::status "{tmp_path}/var/lib/dpkg/status";\nAPT::Architecture "amd64";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    monkeypatch.delenv("DEBIAN_MIRROR", raising=False)
    return folder


def stanza(url: str, suites: str, signed: str = "") -> str:
    keys = f"Signed-By:{signed}\n" if signed else ""
    return f"# of this machine\nTypes: deb\nURIs: {url}\n# no other\nSuites: {suites}\nComponents: main\n{keys}"


def test_the_first_mirror_of_debian_with_its_keys(sources: Path) -> None:
    (sources / "a.list").write_text(ELSEWHERE)
    (sources / "b.list").write_text(
        "# main\n\ndeb [arch=amd64 signed-by=/a.gpg,/b.gpg] http://one.example.org/debian bookworm main\n"
    )
    (sources / "c.list").write_text("deb http://two.example.org/debian bookworm main\n")
    assert debian_packages.own_mirror("bookworm") == Mirror("http://one.example.org/debian/", "/a.gpg /b.gpg")


def test_a_mirror_with_the_suite_comes_first(sources: Path) -> None:
    new = stanza("http://one.example.org/debian", "trixie trixie-updates", " /a.gpg")
    old = stanza("http://two.example.org/debian", "bullseye")
    (sources / "debian.sources").write_text(f"{new}\n{old}")
    assert debian_packages.own_mirror("bullseye") == Mirror("http://two.example.org/debian/")
    assert debian_packages.own_mirror("bookworm") == Mirror("http://one.example.org/debian/", "/a.gpg")


def test_inline_keys_of_sources_are_passed_on(sources: Path) -> None:
    (sources / "debian.sources").write_text(
        f"{stanza('https://packages.example.org/apt', 'nodistro')}\n{stanza('http://one.example.org', 'bookworm', KEY)}"
    )
    mirror = debian_packages.own_mirror("bookworm")
    assert mirror == Mirror("http://one.example.org/", KEY)
    assert f"Signed-By: {KEY}\n" in mirror.entry("deb", "bookworm")


def test_keys_of_other_releases_are_accepted() -> None:
    if not ALL_KEYS.is_file():
        pytest.skip("debian-archive-keyring is not installed")
    assert f"Signed-By: /a.gpg {ALL_KEYS}\n" in Mirror("http://one.example.org", "/a.gpg").entry("deb", "bullseye")
    assert f"Signed-By: {ALL_KEYS}\n" in Mirror("http://one.example.org", str(ALL_KEYS)).entry("deb", "bullseye")


def test_the_mirror_of_the_environment(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBIAN_MIRROR", "http://one.example.org")
    assert debian_packages.mirror_of("bookworm") == Mirror("http://one.example.org")


def test_no_mirror_of_debian(sources: Path, tmp_path: Path) -> None:
    (sources / "a.list").write_text(ELSEWHERE)
    message = command(tmp_path / "to", "zipalign")
    assert (
        message == "error: apt's sources on this machine name no Debian mirror; set DEBIAN_MIRROR to the URL of one\n"
    )


def test_a_mirror_that_is_not_there(sources: Path, tmp_path: Path) -> None:
    (sources / "a.list").write_text(f"deb file://{tmp_path}/gone bookworm main\n")
    message = command(tmp_path / "to", "--suite", "bookworm", "zipalign")
    url = f"file:{tmp_path}/gone/"
    assert message.startswith(
        f"error: no package lists of bookworm from {url}; set DEBIAN_MIRROR to the URL of a mirror that has it\n"
    )
    assert list((tmp_path / "to").iterdir()) == []


def command(folder: Path, *arguments: str) -> str:
    """Return the error message of the command."""
    done = subprocess.run(
        [str(Path(debian_packages.__file__)), str(folder), *arguments],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr
