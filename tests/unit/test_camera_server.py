"""The camera's server and its messages reach only this machine, for any request and any model name."""

from __future__ import annotations

import contextlib
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pytest
from PIL import Image

from glsl_infer.tools.camera import mjpeg, mqtt

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[mjpeg.FrameServer]:
    """A server for all requests that it answers at once; to close one takes half a second."""
    with mjpeg.FrameServer(0) as server:
        yield server


def answered(server: mjpeg.FrameServer, path: str = "", **headers: str) -> tuple[int, bytes]:
    """Return the status and the content of an answer; each isolates the frames from pages of other sites."""
    request = urllib.request.Request(server.address + path, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        return answer.status, answer.read()


@pytest.mark.parametrize(("host", "code"), [("localhost", 200), ("LOCALHOST:8080", 200), ("[::1]:1", 200),
                                            ("evil.example", 403), ("evil.example:80", 403), ("", 403)])  # fmt: skip
def test_requests_with_a_foreign_host_name_are_refused(server: mjpeg.FrameServer, host: str, code: int) -> None:
    status, content = answered(server, Host=host)
    assert status == code
    assert (b"frames.mjpeg" in content) == (code == 200)


@pytest.mark.parametrize(
    ("site", "code"), [("none", 200), ("same-origin", 200), ("cross-site", 403), ("same-site", 403)]
)
def test_pages_of_other_sites_cannot_show_the_frames(server: mjpeg.FrameServer, site: str, code: int) -> None:
    assert answered(server, **{"Sec-Fetch-Site": site})[0] == code


@pytest.mark.parametrize("name", ["Origin", "Referer"])
@pytest.mark.parametrize(
    ("page", "code"),
    [
        ("http://localhost:{port}", 200),
        ("http://localhost:{port}/", 200),
        ("http://evil.example", 403),
        ("http://localhost:1/", 403),
        ("http://localhost:{port}.evil.example/", 403),
        ("http://user@localhost:{port}/", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_pages_are_identified_by_their_address(server: mjpeg.FrameServer, name: str, page: str, code: int) -> None:
    """Old browsers send no Sec-Fetch-Site, so the server checks the page's address in Origin and Referer."""
    headers = {"Host": f"localhost:{server.port}", name: page.format(port=server.port)}
    assert answered(server, **headers)[0] == code


@pytest.mark.parametrize("path", [mjpeg._STREAM[1:], "else"])
def test_pages_of_other_sites_get_no_address(server: mjpeg.FrameServer, path: str) -> None:
    assert answered(server, path, Origin="http://evil.example")[0] == 403


def test_silent_connections_do_not_add_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mjpeg, "_CONNECTIONS", 3)
    with mjpeg.FrameServer(0) as server, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60)) for _ in range(3)]
        for connection in silent:
            connection.sendall(b"GET / HT")
        more = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
        assert silent[0].recv(1) == b"", "the oldest is hung up on"
        for connection, request in ((more, b"GET / HTTP/1.0\r\n\r\n"), (silent[1], b"TP/1.0\r\n\r\n")):
            connection.sendall(request)
            assert connection.recv(12) == b"HTTP/1.0 200"


def connected(stack: contextlib.ExitStack, server: mjpeg.FrameServer, request: bytes) -> socket.socket:
    """Return a connection with a small receive buffer that has sent a request, or a part of one."""
    connection = stack.enter_context(socket.socket())
    connection.settimeout(300)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
    connection.connect((mjpeg.HOST, server.port))
    connection.sendall(request)
    return connection


def test_slow_connections_that_reconnect_do_not_block_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow clients that outnumber the connections, and reconnect as soon as they are dropped, do not block others."""
    monkeypatch.setattr(mjpeg, "_MOMENT", 300.0)
    monkeypatch.setattr(mjpeg, "_PATIENCE", 300.0)
    with mjpeg.FrameServer(0) as server, contextlib.ExitStack() as stack:
        slow = [connected(stack, server, b"G") for _ in range(40)]
        for dropped in slow[: 40 - mjpeg._CONNECTIONS]:
            assert dropped.recv(1) == b""
        slow = slow[40 - mjpeg._CONNECTIONS :]
        for _ in range(20):
            with urllib.request.urlopen(server.address, timeout=300) as answer:
                assert answer.status == 200
            assert slow.pop(0).recv(1) == b"", "the oldest is hung up on"
            slow.append(connected(stack, server, b"G"))


def test_readers_that_take_no_frame_keep_no_one_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new reader replaces the one that has not accepted its frame for longest, and no reader that accepts frames."""
    monkeypatch.setattr(mjpeg, "_PATIENCE", 300.0)
    monkeypatch.setattr(mjpeg._Handler, "timeout", 300.0)
    request = f"GET {mjpeg._STREAM} HTTP/1.0\r\n\r\n".encode()
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (900, 900, 3), np.uint8))  # more than the buffers
    with mjpeg.FrameServer(0) as server, contextlib.ExitStack() as stack:

        def wait_for(readers: dict[int, bool]) -> None:
            """Wait until these are the readers, by port, and exactly these have not accepted their frame."""
            now: dict[int, bool] = {}
            for _ in range(30_000):
                with server._changed:
                    now = {
                        connection.getpeername()[1]: since is not None for connection, since in server._readers.items()
                    }
                if now == readers:
                    return
                threading.Event().wait(0.01)
            raise AssertionError(f"{now}, not {readers}")

        server.show(noise)
        slow: list[int] = []
        for _ in range(mjpeg._MAX_CLIENTS):
            slow.append(connected(stack, server, request).getsockname()[1])
            wait_for(dict.fromkeys(slow, True))
        honest = stack.enter_context(socket.create_connection((mjpeg.HOST, server.port), 300))
        honest.sendall(request)
        stream, port = stack.enter_context(honest.makefile("rb")), honest.getsockname()[1]
        for _ in range(40):
            assert _frame_of(stream) > 500_000
            slow.append(connected(stack, server, request).getsockname()[1])
            wait_for({**dict.fromkeys(slow[1 - mjpeg._MAX_CLIENTS :], True), port: False})
            server.show(noise)


def _frame_of(stream: BinaryIO) -> int:
    """Read a frame; return its length."""
    while not (line := stream.readline()).startswith(b"Content-Length:"):
        assert line, "the stream has ended"
    length = int(line.split()[1])
    stream.readline()
    assert len(stream.read(length)) == length
    return length


def test_slow_requests_do_not_block_a_connection(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A client that sends an endless request byte by byte (slow loris) does not keep its connection."""
    monkeypatch.setattr(mjpeg, "_PATIENCE", 0.1)
    monkeypatch.setattr(mjpeg._Handler, "timeout", None)  # no read times out
    monkeypatch.setattr(mjpeg, "_CONNECTIONS", 2)
    with mjpeg.FrameServer(0) as server, contextlib.ExitStack() as stack:
        dripping = [stack.enter_context(socket.create_connection((mjpeg.HOST, server.port), 300)) for _ in range(2)]
        for connection in dripping:
            connection.sendall(b"G")
        for connection in dripping:
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        monkeypatch.setattr(mjpeg, "_PATIENCE", 300.0)
        code = 0
        while code != 200:  # the server's threads end shortly after their connections
            with contextlib.suppress(OSError):
                code = urllib.request.urlopen(server.address, timeout=300).status
    assert "Traceback" not in capsys.readouterr().err


def test_labels_are_escaped_in_topics() -> None:
    assert mqtt.topic_of("cam", "a/b#c+\0\n") == "cam/a_b_c___"
    assert mqtt.topic_of("cam", "\u202e\x1b\x9b\ud800") == "cam/____"
    assert mqtt.topic_of("cam", "status") == "cam/status_"
    assert mqtt.topic_of("cam", "") == "cam/_"
    assert len(mqtt.topic_of("cam", "x" * 70_000)) == 204
