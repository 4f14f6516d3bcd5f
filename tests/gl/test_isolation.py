"""Isolation: a child process draws a model first, and its crash, hang or memory use ends with a one-line error."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import needs
import parted
import pytest
import tiny
from command_line import run_python
from conformance_parts import sound_members
from conformance_zip import zipped
from pages import ROOT
from PIL import Image

from glsl_infer import errors
from glsl_infer.bundle import MANIFEST
from glsl_infer.cli import main
from glsl_infer.gl.context import Context
from glsl_infer.runtime import isolation
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A list of the jobs of started children; their verdicts are stored in a temporary folder."""
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(isolation.VARIABLE)
    jobs: list[str] = []

    def recorded(job: str, *limits: float) -> str:
        jobs.append(job)
        return run(job, *limits)

    run = isolation._watched
    monkeypatch.setattr(isolation, "_watched", recorded)
    return jobs


def replace_child_code(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Make children run ``code`` instead of drawing a model."""
    monkeypatch.setattr(isolation, "module_command", lambda *_: [sys.executable, "-c", code])


COMMANDS = {
    "classify": "classify picture.png --model tiny.glslnn --no-selfcheck",
    "run": "run tiny.glslnn picture.png -o out.npz --no-selfcheck",
    "camera": "camera --source . --model tiny.glslnn --frames 1 --no-selfcheck",
    "inspect": "inspect tiny.glslnn --layers picture.png --out layers",
    "benchmark": "benchmark tiny.glslnn --runs 1",
    "selfcheck": "selfcheck tiny.glslnn",
    "doctor": "doctor tiny.glslnn",
}
"""Commands that draw a file. ``report`` consists of others; for ``aibench`` and ``validate`` see their own tests."""


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_let_a_child_draw_a_file_first(
    command: str, children: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write_tiny(tmp_path)
    Image.new("RGB", (32, 32)).save(tmp_path / "picture.png")
    assert main(COMMANDS[command].split()) == 0
    assert len(children) == 1


def test_a_child_checks_a_model_once(context: Context, children: list[str], tmp_path: Path) -> None:
    path = tiny.write_tiny(tmp_path)
    for isolated, attempts in (("first", 1), ("first", 1), (True, 2), (False, 2)):
        Session(path, context=context, isolated=isolated).close()
        assert len(children) == attempts
    Session(tiny.write_tiny(tmp_path, "other.glslnn", "baked"), context=context, isolated="first").close()
    assert len(children) == 3


def test_a_model_in_memory_is_checked_by_a_child_process(context: Context, children: list[str]) -> None:
    with Session(tiny.tiny_bundle(), context=context, isolated=True, selfcheck=True) as session:
        assert session.bundle.path is None
    assert len(children) == 1


def test_a_command_checks_a_model_once(children: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tiny.write_tiny(tmp_path))
    assert main(["selfcheck", path]) == 0
    assert main(["selfcheck", path]) == 0
    assert len(children) == 1
    assert main(["selfcheck", path, "--isolated"]) == 0
    assert len(children) == 2
    assert "all" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "seconds", "memory", "failure"),
    [
        ("import os; os.kill(os.getpid(), 11)", 60.0, 1 << 30, r"crashed \(signal 11\)"),
        ("import sys; sys.exit(7)", 60.0, 1 << 30, r"failed \(exit code 7\)"),
        ("print('finished and more')", 60.0, 1 << 30, r"failed \(exit code 0\)"),
        ("import time; time.sleep(99)", 0.5, 1 << 30, "took more than 0 s for a layer"),
        ("while True: pass", 0.5, 1 << 30, "took more than 0 s for a layer"),
        ("while True: print('x' * 65535)", 60.0, 1 << 30, "printed more than 1 MiB"),
        ("more = bytearray(b'x' * (200 << 20)); import time; time.sleep(99)", 90.0, 64 << 20, "took more than 64 MiB"),
    ],
)
def test_a_crash_hang_or_excess_of_memory_ends_the_child(
    context: Context,
    children: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    code: str,
    seconds: float,
    memory: int,
    failure: str,
) -> None:
    path = tiny.write_tiny(tmp_path)
    replace_child_code(monkeypatch, code)
    monkeypatch.setattr(isolation, "SECONDS", seconds)
    monkeypatch.setattr(isolation, "SECONDS_A_MEGABYTE", 0.0)
    monkeypatch.setattr(isolation, "_memory", lambda _: memory)
    with pytest.raises(errors.RunError, match=rf"tiny.glslnn: the driver '.*' {failure}.* when it drew this model"):
        Session(path, context=context, isolated="first")
    assert len(children) == 1


@pytest.mark.exhaustive
def test_the_time_limit_is_per_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit is per layer: a child that needs more in total, but less for each layer, is not stopped."""
    code = f"""
import time
for layer in range(5):
    end = time.process_time() + 0.4
    while time.process_time() < end:
        pass
    print({isolation.LAYER!r}, end="", flush=True)
print("\\nfinished")
"""
    replace_child_code(monkeypatch, code)
    monkeypatch.setattr(isolation, "SECONDS", 1.0)
    monkeypatch.setattr(isolation, "IDLE", 0.0)  # a busy machine can leave the child without CPU time for a second
    assert isolation._watched("", 1 << 30, 0.0, 60.0) == ""
    assert isolation._watched("", 1 << 30, 0.0, 1.2) == "took more than 1 s for all layers"


def test_the_time_for_all_layers_grows_with_the_work() -> None:
    """More programs, longer loops and larger quads have more time, but never hours."""
    small = tiny.tiny_bundle()
    seconds = isolation._seconds_of_all_layers(small)
    assert 180.0 < seconds < 300.0
    passes = [replace(draw, quads=draw.quads * 1000) for draw in small.manifest.passes]
    assert (
        seconds
        < isolation._seconds_of_all_layers(replace(small, manifest=replace(small.manifest, passes=tuple(passes))))
        < 3600.0
    )
    wide = [replace(quad, width=8192, height=8192) for quad in small.manifest.passes[0].quads]
    passes = [replace(small.manifest.passes[0], quads=tuple(wide) * 1000)]
    assert (
        isolation._seconds_of_all_layers(replace(small, manifest=replace(small.manifest, passes=tuple(passes))))
        == 3600.0
    )


def test_a_child_cannot_read_home_write_files_or_start_programs(tmp_path: Path) -> None:
    """A driver under a shader's control can read no secrets, write no files and start no programs."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("secret")
    code = f"""
import glsl_infer.runtime.sandbox as sandbox
limits = sandbox.restrict()
import json, os, subprocess
def refused(work):
    try:
        work()
    except OSError:
        return True
    return False
attempts = dict(
    read_home=lambda: open(r"{home / "secret"}").read(),
    list_home=lambda: os.listdir(r"{home}"),
    write_file=lambda: open(r"{tmp_path / "planted"}", "w"),
    start_program=lambda: subprocess.run(["/bin/true"]),
    delete_file=lambda: os.unlink(r"{home / "secret"}"),
    read_parent=lambda: open(f"/proc/{{os.getppid()}}/environ").read(),
    write_parent=lambda: open(f"/proc/{{os.getppid()}}/oom_score_adj", "w").write("1000"),
    share_memory=lambda: open("/dev/shm/planted", "w"),
    open_terminal=lambda: os.open("/dev/ptmx", os.O_RDWR),
    list_terminals=lambda: os.listdir("/dev/pts"),
)
print(json.dumps([limits, {{name: refused(work) for name, work in attempts.items()}}]))
import PIL.Image, glsl_infer.runtime.session  # what Python needs is there
"""
    environment = {**os.environ, "HOME": str(home), "GLSL_INFER_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    limits, outcomes = json.loads(done.stdout)
    if ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) < 1:  # landlock_create_ruleset: its version
        pytest.skip("the kernel has no Landlock")
    assert "landlock" in limits
    assert len(outcomes) == 10
    assert [name for name, refused in outcomes.items() if not refused] == []
    assert (home / "secret").exists()
    assert not (tmp_path / "planted").exists()


def test_a_child_sees_no_secret_of_the_environment(
    context: Context, children: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    replace_child_code(monkeypatch, "import os, sys; sys.exit(5 if 'API_TOKEN' in os.environ else 6)")
    with pytest.raises(errors.RunError, match=r"failed \(exit code 6\)"):
        Session(tiny.write_tiny(tmp_path), context=context, isolated=True)
    assert len(children) == 1


def test_processes_of_a_child_end_with_it(
    context: Context, children: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Processes started by a child end together with the child, and cannot type into the terminal."""
    pid_file = tmp_path / "pid"
    code = f"""
import os, time
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError:
    if os.fork() == 0:
        os.close(1)  # else the child's output would go on
        open({str(pid_file)!r}, "w").write(str(os.getpid()))
        time.sleep(99)
    while not os.path.exists({str(pid_file)!r}):
        time.sleep(0.01)
    os.abort()
"""
    replace_child_code(monkeypatch, code)
    with pytest.raises(errors.RunError, match=r"crashed \(signal 6\)"):
        Session(tiny.write_tiny(tmp_path), context=context, isolated=True)
    state, deadline = Path(f"/proc/{pid_file.read_text()}/stat"), time.monotonic() + 60.0
    while state.exists() and state.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "the child's child is still running"
        time.sleep(0.01)


def test_seccomp_refuses_system_calls_that_no_driver_needs(tmp_path: Path) -> None:
    """seccomp refuses system calls that no driver needs, if libseccomp's bindings are installed.

    The bindings run a program to find their library, so they must be loaded before Landlock forbids programs.
    """
    needs.module("pyseccomp")
    code = """
import glsl_infer.runtime.sandbox as sandbox
limits = sandbox.restrict()
import ctypes, json, os, platform, resource, socket, sys, threading
path, clone = sys.argv[1], 56 if platform.machine() == "x86_64" else 220
libc = ctypes.CDLL(None, use_errno=True)
def refused(work):
    try:
        return work() == -1 and ctypes.get_errno() == 1
    except PermissionError as error:
        return error.errno == 1  # EPERM; Landlock's is EACCES
def raw(family):
    return lambda: socket.socket(family, socket.SOCK_RAW)
attempts = dict(
    raw_ipv4=raw(socket.AF_INET),
    raw_ipv6=raw(socket.AF_INET6),
    raw_netlink=raw(socket.AF_NETLINK),
    raw_packet=raw(socket.AF_PACKET),
    ptrace=lambda: libc.ptrace(0, 0, 0, 0),
    unshare=lambda: libc.unshare(1 << 28),
    execv=lambda: os.execv("/bin/true", ["true"]),
    unix_socket=lambda: socket.socket(socket.AF_UNIX),
    chmod=lambda: os.chmod("/tmp", 0o777),
    utime=lambda: os.utime("/tmp"),
    setpriority=lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 5),
    prlimit=lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE),
    chown=lambda: os.chown("/tmp", 0, 0),
    setxattr=lambda: os.setxattr("/tmp", "user.x", b"x"),
    kill=lambda: os.kill(os.getppid(), 0),
    setaffinity=lambda: os.sched_setaffinity(os.getppid(), {0}),
    setscheduler=lambda: os.sched_setscheduler(os.getppid(), os.SCHED_BATCH, os.sched_param(0)),
    truncate=lambda: os.truncate(path, 0),
    open_truncated=lambda: os.open(path, os.O_RDONLY | os.O_TRUNC),
    shmctl=lambda: libc.shmctl(0, 0, None),
    creat=lambda: libc.creat(path.encode(), 0o600),
    user_namespace=lambda: libc.syscall(clone, 1 << 28 | 17, 0, 0, 0, 0) or os._exit(9),  # 17 is SIGCHLD
)
print(json.dumps([limits, {name: refused(work) for name, work in attempts.items()}]))
os.kill(os.getpid(), 0)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
socket.socketpair()
threading.Thread(target=print).start()
from glsl_infer.gl.context import Context
Context().close()
"""
    existing_file = tmp_path / "existing"
    existing_file.write_text("content")
    done = run_python("-c", code, existing_file, folder=ROOT)
    assert done.returncode == 0, done.stderr
    limits, outcomes = json.loads(done.stdout)
    assert "seccomp" in limits
    assert len(outcomes) == 22
    assert [name for name, refused in outcomes.items() if not refused] == []
    assert existing_file.read_text() == "content"


def test_long_shaders_get_more_memory() -> None:
    extra = []
    for weights in ("texture", "baked"):
        bundle = tiny.tiny_bundle(weights)
        texels = sum(texture.width * texture.height for texture in bundle.manifest.textures)
        extra.append(isolation._memory(bundle) - (1 << 30) - 8 * 4 * texels)
        assert extra[-1] == 32 * isolation._shader_bytes(bundle)
    assert extra[0] < extra[1]


def test_a_file_changed_during_the_check_is_refused(
    context: Context, children: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tiny.write_tiny(tmp_path)
    run = isolation._watched

    def replaced(job: str, *limits: float) -> str:
        tiny.write_tiny(tmp_path, "other.glslnn", "baked").replace(path)
        return run(job, *limits)

    monkeypatch.setattr(isolation, "_watched", replaced)
    with pytest.raises(errors.RunError, match=r"failed \(exit code 3\)"):
        Session(path, context=context, isolated=True)
    assert len(children) == 1


def test_a_command_reports_a_crash_in_one_line(
    children: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_child_code(monkeypatch, "import os; os.abort()")
    assert main(["selfcheck", str(tiny.write_tiny(tmp_path))]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "crashed (signal 6) when it drew this model" in err
    assert len(children) == 1


def test_cpu_parts_are_checked_by_the_child_too(
    context: Context, children: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """CPU layers run in the child too: three tensors of 256 MB from a file of some kilobytes."""
    sound, path = sound_members(), tmp_path / "filling.glslnn"
    data = json.loads(sound[MANIFEST])
    parted.filling(data, 3)
    path.write_bytes(zipped({**sound, MANIFEST: json.dumps(data).encode()}))
    monkeypatch.setattr(isolation, "_memory", lambda _: 640 << 20)
    with pytest.raises(errors.RunError, match=r"filling.glslnn.* (took more than 640 MiB|failed|crashed)"):
        Session(path, context=context, isolated=True)
    assert len(children) == 1
