"""Restrictions of a child process that runs untrusted shaders, by the kernel's Landlock and seccomp if available.

Landlock (since Linux 5.13; no library) restricts files and TCP. The child can read files outside of homes, and in homes
only those that Python and drivers need. It can write only to its own entries in /proc and to devices that drivers use.
It cannot read the entries of other processes in /proc, execute programs, or open TCP connections.

seccomp (if pyseccomp, libseccomp's Python bindings, is installed) refuses system calls that drivers never need. The
child cannot open sockets, send signals to other processes, create user namespaces, change the mode, owner, times,
length or attributes of files, or change the limits, priority or processors of other processes.

With Landlock alone, the child can still change the mode of this user's files, end this user's processes, connect to
sockets of local services and, before Linux 6.2, empty files.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # numbers of Landlock's system calls
_VERSION = 1
"""Flag of the first call to return Landlock's version."""
_PATH_BENEATH = 1
"""Type of a rule for a path and everything below it."""
_EXECUTE, _WRITE, _READ, _READ_FOLDER, _TRUNCATE, _REFER, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 13, 1 << 15
_CHANGES = 0x1FF0
"""Rights to remove and create files, folders, links, sockets and devices: bits 4 to 12."""
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
"""Rights in a rule for a single file."""
_TCP, _ABSTRACT_SOCKETS, _SIGNALS = 3, 1, 2  # TCP: to bind and to connect

_REFUSED = (
    *("execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "mount", "umount2"),
    *("pivot_root", "chroot", "unshare", "setns", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "keyctl"),
    *("add_key", "request_key", "init_module", "finit_module", "delete_module", "kexec_load", "open_by_handle_at"),
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat", "setpriority", "socket", "connect", "bind"),
    *("ioprio_set", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill", "pidfd_send_signal", "mq_open", "msgget"),
    *("semget", "shmget", "shmat", "reboot", "swapon", "swapoff", "sethostname", "setdomainname", "settimeofday"),
    *("clock_settime", "adjtimex", "clock_adjtime", "acct", "quotactl", "syslog", "fanotify_init", "creat"),
    *("truncate", "truncate64", "mq_unlink", "shmctl", "semctl", "msgctl", "msgsnd", "msgrcv", "semop", "semtimedop"),
)
"""System calls to refuse with any arguments."""
_OF_OTHERS = ("prlimit64", "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity")
"""System calls to refuse for other processes. Their first argument is a process, or 0 for the caller."""
_WITH_STRUCTURES = ("openat2", "clone3")
"""System calls to report as missing: their flags are in memory, which a filter cannot read. The C library then
calls the older ones."""
_FLAGS = (("open", 1, os.O_TRUNC), ("openat", 2, os.O_TRUNC), ("clone", 0, 1 << 28))  # CLONE_NEWUSER
"""Flags to refuse: system call, index of its argument, flag. Before Linux 6.2, Landlock does not refuse to truncate."""
_DEVICES = (
    *("null", "zero", "full", "random", "urandom", "dri", "dma_heap", "udmabuf", "dxg", "nvidia*", "mali*", "kgsl*"),
    *("pvr*", "galcore", "vchiq", "vcio", "vcsm-cma"),
)
"""Devices that Python and drivers of GPUs open, in /dev."""
_LIBRARIES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LIBGL_DRIVERS_PATH", "GBM_BACKENDS_PATH", "PYTHONPATH", "XAUTHORITY")
"""Environment variables with paths that a driver may load from, possibly in a home."""


def restrict() -> list[str]:
    """Restrict this process permanently; return the active mechanisms: ``landlock``, ``seccomp``, both or neither."""
    if not sys.platform.startswith("linux"):
        return []
    # seccomp first: its bindings start programs to find their library, and Landlock refuses to execute them.
    return [name for name, work in (("seccomp", _seccomp), ("landlock", _landlock)) if work()]


def _landlock() -> bool:
    """Restrict files and TCP; return whether the kernel supports Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return False
    changes = _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled = _EXECUTE | _WRITE | _READ | _READ_FOLDER | changes | (_IOCTL if version >= 5 else 0)
    attributes = struct.pack("<3Q", handled, _TCP, _ABSTRACT_SOCKETS | _SIGNALS)
    attributes = attributes[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if rules < 0:
        return False
    try:
        for paths, rights in ((_readable(), _READ | _READ_FOLDER), (_writable(), handled & ~_EXECUTE)):
            for path in paths:
                _allow(libc, rules, path, rights)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        return bool(libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    """Grant rights below a path, if it exists."""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = struct.pack("<Qi", rights if path.is_dir() else rights & _OF_FILES, opened)
            libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
        finally:
            os.close(opened)


def _readable() -> Iterable[Path]:
    """Yield the readable paths: all outside of homes, processes and devices, and files that Python and drivers load."""
    home = _home()
    homes = {Path(top) for top in ("/home", "/root")} | ({home} if home is not None else set())
    with contextlib.suppress(OSError):
        yield from _without(Path("/"), {home for home in homes if home != Path("/")} | {Path("/dev"), Path("/proc")})
        yield from (path for path in Path("/proc").iterdir() if not path.name.isdigit() and not path.is_symlink())
    yield from (Path(path) for path in (*sys.path, sys.prefix, sys.base_prefix, sys.executable) if path)
    yield Path(__file__).resolve().parents[2]
    for name in _LIBRARIES:
        yield from (Path(path) for path in os.environ.get(name, "").split(os.pathsep) if path.startswith("/"))
    yield from (home / name for name in (".drirc", ".Xauthority") if home is not None)


def _without(folder: Path, excluded: set[Path]) -> Iterable[Path]:
    """Yield paths that together contain everything in a folder except the excluded paths and links."""
    for path in folder.iterdir():
        if path in excluded or path.is_symlink():
            continue  # the target of a link is allowed under its own path, or not at all
        if any(path in other.parents for other in excluded):
            yield from _without(path, excluded)
        else:
            yield path


def _writable() -> Iterable[Path]:
    """Yield the writable paths. The parent writes the caches of drivers and of compiled programs."""
    yield Path("/proc/self")
    for pattern in _DEVICES:
        yield from Path("/dev").glob(pattern)


def _home() -> Path | None:
    """Return this user's home, or None."""
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None


def _seccomp() -> bool:
    """Refuse system calls that drivers never need; return whether a library for this is installed."""
    for name in ("seccomp", "pyseccomp"):
        with contextlib.suppress(Exception):
            library = importlib.import_module(name)
            rules = library.SyscallFilter(library.ALLOW)
            for call in _REFUSED:
                with contextlib.suppress(Exception):  # system calls differ between architectures
                    rules.add_rule(library.ERRNO(errno.EPERM), call)
            own_pid = os.getpid()
            for call, allowed_pid in (*((call, 0) for call in _OF_OTHERS), ("kill", own_pid), ("tgkill", own_pid)):
                rules.add_rule(library.ERRNO(errno.EPERM), call, library.Arg(0, library.NE, allowed_pid))
            for call in _WITH_STRUCTURES:
                with contextlib.suppress(Exception):
                    rules.add_rule(library.ERRNO(errno.ENOSYS), call)
            for call, argument, flag in _FLAGS:
                with contextlib.suppress(Exception):
                    rules.add_rule(
                        library.ERRNO(errno.EPERM), call, library.Arg(argument, library.MASKED_EQ, flag, flag)
                    )
            rules.load()
            return True
    return False
