"""A Debian system in a folder, and commands that run there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ENTER = """
mount --make-rprivate /
mount -t proc proc "$ROOT/proc"
mount --rbind /sys "$ROOT/sys"
mount --rbind /dev "$ROOT/dev"
mount -t tmpfs tmpfs "$ROOT/dev/shm"
mount -t tmpfs tmpfs "$ROOT/run"
for place in $SHARED; do
    mkdir -p "$ROOT$place"
    mount --rbind "$place" "$ROOT$place"
done
exec chroot "$ROOT" "$@"
"""
"""Mounts for one command, in its own mount namespace: they end with the command and never reach this machine."""

HANDED_ON = re.compile(r"(?i)(https?_proxy|no_proxy|all_proxy|pip_.*|npm_config_.*|node_extra_ca_certs|ssl_cert_file|"
                       r"requests_ca_bundle|curl_ca_bundle|debian_frontend|ci|debian_(?:old_)?mirror)")  # fmt: skip
"""Environment variables of this machine that are also set in the root."""

SETTINGS = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/npmrc", "/usr/etc/npmrc")
"""Files of this machine to copy into the root."""

HOME_SETTINGS = (".config/pip", ".pip", ".npmrc")
"""The same in the home folder."""

CERTIFICATES = Path("/usr/local/share/ca-certificates")


class StepError(Exception):
    """A command in a root failed."""


class Root:
    """A system in a folder.

    Args:
        path: path of the folder.
        work: working directory of commands, in the system.
        user: user of commands; ``root`` or a user with sudo.
    """

    def __init__(self, path: Path, *, work: str = "/", user: str = "root") -> None:
        self.path, self.work, self.user = path, work, user

    @property
    def unfinished(self) -> Path:
        """The folder while the system is being built."""
        return self.path.with_name(f"{self.path.name}.new")

    @property
    def home(self) -> str:
        """The home folder of the user."""
        return "/root" if self.user == "root" else f"/home/{self.user}"

    def is_current(self, key: str) -> bool:
        """Return whether the system was built for ``key``."""
        mark = self.path / "made-by"
        return mark.is_file() and mark.read_text() == key

    def remove(self) -> None:
        """Delete the system, finished or not."""
        for folder in (self.path, self.unfinished):
            if folder.exists():
                subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=True)

    def build(self, base: Path) -> None:
        """Copy another system to begin with."""
        print(f"building {self.path}", flush=True)
        self.remove()
        subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(self.path)], check=True)
        (self.path / "made-by").unlink()

    def finish(self, key: str) -> None:
        """Mark the system as complete."""
        (self.path / "made-by").write_text(key)

    def settle(self) -> None:
        """Copy this machine's settings of certificates, names, pip and npm into a new system, and rename its folder."""
        new = self.unfinished
        for name in SETTINGS:
            if Path(name).is_file():
                (new / name.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
                (new / name.lstrip("/")).unlink(missing_ok=True)  # can be a link to a file of a service
                shutil.copyfile(name, new / name.lstrip("/"))
        for skeleton in ("root", "etc/skel"):  # for root, and for every user added later
            for name in HOME_SETTINGS:
                source = Path.home() / name
                if source.is_dir():
                    shutil.copytree(source, new / skeleton / name, dirs_exist_ok=True)
                elif source.is_file():
                    shutil.copyfile(source, new / skeleton / name)
        (new / "etc/apt/apt.conf.d/90assume-yes").write_text('APT::Get::Assume-Yes "true";\n')
        shutil.rmtree(self.path, ignore_errors=True)
        new.rename(self.path)
        if CERTIFICATES.is_dir():
            shutil.copytree(CERTIFICATES, self.path / str(CERTIFICATES).lstrip("/"), dirs_exist_ok=True)
            self.run("update-ca-certificates >/dev/null 2>&1", show=False)

    def run(self, script: str, *, capture: bool = False, show: bool = True, **variables: str) -> str:
        """Run a shell script, which ends at the first command that fails; return its output if ``capture``.

        Raises:
            StepError: it fails.
        """
        if show:
            print(f"$ {script}" if "\n" not in script else script.rstrip(), flush=True)
        inside = {name: value for name, value in os.environ.items() if HANDED_ON.fullmatch(name)}
        inside |= {
            "HOME": self.home, "USER": self.user, "LOGNAME": self.user, "LANG": "C.UTF-8", "TERM": "dumb",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **variables,
        }  # fmt: skip
        words = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in inside.items())]
        words += [] if self.user == "root" else ["runuser", "--user", self.user, "--"]
        words += ["sh", "-euc", f"cd {shlex.quote(self.work)}\n{script}"]
        outside = {
            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
            "ROOT": str(self.path),
            "SHARED": " ".join(folders()),
        }
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", ENTER, "sh", *words],
            env=outside, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if capture else None, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise StepError(f"exit status {done.returncode} of: {script.strip()}")
        return done.stdout or ""

    def own(self, folder: Path) -> None:
        """Give a folder in the home folder of the user to the user."""
        if self.user != "root":
            Root(self.path).run(
                f"chown -R {self.user}: {shlex.quote('/' + str(folder.relative_to(self.path)))}", show=False
            )


def folders() -> list[str]:
    """Return the folders of this machine named in pip's settings: local indexes and wheels."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    settings = [listed.stdout, *(value for name, value in os.environ.items() if name.startswith("PIP_"))]
    named = {Path(name) for text in settings for name in re.findall(r"(?:file://|(?<![\w:/.]))(/[^\s'\",:\\]+)", text)}
    mounted = ("/usr", "/etc", "/dev", "/proc", "/sys", "/tmp", "/run")
    # The pages of an index link to files in its parent folder.
    folders = {path.parent if path.name == "simple" else path for path in named if path.is_dir()}
    return sorted(str(path) for path in folders if not str(path).startswith(mounted))
