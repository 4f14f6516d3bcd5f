"""The camera's server and its messages reach only this machine, for any request and any model name."""

from __future__ import annotations

import contextlib
import socket
import threading
import urllib.error
import urllib.request

import pytest

from glsl_infer.tools.camera import mjpeg, mqtt


@pytest.mark.parametrize(("host", "code"), [("localhost", 200), ("LOCALHOST:8080", 200), ("[::1]:1", 200),
                                            ("evil.example", 403), ("evil.example:80", 403), ("", 403)])  # fmt: skip
def test_a_page_whose_name_leads_here_sees_nothing(host: str, code: int) -> None:
    with mjpeg.FrameServer(0) as server:
        request = urllib.request.Request(server.address, headers={"Host": host})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert (answer.status, code) == (200, 200)
                assert b"frames.mjpeg" in answer.read()
        except urllib.error.HTTPError as error:
            with error:
                assert error.code == code
                assert b"frames.mjpeg" not in error.read()


@pytest.mark.parametrize(
    ("site", "code"), [("none", 200), ("same-origin", 200), ("cross-site", 403), ("same-site", 403)]
)
def test_a_page_elsewhere_cannot_show_the_frames(site: str, code: int) -> None:
    """The server refuses requests from other sites by Sec-Fetch-Site, and its headers isolate the frames."""
    with mjpeg.FrameServer(0) as server:
        request = urllib.request.Request(server.address, headers={"Sec-Fetch-Site": site})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert (answer.status, code) == (200, 200)
                assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
                assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        except urllib.error.HTTPError as error:
            with error:
                assert error.code == code


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
def test_a_page_elsewhere_is_known_by_its_address(name: str, page: str, code: int) -> None:
    """Old browsers send no Sec-Fetch-Site, so the server checks the page's address in Origin and Referer."""
    with mjpeg.FrameServer(0) as server:
        headers = {"Host": f"localhost:{server.port}", name: page.format(port=server.port)}
        request = urllib.request.Request(server.address, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert (answer.status, code) == (200, 200)
        except urllib.error.HTTPError as error:
            with error:
                assert error.code == code


def test_connections_that_say_nothing_take_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mjpeg, "_CONNECTIONS", 3)
    with mjpeg.FrameServer(0) as server, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60)) for _ in range(3)]
        for one in silent:
            one.sendall(b"GET / HT")
        more = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
        assert silent[0].recv(1) == b"", "the oldest is hung up on"
        for one, request in ((more, b"GET / HTTP/1.0\r\n\r\n"), (silent[1], b"TP/1.0\r\n\r\n")):
            one.sendall(request)
            assert one.recv(12) == b"HTTP/1.0 200"


def test_slow_connections_that_come_again_keep_no_one_out() -> None:
    """Slow clients that outnumber the connections, and reconnect as soon as they are dropped, do not block others."""
    with mjpeg.FrameServer(0) as server, contextlib.ExitStack() as stack:
        over = threading.Event()

        def slow() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 60) as one:
                    one.settimeout(0.1)
                    while not over.is_set():
                        one.sendall(b"G")
                        with contextlib.suppress(socket.timeout):
                            if one.recv(1) == b"":
                                break

        threads = [threading.Thread(target=slow, daemon=True) for _ in range(40)]
        stack.callback(lambda: [thread.join() for thread in threads])
        stack.callback(over.set)
        for thread in threads:
            thread.start()
        codes = []
        for _ in range(20):
            with contextlib.suppress(OSError), urllib.request.urlopen(server.address, timeout=60) as answer:
                codes.append(answer.status)
        assert len(codes) >= 15


def test_who_asks_a_byte_at_a_time_holds_no_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A client that sends an endless request byte by byte (slow loris) does not keep its connection."""
    monkeypatch.setattr(mjpeg, "_PATIENCE", 0.1)
    monkeypatch.setattr(mjpeg._Handler, "timeout", None)  # no read times out
    monkeypatch.setattr(mjpeg, "_CONNECTIONS", 2)
    with mjpeg.FrameServer(0) as server, contextlib.ExitStack() as stack:
        dripping = [stack.enter_context(socket.create_connection((mjpeg.HOST, server.port), 300)) for _ in range(2)]
        for one in dripping:
            one.sendall(b"G")
        for one in dripping:
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(1) == b""
        monkeypatch.setattr(mjpeg, "_PATIENCE", 300.0)
        code = 0
        while code != 200:  # the server's threads end shortly after their connections
            with contextlib.suppress(OSError):
                code = urllib.request.urlopen(server.address, timeout=300).status
    assert "Traceback" not in capsys.readouterr().err


def test_a_label_is_no_other_topic() -> None:
    assert mqtt.topic_of("cam", "a/b#c+\0\n") == "cam/a_b_c___"
    assert mqtt.topic_of("cam", "\u202e\x1b\x9b\ud800") == "cam/____"
    assert mqtt.topic_of("cam", "status") == "cam/status_"
    assert mqtt.topic_of("cam", "") == "cam/_"
    assert len(mqtt.topic_of("cam", "x" * 70_000)) == 204
