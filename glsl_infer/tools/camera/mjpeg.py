"""HTTP server that shows frames in a browser on this machine: a page, and the frames as MJPEG."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.support.closing import Closing

HOST = "127.0.0.1"
"""Only this machine can connect. To watch from another one, forward the port, for example by SSH."""

_STREAM = "/frames.mjpeg"
_PAGE = f'<!doctype html><title>glsl-infer</title><body style="margin:0;background:#181818"><img src="{_STREAM}">'
_BOUNDARY = "frame"
_MAX_CLIENTS = 8
"""Largest number of concurrent readers; each needs a thread. One more replaces the reader that has not accepted its
frame for longest; if all have accepted theirs, it is refused."""

_BUFFER = 1 << 16
"""Bytes of a stream that the system holds for a reader. Most frames are longer, so a slow reader is soon known."""

_NAMES = (HOST, "localhost", "[::1]")
"""Accepted host names in requests. Without this check, a page elsewhere could read the frames through its own name,
resolved to this address (DNS rebinding)."""

_SITES = ("same-origin", "none")
"""Accepted values of Sec-Fetch-Site: a request from this page, or entered by the user. Pages of other sites can then
neither show the frames nor use up the readers; old browsers do not send the header."""

_CONNECTIONS = 32
"""Largest number of concurrent connections. One more replaces the connection whose request has been incomplete for
longest; if there is none, the new one is closed."""

_MOMENT = 1.0
"""Seconds to wait for the slot of a closed connection."""

_PATIENCE = 10.0
"""Timeout in seconds: for a reader that accepts no data, for a stream without new frames, and for the arrival of a
request."""


class FrameServer(Closing):
    """Server of the newest frame for this machine. Use it as a context manager, or ``close`` it.

    Args:
        port: the port; 0 for any free one.

    Attributes:
        port: the port in use.

    Raises:
        InputError: the port cannot be used.
    """

    def __init__(self, port: int) -> None:
        self._changed = threading.Condition()
        self._frame, self._number, self._over = b"", 0, False
        self._readers: dict[socket.socket, float | None] = {}  # with the time since which each accepts no data
        try:
            self._server = _Server((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"--serve {port}: this port cannot be opened ({reason}); give another one") from None
        self._server.frames = self
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="frames", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """URL to open in a browser."""
        return f"http://{HOST}:{self.port}/"

    def show(self, image: Image.Image) -> None:
        """Make an RGB image the newest frame."""
        data = io.BytesIO()
        image.save(data, "JPEG", quality=80)
        with self._changed:
            self._frame, self._number = data.getvalue(), self._number + 1
            self._changed.notify_all()

    def after(self, last_index: int) -> tuple[bytes, int] | None:
        """Wait for a frame other than that with an index; return it and its index, or None after the end or a timeout.

        Args:
            last_index: index of the last frame that was sent.
        """
        with self._changed:
            changed = self._changed.wait_for(lambda: self._over or self._number != last_index, _PATIENCE)
            return None if self._over or not changed else (self._frame, self._number)

    def admit(self, reader: socket.socket) -> bool:
        """Add a reader, perhaps instead of a slow one, which is disconnected; return whether there is room for it."""
        with self._changed:
            waiting = {other: since for other, since in self._readers.items() if since is not None}
            if len(self._readers) >= _MAX_CLIENTS:
                if not waiting:
                    return False
                slowest = min(waiting, key=waiting.__getitem__)
                del self._readers[slowest]
                with contextlib.suppress(OSError):
                    slowest.shutdown(socket.SHUT_RDWR)
            self._readers[reader] = None
            return True

    @contextlib.contextmanager
    def sending(self, reader: socket.socket) -> Iterator[None]:
        """Record that data is being sent to a reader for the time of a ``with`` block."""
        with self._changed:
            if reader in self._readers:
                self._readers[reader] = time.monotonic()
        yield
        with self._changed:
            if reader in self._readers:
                self._readers[reader] = None

    def dismiss(self, reader: socket.socket) -> None:
        """Remove a reader; further calls do nothing."""
        with self._changed:
            self._readers.pop(reader, None)

    def close(self) -> None:
        """End all streams and release the port; further calls do nothing."""
        with self._changed:
            if self._over:
                return
            self._over = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _host_of(name: str) -> str:
    """Return the host in a header, without its port."""
    return re.sub(r":[0-9]*$", "", name.strip().lower())


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of connections that wait for this process; the default is 5
    block_on_close = False
    frames: FrameServer

    def __init__(self, *arguments: Any) -> None:
        self._free = threading.BoundedSemaphore(_CONNECTIONS)
        self._incomplete: dict[Any, float] = {}
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; if there are too many, close the oldest connection without a request, or this one."""
        if self._free.acquire(blocking=False) or (self._hang_up() and self._free.acquire(timeout=_MOMENT)):
            self._incomplete[request] = time.monotonic()
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and release the slot of the connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.mark_complete(request)
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of closed connections."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def _hang_up(self) -> bool:
        """Close the connection with the oldest incomplete request; return whether there was one."""
        oldest = min(list(self._incomplete.items()), key=lambda item: item[1], default=None)
        if oldest is None:
            return False
        self.mark_complete(oldest[0])
        with contextlib.suppress(OSError):
            oldest[0].shutdown(socket.SHUT_RDWR)
        return True

    def mark_complete(self, request: Any) -> None:
        """Record that the request of a connection is complete."""
        self._incomplete.pop(request, None)

    def service_actions(self) -> None:
        """Close connections with requests older than the timeout, so clients that send slowly cannot keep slots."""
        oldest = time.monotonic() - _PATIENCE
        for request, began in list(self._incomplete.items()):
            if began < oldest:
                self.mark_complete(request)
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE

    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        self.server.mark_complete(self.connection)
        if _host_of(self.headers.get("Host", HOST)) not in _NAMES:
            self._send(403, f"this is http://{HOST}; ask for it by that name")
        elif self.headers.get("Sec-Fetch-Site", "none") not in _SITES or self._is_foreign():
            self._send(403, "no page elsewhere may show this camera")
        elif self.path == "/":
            self._send(200, _PAGE)
        elif self.path != _STREAM:
            self._send(404, "there is / and nothing else")
        else:
            self._stream()

    def _is_foreign(self) -> bool:
        """Return whether a page of another origin sent the request, by headers that older browsers send too."""
        host = self.headers.get("Host", "").strip().lower()
        pages = [page for name in ("Origin", "Referer") for page in self.headers.get_all(name, [])]
        return any(not re.match(rf"https?://{re.escape(host)}(?:[/?#]|$)", page.strip().lower()) for page in pages)

    def log_message(self, *_: Any) -> None:
        """Log nothing: standard error belongs to the command."""

    def end_headers(self) -> None:
        """Forbid pages of other origins to load or frame the answer."""
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header(
            "Content-Security-Policy", "default-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        )
        super().end_headers()

    def _send(self, code: int, text: str) -> None:
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self) -> None:
        assert isinstance(self.server, _Server)
        frames = self.server.frames
        if not frames.admit(self.connection):
            self._send(503, "too many readers")
            return
        last_index = 0
        try:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            self.send_response(200)
            self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={_BOUNDARY}")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            while True:
                following = frames.after(last_index)
                if following is None:
                    return
                data, last_index = following
                head = f"--{_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
                with frames.sending(self.connection):
                    self.wfile.write(head.encode() + data + b"\r\n")
        except OSError:  # the reader has disconnected
            self.close_connection = True
        finally:
            frames.dismiss(self.connection)
