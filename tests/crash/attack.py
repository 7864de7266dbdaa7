#!/usr/bin/env python3
"""Attacks a server of its own and measures what that does to others.

For each attack: the 50th and 99th percentile of `lock.acquire` of the server's own user and of a client
with a token, without and during the attack, the server's memory above idle, and the time from SIGTERM to
its exit while the attack goes on. It isn't part of the tests, whose bounds hold on any machine
(tests/crash/hostile_connections_test.cc).

    tests/crash/attack.py build/signalbox [ATTACK...]
"""
import json
import multiprocessing
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

SAMPLES = 400


class Lines:
    """A connection of the line protocol."""

    def __init__(self, address, receive_bytes=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(30)
        self.socket.connect(address)
        if family == socket.AF_INET:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = b""

    def send(self, method, **params):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.socket.sendall(line.encode() + b"\n")

    def answer(self):
        while b"\n" not in self.input:
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("the server closed the connection")
            self.input += more
        line, self.input = self.input.split(b"\n", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.send(method, **params)
        answer = self.answer()
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]


def hold(port, count, data):
    """Opens connections that send `data`, and opens those again that the server closes."""
    sockets = []
    while True:
        while len(sockets) < count:
            one = socket.socket()
            one.setblocking(True)
            one.settimeout(5)
            try:
                one.connect(("127.0.0.1", port))
                one.sendall(data)
            except OSError:
                one.close()
                time.sleep(0.01)
                continue
            one.setblocking(False)
            sockets.append(one)
        alive = []
        for one in sockets:
            try:
                ended = one.recv(4096) == b""
            except BlockingIOError:
                ended = False
            except OSError:
                ended = True
            one.close() if ended else alive.append(one)
        sockets = alive
        time.sleep(0.05)


def braces(site):
    hold(site.port, 4096, b"{")


def half_lines(site):
    hold(site.port, 300, b"{" + b" " * ((1 << 20) - 2))


def slow_headers(site):
    hold(site.port, 1000, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")


def unread_answers(site):
    held = []
    for _ in range(40):
        viewer = Lines(("127.0.0.1", site.port), receive_bytes=4096)
        viewer.call("server.authenticate", secret=site.viewer)
        for _ in range(8):
            viewer.send("events.read", limit=1000)
        held.append(viewer)
    time.sleep(3600)


def handshakes(site):
    """128 handshakes a second."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    due = time.monotonic()
    while True:
        due += 1 / 128
        time.sleep(max(0, due - time.monotonic()))
        try:
            with socket.create_connection(("127.0.0.1", site.tls_port or site.port), 5) as plain:
                context.wrap_socket(plain).close()
        except OSError:
            pass


ATTACKS = {
    "braces": braces,
    "half_lines": half_lines,
    "slow_headers": slow_headers,
    "unread_answers": unread_answers,
    "handshakes": handshakes,
}


class Site:
    """A server in a directory of its own."""

    def __init__(self, binary, with_tls):
        self.directory = tempfile.TemporaryDirectory()
        data = pathlib.Path(self.directory.name) / "data"
        data.mkdir(mode=0o700)
        settings = 'loopback_role = "none"\n'
        if with_tls:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
                 "-keyout", data / "key.pem", "-out", data / "certificate.pem"],
                check=True, capture_output=True)
            settings += 'tls_key = "key.pem"\ntls_certificate = "certificate.pem"\n'
        (data / "signalbox.toml").write_text(settings)
        self.log = open(data / "server.log", "w+")
        self.process = subprocess.Popen(
            [binary, "serve", "--data", data, "--listen", "127.0.0.1:0"], stderr=self.log, stdout=self.log)
        self.unix = str(data / "signalbox.sock")
        self.tls_port = None
        while not (found := re.search(r"127\.0\.0\.1:(\d+)", (data / "server.log").read_text())):
            time.sleep(0.01)
        self.port = int(found[1])
        self.with_tls = with_tls
        own = Lines(self.unix)
        self.honest = own.call("access.issue", name="honest", role="operator")["secret"]
        self.viewer = own.call("access.issue", name="viewer", role="viewer")["secret"]
        pipeline = {"name": "p", "station": [{"name": "only"}]}
        for _ in range(1000):
            own.call("run.start", goal="\x01" * 4000, pipeline=pipeline)

    def memory_mib(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024

    def healthy(self):
        if self.with_tls:
            return True
        try:
            with socket.create_connection(("127.0.0.1", self.port), 10) as one:
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return b" 200 " in one.recv(1000)
        except OSError:
            return False


def percentiles(client):
    times = []
    for number in range(SAMPLES):
        began = time.perf_counter()
        token = client.call("lock.acquire", key=f"k{number}", owner="o")["token"]
        times.append((time.perf_counter() - began) * 1000)
        client.call("lock.release", key=f"k{number}", token=token)
    times.sort()
    return times[len(times) // 2], times[len(times) * 99 // 100]


def measure(site, label):
    memory = site.memory_mib()
    for who, connect in (("owner", lambda: Lines(site.unix)), ("token", None)):
        if connect is None and site.with_tls:
            continue
        try:
            client = connect() if connect else Lines(("127.0.0.1", site.port))
            if not connect:
                client.call("server.authenticate", secret=site.honest)
            p50, p99 = percentiles(client)
            print(f"  {label:8} {who:6} p50 {p50:7.2f} ms  p99 {p99:7.2f} ms", flush=True)
        except (OSError, RuntimeError) as error:
            print(f"  {label:8} {who:6} no answer: {error}", flush=True)
        memory = max(memory, site.memory_mib())
    return memory


def main():
    binary, *names = sys.argv[1:]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    for name in names or ATTACKS:
        print(name, flush=True)
        site = Site(binary, name == "handshakes")
        idle = measure(site, "idle")
        attacker = multiprocessing.get_context("fork").Process(target=ATTACKS[name], args=(site,))
        attacker.start()
        time.sleep(3)
        most = measure(site, "attacked")
        print(f"  /healthz {'answers' if site.healthy() else 'gets no answer'}; memory {idle:.0f} MiB idle, "
              f"{most - idle:+.0f} MiB attacked", flush=True)
        began = time.monotonic()
        site.process.send_signal(signal.SIGTERM)
        code = site.process.wait(120)
        print(f"  SIGTERM to exit {code}: {time.monotonic() - began:.2f} s", flush=True)
        attacker.terminate()
        attacker.join()
        dropped = [line for line in pathlib.Path(site.log.name).read_text().split("\n") if "refused or closed" in line]
        print("  " + "\n  ".join(line[:160] for line in dropped[-2:]), flush=True)


if __name__ == "__main__":
    main()
