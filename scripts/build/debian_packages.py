#!/usr/bin/env python3
"""Unpack Debian packages into a folder, without root; nothing is installed, /etc/apt and dpkg stay unchanged.

    scripts/build/debian_packages.py DIR aapt zipalign
    scripts/build/debian_packages.py DIR --source mesa
    scripts/build/debian_packages.py DIR --missing mosquitto      # and the libraries that this machine lacks

Mirror and keys come from this machine's own apt sources, unless DEBIAN_MIRROR names another mirror. apt checks each
package against the keys.

Needs a Debian system, and no Python package.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

RELEASES = {"bullseye", "bookworm", "trixie", "forky", "oldoldstable", "oldstable", "stable", "testing"}
"""Suites of Debian; a mirror without any of them is not a mirror of Debian."""

ALL_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""The keys of every release, from the package debian-archive-keyring."""

REACHING = ("Acquire::http", "Acquire::https", "Acquire::Check-Valid-Until", "Acquire::Check-Date", "Acquire::Retries")
"""Settings of the machine's apt needed to reach a mirror, such as a proxy and certificates."""


STATUS = Path("/var/lib/dpkg/status")
"""The packages of this machine."""


class PackageError(Exception):
    """The packages cannot be fetched; the message has the reason."""


@dataclass(frozen=True)
class Mirror:
    """A source of packages.

    Attributes:
        url: URL of the mirror.
        keys: value of apt's ``Signed-By``: keyrings, fingerprints or an entire key; empty if apt has none.
    """

    url: str
    keys: str = ""

    def entry(self, type_: str, suite: str) -> str:
        """Return the entry of a ``.sources`` file for one suite; ``kind`` is ``deb`` or ``deb-src``."""
        keys = self.keys
        # Keys of one release do not sign another, so all of Debian's keys are added if they are files.
        if ALL_KEYS.is_file() and str(ALL_KEYS) not in keys and "\n" not in keys:
            keys = f"{keys} {ALL_KEYS}".strip()
        signed = f"Signed-By: {keys}\n" if keys else ""
        # The index of an old release is not signed again after it expires.
        return f"Types: {type_}\nURIs: {self.url}\nSuites: {suite}\nComponents: main\nCheck-Valid-Until: no\n{signed}\n"


def own_release() -> str:
    """Return the Debian release of this machine, or an empty string for other systems."""
    try:
        release = Path("/etc/os-release").read_text("utf-8")
    except OSError:
        return ""
    name = re.search(r"^VERSION_CODENAME=\"?(\w+)", release, re.MULTILINE)
    return name[1] if name and name[1] in RELEASES else ""


def own_mirror(suite: str) -> Mirror:
    """Return a Debian mirror from this machine's apt sources, preferably one used for ``suite``.

    Raises:
        PackageError: the sources have no Debian mirror.
    """
    # Includes sources without lists: a fresh container was never updated.
    command = ["apt-get", "indextargets", "--no-release-info", "--format", "$(RELEASE) $(REPO_URI) $(SOURCESENTRY)"]
    targets = [line.split(" ", 2) for line in apt([*command, "Created-By: Packages"]).splitlines()]
    of_debian = [target for target in targets if target[0] in RELEASES]
    for _, url, source_line in sorted(of_debian, key=lambda target: target[0] != suite):
        return Mirror(url, keys_of(*source_line.rsplit(":", 1)))
    raise PackageError("apt's sources on this machine name no Debian mirror; set DEBIAN_MIRROR to the URL of one")


def mirror_of(suite: str) -> Mirror:
    """Return the mirror of ``DEBIAN_MIRROR``, else one from this machine's own apt sources.

    Raises:
        PackageError: neither exists.
    """
    url = os.environ.get("DEBIAN_MIRROR")
    return Mirror(url) if url else own_mirror(suite)


def keys_of(file: str, index: str) -> str:
    """Return the ``Signed-By`` value of an entry of apt's sources; empty if it has none.

    Args:
        file: path of a ``.sources`` file, or of a file with one entry a line.
        index: 1-based index of the entry: a paragraph of a ``.sources`` file, else a line.
    """
    text = Path(file).read_text("utf-8", errors="replace")
    if not file.endswith(".sources"):
        match = re.search(r"\[[^]]*signed-by=([^\s\]]+)", text.splitlines()[int(index) - 1])
        return match[1].replace(",", " ") if match else ""
    text = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    paragraph = re.split(r"\n(?:[ \t]*\n)+", text.strip())[int(index) - 1]
    match = re.search(r"^Signed-By:(.*(?:\n[ \t].*)*)", paragraph, re.MULTILINE | re.IGNORECASE)
    return match[1].strip(" \t") if match else ""


def fetch(
    folder: Path,
    packages: list[str],
    suite: str,
    *,
    architecture: str = "",
    needs: bool = False,
    missing: bool = False,
    source: bool = False,
    archives_only: bool = False,
) -> None:
    """Fetch packages and unpack them into ``folder``.

    Args:
        folder: destination, created if missing.
        packages: their names.
        suite: the release of the packages.
        architecture: architecture of the packages; empty for this machine's.
        needs: add all packages that these depend on.
        missing: add the dependencies that this machine lacks; ``suite`` must be its release.
        source: fetch source packages: ``folder`` gets a folder of each.
        archives_only: only the archives of source packages, which does not need ``dpkg-source``.

    Raises:
        PackageError: a mirror or a package does not exist, or is not signed.
    """
    mirror = mirror_of(suite)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".apt.", dir=folder) as apt_folder:
        home = Path(apt_folder).resolve()
        for name in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "var/lib/dpkg"):
            (home / name).mkdir(parents=True)
        archives = home / "var/cache/apt/archives"
        for lists in (archives, home / "var/lib/apt/lists"):
            (lists / "partial").mkdir(parents=True)
        installed = STATUS.read_bytes() if missing else b""  # an empty system lacks all
        (home / "var/lib/dpkg/status").write_bytes(installed)
        kind = "deb-src" if source else "deb"
        (home / "etc/apt/sources.list.d/debian.sources").write_text(mirror.entry(kind, suite))
        settings = home / "apt.conf"
        settings.write_text(apt(["apt-config", "dump", *REACHING]) + own_settings(home, suite, architecture))
        update(settings, mirror, suite)
        if source:
            only = ["--download-only"] if archives_only else []
            apt(["apt-get", "source", "-qq", *only, *packages], settings, folder.resolve())
            return
        if needs or missing:
            apt(["apt-get", "install", "-yqq", "--no-install-recommends", "--download-only", *packages], settings)
        else:
            apt(["apt-get", "download", "-qq", *packages], settings, archives)
        for package in sorted(archives.glob("*.deb")):
            unpack(package, folder)


def own_settings(home: Path, suite: str, architecture: str) -> str:
    """Return the settings of an apt with a separate system in ``home``."""
    trusted = "".join(  # for a mirror without keys in its entry
        f'Dir::Etc::{key} "{value}";\n' for key, value in settings_of("Trusted", "TrustedParts").items() if value
    )
    only = f'APT::Architecture "{architecture}";\nAPT::Architectures {{ "{architecture}"; }};\n' if architecture else ""
    return (
        f'Dir "{home}";\nDir::State::status "{home}/var/lib/dpkg/status";\n{trusted}{only}'
        f'APT::Sandbox::User "";\nAPT::Default-Release "{suite}";\n'
        'Acquire::Languages "none";\nAcquire::Retries "3";\n'
    )


def settings_of(*names: str) -> dict[str, str]:
    """Return the full paths of files of the machine's apt, by their names below ``Dir::Etc``."""
    shell = apt(["apt-config", "shell", *(word for name in names for word in (name, f"Dir::Etc::{name}/f"))])
    return dict(re.findall(r"^(\w+)='(.*)'$", shell, re.MULTILINE))


def update(settings: Path, mirror: Mirror, suite: str) -> None:
    """Fetch the lists of packages."""
    try:
        apt(["apt-get", "update", "-qq", "--error-on=any"], settings)
    except PackageError as error:
        advice = "set DEBIAN_MIRROR to the URL of a mirror that has it"
        raise PackageError(f"no package lists of {suite} from {mirror.url}; {advice}\n{error}") from None


def unpack(package: Path, folder: Path) -> None:
    """Unpack the files of a package into a folder, following existing symbolic links to folders."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as files:
        tar = ["tar", "-x", "-C", str(folder), "--keep-directory-symlink"]
        done = subprocess.run(tar, stdin=files.stdout, check=False)
    if done.returncode or files.returncode:
        raise PackageError(f"{package.name} cannot be unpacked into {folder}")


def apt(command: list[str], settings: Path | None = None, folder: Path | None = None) -> str:
    """Run a program of apt and return its standard output.

    Raises:
        PackageError: it fails; the message has its output.
    """
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **({"APT_CONFIG": str(settings)} if settings else {})}
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment, cwd=folder, check=False
    )
    if done.returncode:
        raise PackageError(f"{command[0]} {command[1]} failed:\n{(done.stdout + done.stderr).strip()}")
    return done.stdout


def main() -> int:
    """Return the exit code: 0, or 1 if the packages cannot be fetched."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files go")
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="name of a package")
    parser.add_argument("--suite", default="", metavar="NAME", help="a Debian release (default: bookworm)")
    parser.add_argument("--arch", default="", metavar="NAME", help="architecture (default: this machine's)")
    parser.add_argument("--needs", action="store_true", help="also fetch all packages that these need")
    parser.add_argument(
        "--missing",
        action="store_true",
        help="also fetch those of them that are not installed; from this machine's own release",
    )
    parser.add_argument("--source", action="store_true", help="fetch source packages")
    parser.add_argument("--archives-only", action="store_true", help="with --source: do not unpack them")
    args = parser.parse_args()
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("error: this is not a Debian system, so Debian's packages cannot be fetched here", file=sys.stderr)
        return 1
    suite = args.suite or (own_release() if args.missing else "") or "bookworm"
    kinds = {"needs": args.needs, "missing": args.missing, "source": args.source}
    kinds["archives_only"] = args.archives_only
    try:
        fetch(args.folder, args.packages, suite, architecture=args.arch, **kinds)
    except PackageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
