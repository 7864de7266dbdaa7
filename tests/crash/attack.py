#!/usr/bin/env python3
"""Attacks a server of its own and measures what that does to others.

For each attack: the 50th and 99th percentile of `lock.acquire` of the server's own user and of a client
with a token, without and during the attack, the server's memory above idle, and the time from SIGTERM to
its exit while the attack goes on. It isn't part of the tests, whose bounds hold on any machine
(tests/crash/hostile_connections_test.cc).

An attacker that keeps a processor busy has the last one for itself; the server and the client that measures
have the others, also without the attack. So a time says what the attack makes the server do, and not that the
attacker's program needs a processor, which would slow down any server on the same machine. For one that only
asks and waits, all processors are everybody's.

    tests/crash/attack.py build/signalbox [ATTACK...]

The last line names what missed its figure: p99 at most 3 times that without the attack, memory at most 128 MiB
above idle, exit within 10 s.
"""
import contextlib
import json
import multiprocessing
import os
import pathlib
import re
import resource
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

SAMPLES = 2000
EVENTS = 62_000  # of the attacks that make others read the log
P99_RATIO = 3
MEMORY_MIB = 128
EXIT_SECONDS = 10
PROCESSORS = sorted(os.sched_getaffinity(0))


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

    def reset(self):
        """Closes the connection so that the server notices at once."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def fileno(self):
        return self.socket.fileno()

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


def subscribers(site):
    """50 subscriptions to all that ever was, of which their filter wants nothing, again and again."""
    while True:
        held = [site.viewer_lines() for _ in range(50)]
        for viewer in held:
            viewer.call("events.subscribe", **{"from": 1, "types": ["AuditKeyAdopted"]})
        time.sleep(1)
        for viewer in held:
            viewer.reset()


def hanging_repositories(site):
    """8 repositories in which every git command waits for a FIFO."""
    folders = []
    for number in range(8):
        folder = pathlib.Path(site.directory.name) / f"repository{number}"
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        (folder / ".git" / "config").unlink()
        os.mkfifo(folder / ".git" / "config")
        folders.append(folder)
    pipeline = {"name": "p", "station": [{"name": "only"}]}
    ask_for_ever(site, lambda number: (
        "project.put", {"name": f"p{number % 8}", "repository": str(folders[number % 8]), "pipeline": pipeline}),
        site.honest)


def ask_for_ever(site, question, secret=None, connections=32):
    """Has 4 questions under way on each connection, and reads the answers."""
    clients, number = [], 0
    for _ in range(connections):
        client = Lines(("127.0.0.1", site.port))
        client.socket.settimeout(120)
        client.call("server.authenticate", secret=secret or site.viewer)
        for _ in range(4):
            method, params = question(number)
            client.send(method, **params)
            number += 1
        clients.append(client)
    with contextlib.suppress(OSError):  # the server has ended
        while True:
            for client in select.select(clients, [], [])[0]:
                client.answer()
                method, params = question(number)
                client.send(method, **params)
                number += 1


def past(site):
    ask_for_ever(site, lambda number: ("run.list", {"at": 1 + number * 7919 % EVENTS}))


def differences(site):
    ask_for_ever(site, lambda number: (
        "state.diff", {"stream": "lock/k1", "from": str(1 + number * 7919 % (EVENTS // 2)), "to": str(EVENTS)}))


def compressed_answers(site):
    """Large answers over HTTP that are compressed, and never read."""
    request = (f"GET /v1/events?from=1&limit=1000 HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
               f"Authorization: Bearer {site.viewer}\r\nAccept-Encoding: gzip\r\n\r\n").encode()
    hold(site.port, 200, request)


ATTACKS = {
    "braces": braces,
    "half_lines": half_lines,
    "slow_headers": slow_headers,
    "unread_answers": unread_answers,
    "handshakes": handshakes,
    "subscribers": subscribers,
    "hanging_repositories": hanging_repositories,
    "past": past,
    "differences": differences,
    "reports": lambda site: ask_for_ever(site, lambda number: ("report.get", {"since": "1"})),
    "forecasts": lambda site: ask_for_ever(site, lambda number: (
        "what_if.run", {"policy": f"[limits]\njobs_max = {1 + number % 9}"})),
    "tiles": lambda site: ask_for_ever(site, lambda number: (
        "audit.tile", {"path": f"entries/{number % (EVENTS // 256):03}"})),
    "pages": lambda site: ask_for_ever(site, lambda number: ("events.read", {"from": "1", "actor": "nobody"})),
    "timelines": lambda site: ask_for_ever(site, lambda number: ("timeline.get", {"from": "1"})),
    "compressed_answers": compressed_answers,
}
KEEP_A_PROCESSOR_BUSY = {"braces", "half_lines", "slow_headers", "handshakes"}
READ_THE_LOG = {"subscribers", "past", "differences", "reports", "forecasts", "tiles", "pages", "timelines",
                "compressed_answers"}


class Site:
    """A server in a directory of its own."""

    def __init__(self, binary, with_tls, with_long_log):
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
        if with_long_log:
            self.write_events(EVENTS)

    def write_events(self, count):
        own = Lines(self.unix)
        own.socket.settimeout(300)
        for _ in range(0, count // 2, 500):
            for number in range(500):
                own.send("lock.acquire", key=f"k{number}", owner="o")
            tokens = [own.answer()["result"]["token"] for _ in range(500)]
            for number, token in enumerate(tokens):
                own.send("lock.release", key=f"k{number}", token=token)
            for _ in range(500):
                own.answer()

    def viewer_lines(self):
        viewer = Lines(("127.0.0.1", self.port))
        viewer.call("server.authenticate", secret=self.viewer)
        return viewer

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
    """Returns the p99 of each client, and the most memory."""
    memory = site.memory_mib()
    slowest = {}
    for who, connect in (("owner", lambda: Lines(site.unix)), ("token", None)):
        if connect is None and site.with_tls:
            continue
        try:
            client = connect() if connect else Lines(("127.0.0.1", site.port))
            if not connect:
                client.call("server.authenticate", secret=site.honest)
            p50, slowest[who] = percentiles(client)
            print(f"  {label:8} {who:6} p50 {p50:7.2f} ms  p99 {slowest[who]:7.2f} ms", flush=True)
        except (OSError, RuntimeError) as error:
            slowest[who] = float("inf")
            print(f"  {label:8} {who:6} no answer: {error}", flush=True)
        memory = max(memory, site.memory_mib())
    return slowest, memory


def attack(site, name):
    if name in KEEP_A_PROCESSOR_BUSY:
        os.sched_setaffinity(0, PROCESSORS[-1:])
    ATTACKS[name](site)


def missed_figures(binary, name):
    is_alone = name in KEEP_A_PROCESSOR_BUSY and len(PROCESSORS) > 1
    os.sched_setaffinity(0, PROCESSORS[:-1] if is_alone else PROCESSORS)
    site = Site(binary, name == "handshakes", name in READ_THE_LOG)
    idle, idle_mib = measure(site, "idle")
    attacker = multiprocessing.get_context("fork").Process(target=attack, args=(site, name))
    attacker.start()
    time.sleep(3)
    attacked, most_mib = measure(site, "attacked")
    missed = [f"p99 of {who}: {attacked[who] / idle[who]:.1f} times idle"
              for who in idle if attacked[who] > P99_RATIO * idle[who]]
    healthy = site.healthy()
    print(f"  /healthz {'answers' if healthy else 'gets no answer'}; memory {idle_mib:.0f} MiB idle, "
          f"{most_mib - idle_mib:+.0f} MiB attacked{'' if attacker.is_alive() else '; THE ATTACK HAS FAILED'}", flush=True)
    if not healthy:
        missed.append("/healthz")
    if not attacker.is_alive():
        missed.append("no attack")
    if most_mib - idle_mib > MEMORY_MIB:
        missed.append(f"memory {most_mib - idle_mib:+.0f} MiB")
    began = time.monotonic()
    site.process.send_signal(signal.SIGTERM)
    code = site.process.wait(120)
    seconds = time.monotonic() - began
    print(f"  SIGTERM to exit {code}: {seconds:.2f} s", flush=True)
    if seconds > EXIT_SECONDS or code != 0:
        missed.append(f"exit {code} after {seconds:.1f} s")
    attacker.terminate()
    attacker.join()
    dropped = [line for line in pathlib.Path(site.log.name).read_text().split("\n") if "refused or closed" in line]
    print("  " + "\n  ".join(line[:160] for line in dropped[-2:]), flush=True)
    return [f"{name}: {each}" for each in missed]


def main():
    binary, *names = sys.argv[1:]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    missed = []
    for name in names or ATTACKS:
        print(name, flush=True)
        missed += missed_figures(binary, name)
    print("missed: " + "; ".join(missed) if missed else "all figures are met")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
