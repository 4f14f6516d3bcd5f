"""MQTT publisher of presence: a retained ON or OFF for each name, and the state of the camera.

TOPIC/NAME      ON, OFF
TOPIC/status    online, offline; the broker itself publishes offline if the connection is lost
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import urllib.parse
from dataclasses import dataclass
from typing import Any

from glsl_infer.errors import InputError, MissingExtraError, RunError
from glsl_infer.support.closing import Closing
from glsl_infer.support.plain_text import escaped_characters, one_line

PASSWORD = "GLSL_INFER_MQTT_PASSWORD"
"""Variable with the broker's password, because all users of the machine can read command-line arguments."""

PATIENCE = 20.0
"""Seconds to wait for the broker, at the start and at the end."""

_ADVICE = "give mqtt://[USER@]HOST[:PORT]/TOPIC, or mqtts: for TLS"
_PORTS = {"mqtt": 1883, "mqtts": 8883}
_NO_NAME = re.compile(r"[#+/]")
"""Characters with a meaning in a topic. Those of ``plain_text.escaped_characters`` are replaced as well."""

_STATUS, _LONGEST = "status", 200


@dataclass(frozen=True)
class Address:
    """Address of a broker and topic; ``topic`` has no slash at its end."""

    host: str
    port: int
    tls: bool
    user: str
    password: str
    topic: str


def address_of(url: str) -> Address:
    """Return the parts of a broker's URL.

    Raises:
        InputError: the URL is invalid; the message does not contain the password.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        raise InputError(f"--mqtt: not an MQTT address; {_ADVICE}") from None
    topic = urllib.parse.unquote(parts.path).strip("/")
    if parts.scheme not in _PORTS or not parts.hostname or not topic or parts.query or parts.fragment:
        raise InputError(f"--mqtt {_redacted(url)}: not an MQTT address; {_ADVICE}")
    if re.search(r"[#+]", topic) or escaped_characters().search(topic):
        raise InputError(f"--mqtt {_redacted(url)}: the topic must not contain #, + or hidden characters; {_ADVICE}")
    user, password = (urllib.parse.unquote(field or "") for field in (parts.username, parts.password))
    return Address(
        parts.hostname,
        port or _PORTS[parts.scheme],
        parts.scheme == "mqtts",
        user,
        password or os.environ.get(PASSWORD, ""),
        topic,
    )


def topic_of(topic: str, name: str) -> str:
    """Return the topic of a name. The name can be an untrusted label, of any length and with any characters."""
    cleaned = escaped_characters().sub("_", _NO_NAME.sub("_", name))[:_LONGEST]
    return f"{topic}/{cleaned}_" if cleaned in ("", _STATUS) else f"{topic}/{cleaned}"


class Broker(Closing):
    """Connection to a broker. Use it as a context manager, or ``close`` it.

    It reconnects automatically, and then publishes the current state of all names.

    Args:
        url: see ``address_of``.

    Raises:
        InputError: the URL is invalid, or the package is not installed.
        RunError: the broker cannot be reached, or refuses the connection.
    """

    def __init__(self, url: str) -> None:
        self._address = address_of(url)
        self._closed, self._answered = False, threading.Event()
        self._refusal = ""
        self._states: dict[str, str] = {}
        self._lock = threading.Lock()
        self._client = self._connected()

    def changed(self, name: str, present: bool) -> None:
        """Publish ON or OFF for a name."""
        topic = topic_of(self._address.topic, name)
        with self._lock:
            self._states[topic] = "ON" if present else "OFF"
        self._client.publish(topic, self._states[topic], qos=1, retain=True)

    def close(self) -> None:
        """Publish offline and disconnect; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        last = self._client.publish(self._status, "offline", qos=1, retain=True)
        if self._client.is_connected():  # without a connection, the broker publishes offline
            with contextlib.suppress(RuntimeError, ValueError):
                last.wait_for_publish(PATIENCE)
        self._client.disconnect()
        self._client.loop_stop()

    @property
    def _status(self) -> str:
        return f"{self._address.topic}/{_STATUS}"

    def _connected(self) -> Any:
        try:
            import paho.mqtt.client as mqtt
        except ImportError:
            raise MissingExtraError.of("the package paho-mqtt", "paho-mqtt", "--mqtt") from None
        address = self._address
        version = getattr(mqtt, "CallbackAPIVersion", None)  # since paho 2; Debian 12 has 1.6
        client = mqtt.Client() if version is None else mqtt.Client(version.VERSION2)
        if address.user:
            client.username_pw_set(address.user, address.password or None)
        if address.tls:
            client.tls_set()
        client.will_set(self._status, "offline", qos=1, retain=True)
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        option = f"--mqtt {address.host}:{address.port}"
        try:
            client.connect(address.host, address.port)
        except (OSError, ValueError) as error:
            raise RunError(f"{option}: the broker cannot be reached ({error})") from None
        client.loop_start()
        answered = self._answered.wait(PATIENCE)
        if not answered or self._refusal:
            client.disconnect()
            client.loop_stop()
            problem = f"refuses ({self._refusal})" if answered else f"does not answer within {PATIENCE:.0f} seconds"
            raise RunError(
                f"{option}: the broker {problem}; give the user in the URL, and the password in the variable {PASSWORD}"
            )
        return client

    def _on_connect(self, client: Any, _data: Any, _flags: Any, code: Any, *_: Any) -> None:
        """Publish the state again, in case the broker lost it. ``code`` is a number in paho 1, an object in paho 2."""
        if getattr(code, "is_failure", code != 0):
            self._refusal = str(code)
            self._answered.set()
            return
        with self._lock:
            states = {self._status: "online", **self._states}
        for topic, payload in states.items():
            client.publish(topic, payload, qos=1, retain=True)
        self._answered.set()

    def _on_disconnect(self, *_: Any) -> None:
        if not self._closed and self._answered.is_set() and not self._refusal:
            broker = f"{self._address.host}:{self._address.port}"
            print(
                one_line(f"warning: --mqtt: lost the connection to {broker}; connecting again"),
                file=sys.stderr,
                flush=True,
            )


def _redacted(url: str) -> str:
    """Return a URL without user and password, even if it is malformed."""
    scheme, slashes, _ = url.rpartition("@")[0].partition("://")
    address = re.split("[?#]", url.rpartition("@")[2])[0]
    return one_line(f"{scheme}{slashes}{address}" if slashes else address)
