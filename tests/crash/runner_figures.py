#!/usr/bin/env python3
"""Measures runners: how many jobs a second go through them, whether any kill does a job twice, and what many cost.

    tests/crash/runner_figures.py build/signalbox [--kills N] [--simulated N]

First: runs of one station `true`, executed by the service itself (8 jobs at a time) and by 8 runners over
TLS on loopback, in turns; the ratio is of the medians. Then: runs of jobs that count themselves, while the
server, a runner or the supervisor of a job is killed with SIGKILL, a runner is stopped for a while, or the
network is cut, N times in all. It is a network of the script's own, so the script needs root. At last: simulated runners, each a connection that takes orders and ends no job: how long a ready job waits for
its order beyond what another command that is recorded takes, and what their reports cost of a core once each
has eight jobs. It isn't part of the tests, whose bounds hold on any machine.

The last line says what missed its figure: a ratio of at least 0.5; no job executed twice in an attempt; no
run that doesn't end; reports at most 10 % of a core; 256 MiB.
"""
import argparse
import collections
import ctypes
import fcntl
import json
import os
import pathlib
import random
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

RUNNERS = 8
RUNS = 200
ROUNDS = 3
RATIO_MIN = 0.5


class Service:
    """A service with runners, all of them processes of this script."""

    def __init__(self, binary, place):
        self.binary = binary
        self.place = place
        self.data = place / "data"
        self.data.mkdir(mode=0o700)
        self.server = None
        self.runners = {}
        key, certificate = place / "key.pem", place / "certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout"]
            + [key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"]
            + ["-addext", "subjectAltName=DNS:localhost"],
            check=True,
            capture_output=True,
        )
        key.chmod(0o600)
        self.certificate = certificate
        settings = f'listen = "127.0.0.1:0"\ntls_certificate = "{certificate}"\ntls_key = "{key}"\n'
        (self.data / "signalbox.toml").write_text(settings)
        self.start()
        port = self.log().rsplit("listening on 127.0.0.1:", 1)[1].split()[0]
        (self.data / "signalbox.toml").write_text(settings.replace(":0", f":{port}"))
        self.address = f"tls://localhost:{port}"
        self.token = place / "token"
        self.token.touch(mode=0o600)
        self.token.write_text(self.cli("access", "issue", "fleet", "--role", "runner"))

    def log(self):
        return (self.place / "server.log").read_text()

    def cli(self, *words, check=True):
        done = subprocess.run([self.binary, "--data", self.data, *words], capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stderr}")
        return done.stdout

    def start(self):
        with open(self.place / "server.log", "a") as log:
            self.server = subprocess.Popen(
                [self.binary, "--data", self.data, "serve", "--jobs-max", str(RUNNERS)], stderr=log, stdout=log
            )
        while subprocess.run([self.binary, "--data", self.data, "status"], capture_output=True).returncode:
            if self.server.poll() is not None:
                raise RuntimeError(self.log())
            time.sleep(0.05)

    def start_runner(self, name, slots=1):
        with open(self.place / f"{name}.log", "a") as log:
            self.runners[name] = subprocess.Popen(
                [self.binary, "--server", self.address, "--ca", self.certificate, "--token-file", self.token, "runner"]
                + ["--work", self.place / name, "--name", name, "--labels", "fleet", "--slots", str(slots)]
                + ["--lease", "5s"],
                stderr=log,
                stdout=log,
            )

    def start_runs(self, count, pipeline):
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": n, "method": "run.start", "params": {"goal": "work", "pipeline": pipeline}})
            for n in range(count)
        ]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.data / "signalbox.sock"))
            connection.sendall(("\n".join(lines) + "\n").encode())
            answers = connection.makefile()
            return [json.loads(answers.readline())["result"]["run_id"] for _ in lines]

    def open_runs(self):
        return json.loads(self.cli("--json", "status"))["result"]["open_runs"]

    def stop(self):
        for process in [*self.runners.values(), self.server]:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in [*self.runners.values(), self.server]:
            process.wait()


def pipeline_of(script, labels):
    station = {
        "name": "work",
        "executor": "process",
        "cancel_grace": "200ms",
        "command": ["sh", "-c", script],
        "retry": {"backoff": "10ms", "max_retries": 20},
    }
    return {"name": "figures", "runs_on": labels, "station": [station]}


def rate(service, labels):
    begun = time.monotonic()
    service.start_runs(RUNS, pipeline_of("true", labels))
    while service.open_runs():
        time.sleep(0.02)
    return RUNS / (time.monotonic() - begun)


def measure_rates(service):
    own, fleet = [], []
    for _ in range(ROUNDS):
        own.append(rate(service, []))
        fleet.append(rate(service, ["fleet"]))
    median = lambda figures: sorted(figures)[len(figures) // 2]
    ratio = median(fleet) / median(own)
    print(f"jobs a second: the service itself {median(own):.1f}, {RUNNERS} runners over TLS {median(fleet):.1f},"
          f" ratio {ratio:.2f} (at least {RATIO_MIN})", flush=True)
    return [] if ratio >= RATIO_MIN else [f"runners are at {ratio:.2f} of the service itself"]


def enter_own_network():
    """Moves the script and what it starts into a network namespace in which only they are."""
    CLONE_NEWNET = 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWNET): run it as root")
    set_loopback(True)


def set_loopback(works):
    """Cuts the network, or mends it: packets are lost without a word."""
    SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1]
        flags = flags | IFF_UP if works else flags & ~IFF_UP
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))


def shims(service):
    """Returns the processes that supervise a job of a runner."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 3 and words[1] == b"shim" and words[3].startswith(str(service.place).encode()):
            found.append(int(entry.name))
    return found


def kill_one(service, chance):
    what = chance.choice(["server", "runner", "shim", "pause", "cut"])
    if what == "server":
        service.server.kill()
        service.server.wait()
        time.sleep(chance.random() * 0.5)
        service.start()
    elif what == "cut":
        set_loopback(False)
        time.sleep(chance.choice([0.2, 1, 7]))
        set_loopback(True)
    elif what == "shim":
        if found := shims(service):
            try:
                os.kill(chance.choice(found), signal.SIGKILL)
            except ProcessLookupError:
                pass  # its job has just ended
    else:
        name = chance.choice(sorted(service.runners))
        process = service.runners[name]
        if what == "runner":
            process.kill()
            process.wait()
            time.sleep(chance.random())
            service.start_runner(name, 2)
        else:
            process.send_signal(signal.SIGSTOP)
            time.sleep(chance.choice([0.2, 1, 7]))
            process.send_signal(signal.SIGCONT)
    return what


def measure_kills(service, kills, seed):
    chance = random.Random(seed)
    executed = service.place / "executed"
    executed.touch()
    script = f'echo "$SIGNALBOX_RUN_ID $SIGNALBOX_ATTEMPT" >>"{executed}"; sleep 0.$(($$ % 9))'
    done = collections.Counter()
    started = 0
    for _ in range(kills):
        if service.open_runs() < 20:
            started += len(service.start_runs(30, pipeline_of(script, ["fleet"])))
        time.sleep(chance.random() * 0.3)
        done[kill_one(service, chance)] += 1
    begun = time.monotonic()
    while service.open_runs() and time.monotonic() - begun < 180:
        time.sleep(0.5)
    left = service.open_runs()
    lines = collections.Counter(executed.read_text().split("\n")[:-1])
    twice = [line for line, count in lines.items() if count > 1]
    statuses = collections.Counter(
        run["status"] for run in json.loads(service.cli("--json", "run", "list", "--all"))["result"]["runs"]
    )
    print(f"{kills} kills (seed {seed}): {dict(done)}; {started} runs, {len(lines)} attempts executed, {len(twice)}"
          f" twice, {left} runs without an end; {dict(statuses)}", flush=True)
    missed = [f"executed twice: {line}" for line in twice]
    return missed + ([f"{left} runs don't end"] if left else [])


class SimulatedRunner:
    """A connection that takes orders and never ends a job."""

    def __init__(self, service, number):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(service.data / "signalbox.sock"))
        self.input = b""
        self.jobs = []
        self.report = {"start": 1, "number": 0, "instance": "i", "labels": ["many"], "slots": 8, "lease_ms": 60_000}
        self.send("runner.register", {"name": f"s{number}"})
        given = self.read_one()
        self.report |= {"runner": given["runner"], "key": given["key"]}
        self.exchange()

    def send(self, method, params):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.socket.sendall(line.encode() + b"\n")

    def exchange(self):
        self.report["number"] += 1
        reported = [{"job_id": each, "external_ref": each} for each in self.jobs]
        self.send("runner.exchange", self.report | {"jobs": reported, "wait_ms": 5000})

    def read_one(self):
        while b"\n" not in self.input:
            self.input += self.socket.recv(1 << 20)
        line, self.input = self.input.split(b"\n", 1)
        return json.loads(line)["result"]

    def take_answer(self):
        """Takes what has come; returns the runs of new orders."""
        self.input += self.socket.recv(1 << 20)
        if b"\n" not in self.input:
            return []
        orders = [each["job"] for each in self.read_one()["orders"]]
        fresh = [each for each in orders if each["id"] not in self.jobs]
        self.jobs += [each["id"] for each in fresh]
        self.exchange()
        return [each["run_id"] for each in fresh]


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def measure_many(service, count):
    runners = [SimulatedRunner(service, number) for number in range(count)]
    waiting = selectors.DefaultSelector()
    for runner in runners:
        waiting.register(runner.socket, selectors.EVENT_READ, runner)

    def take(seconds):
        arrived = []
        for key, _ in waiting.select(seconds):
            arrived += key.data.take_answer()
        return arrived

    begun = {}
    waits, others, left = [], [], 8 * count
    pipeline = pipeline_of("true", ["many"])
    asking = socket.socket(socket.AF_UNIX)
    asking.connect(str(service.data / "signalbox.sock"))
    answers = asking.makefile("rb")

    def ask(method, params):
        at = time.monotonic()
        asking.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        return json.loads(answers.readline())["result"], at

    while left:
        for _ in range(min(left, 20)):
            started, at = ask("run.start", {"goal": "many", "pipeline": pipeline})
            others.append(time.monotonic() - at)
            begun[started["run_id"]] = time.monotonic()
            left -= 1
            for run in take(0):
                waits.append(time.monotonic() - begun.get(run, time.monotonic()))
        while len(waits) < len(begun):
            for run in take(1):
                waits.append(time.monotonic() - begun[run])
    # The files of the runs are written after their events; that isn't what a report costs.
    while not all((service.data / "runs" / run / "manifest.json").exists() for run in begun):
        take(1)
    used, at = processor_seconds(service.server), time.monotonic()
    while time.monotonic() - at < 30:
        take(1)
    share = 100 * (processor_seconds(service.server) - used) / (time.monotonic() - at)
    percentile = lambda figures, part: 1000 * sorted(figures)[int(len(figures) * part)]
    memory = memory_mib(service.server)
    print(f"{count} runners with 8 jobs each: an order comes {percentile(waits, 0.5):.2f} ms (p99"
          f" {percentile(waits, 0.99):.2f}) after run.start is answered, which takes {percentile(others, 0.5):.2f} ms"
          f" (p99 {percentile(others, 0.99):.2f}); reports {share:.2f} % of a core; {memory:.0f} MiB", flush=True)
    missed = [f"reports take {share:.2f} % of a core"] if share > 10 else []
    return missed + ([f"{memory:.0f} MiB"] if memory > 256 else [])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("binary", type=pathlib.Path)
    arguments.add_argument("--kills", type=int, default=100)
    arguments.add_argument("--simulated", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = arguments.parse_args()
    enter_own_network()
    missed = []
    with tempfile.TemporaryDirectory(prefix="signalbox-runners-") as place:
        service = Service(given.binary.resolve(), pathlib.Path(place))
        try:
            for number in range(RUNNERS):
                service.start_runner(f"r{number}")
            time.sleep(2)
            missed += measure_rates(service)
            missed += measure_kills(service, given.kills, given.seed)
            missed += measure_many(service, given.simulated)
        finally:
            service.stop()
    print("missed: " + ("; ".join(missed) or "nothing"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
