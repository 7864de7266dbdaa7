"""Measures a cell over PostgreSQL with two synchronous standbys, on this machine.

    python3 tests/crash/cell_figures.py build/signalbox
    python3 tests/crash/cell_figures.py build/signalbox --rounds 100

First `signalbox bench --part cell`: commits, latencies, lag and idle writes, as ratios to bare appends to
the same database. Then takeovers after a kill, after a hang and by a switch: from the signal, or the
request, to the first command that the other server has acknowledged. Needs PostgreSQL 15's programs, root
or the user that they run as, and signalbox-bench beside the program. Exits 1 if a figure misses its target;
with --smoke, which only sees that the bench measures everything, leaves nothing and refuses what it must, no
target counts.
"""
import argparse
import ctypes
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = [pathlib.Path("/usr/lib/postgresql/15/bin"),
            pathlib.Path(__file__).resolve().parents[2] / "build/postgresql/usr/lib/postgresql/15/bin"]
TARGETS = {"kill": 300, "hang": 2000, "switch": 500}  # ms at p99
PIPELINE = {"name": "one", "station": [{"name": "work"}]}


def parse():
    parser = argparse.ArgumentParser(description="Measures a cell.")
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15, help="takeovers of each kind")
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement of the bench")
    parser.add_argument("--smoke", action="store_true", help="only see that the bench works")
    return parser.parse_args()


def unused_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def programs_for(base):
    """Returns the folder of PostgreSQL's programs. If they were unpacked into a checkout that their user can't
    enter, it is that of a copy."""
    programs = next((each for each in PROGRAMS if (each / "initdb").exists()), None)
    if programs is None:
        sys.exit("PostgreSQL 15 isn't here: tools/check unpacks it")
    if programs == PROGRAMS[0] or all(each.stat().st_mode & 0o001 for each in programs.parents):
        return programs
    unpacked = programs.parents[3]
    shutil.copytree(unpacked, base / "usr", symlinks=True)
    return base / "usr" / programs.relative_to(unpacked)


def ends_with_this(number):
    """Returns what a child does before it begins, so that it gets that signal however this program ends."""
    library = ctypes.CDLL(None)
    return lambda: library.prctl(1, number)  # PR_SET_PDEATHSIG


class Nodes:
    def __init__(self, base):
        self.base = base
        self.programs = programs_for(base)
        # Where they are unpacked and not installed, their libraries are beside them.
        self.environment = os.environ | {"LD_LIBRARY_PATH": str(self.programs.parents[2] / "x86_64-linux-gnu")}
        self.user = None
        if os.geteuid() == 0:
            names = {each.pw_name for each in pwd.getpwall()}
            self.user = "postgres" if "postgres" in names else "nobody"
            shutil.chown(base, self.user)
        self.ports = [unused_port() for _ in range(3)]
        self.processes = []
        self.run("initdb", "-D", base / "n0", "-U", "signalbox", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        hosts = ",".join("127.0.0.1" for _ in self.ports)
        with open(base / "n0/postgresql.conf", "a") as settings:
            settings.write(
                "shared_buffers = 64MB\nmax_connections = 60\nlisten_addresses = '127.0.0.1'\n"
                f"unix_socket_directories = '{base}'\nsynchronous_standby_names = 'ANY 1 (n1, n2)'\n"
                f"primary_conninfo = 'user=signalbox host={hosts} port={','.join(map(str, self.ports))}"
                " target_session_attrs=read-write'\n")
        self.start(0)
        for node in (1, 2):
            self.run("pg_basebackup", "-D", base / f"n{node}", "-h", base, "-p", self.ports[0], "-U", "signalbox",
                     "--checkpoint=fast", "--no-sync", "--wal-method=stream")
            marker = base / f"n{node}/standby.signal"
            marker.touch()
            if self.user:
                shutil.chown(marker, self.user)
            self.start(node)
        while self.query("select count(*) from pg_stat_replication where state = 'streaming'") != "2":
            time.sleep(0.05)

    def command(self, name, arguments):
        return [str(self.programs / name), *map(str, arguments)]

    def run(self, name, *arguments):
        subprocess.run(self.command(name, arguments), user=self.user, check=True, cwd="/",
                       env=self.environment, stdout=subprocess.DEVNULL)

    def start(self, node):
        command = self.command("postgres", ["-D", self.base / f"n{node}", "-c", f"port={self.ports[node]}", "-c",
                                            f"cluster_name=n{node}"])
        log = open(self.base / f"n{node}.log", "ab")
        self.processes.append(subprocess.Popen(command, user=self.user, cwd="/", env=self.environment, stdout=log,
                                               stderr=log, preexec_fn=ends_with_this(signal.SIGQUIT)))
        ready = self.command("pg_isready", ["-h", self.base, "-p", self.ports[node]])
        while subprocess.run(ready, env=self.environment, stdout=subprocess.DEVNULL).returncode != 0:
            time.sleep(0.02)

    def query(self, statement, database="postgres"):
        command = self.command("psql", ["-h", self.base, "-p", self.ports[0], "-U", "signalbox", database, "-XAtqc",
                                        statement])
        return subprocess.run(command, check=True, env=self.environment, capture_output=True, text=True).stdout.strip()

    def url(self, database="postgres"):
        return "postgresql://signalbox@" + ",".join(f"127.0.0.1:{port}" for port in self.ports) + f"/{database}"

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGQUIT)
        for process in self.processes:
            process.wait()


class Client:
    """One connection; waits and connects again are up to the caller."""
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.socket.makefile("rb")
        self.number = 0

    def line(self, method, params):
        self.number += 1
        return json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n"

    def call(self, method, **params):
        self.socket.sendall(self.line(method, params).encode())
        while True:
            line = self.answers.readline()
            if not line:
                raise ConnectionError("closed")
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer


class Server:
    def __init__(self, base, name, binary, engine):
        self.name, self.binary, self.port = name, binary, unused_port()
        self.data = base / name
        self.data.mkdir(mode=0o700)
        (self.data / "signalbox.toml").write_text(
            f'listen = "127.0.0.1:{self.port}"\nloopback_role = "admin"\n[cell]\nname = "figures"\n'
            f'engine = "{engine}"\nserver = "{name}"\naddress = "tcp://127.0.0.1:{self.port}"\n'
            '[board]\nheartbeat = "366d"\nsynthesizer = "366d"\nprune = "366d"\n')

    def start(self):
        log = open(self.data.with_suffix(".log"), "ab")
        self.process = subprocess.Popen([self.binary, "--data", self.data, "serve"], stdout=log, stderr=log,
                                        stdin=subprocess.DEVNULL, preexec_fn=ends_with_this(signal.SIGKILL))

    def role(self):
        try:
            return Client(self.port).call("cell.get")["result"]["role"]
        except (OSError, ConnectionError, KeyError):
            return ""

    def await_role(self, role):
        while self.role() != role:
            time.sleep(0.01)

    def send(self, number):
        self.process.send_signal(number)


def roles(servers):
    """Waits until one is active and the other one stands by: one that hung may still take itself for active."""
    while True:
        for server, other in (servers, servers[::-1]):
            if server.role() == "active" and other.role() == "standby":
                return server, other
        time.sleep(0.01)


def until_acknowledged(server, key, begun):
    """Returns how many ms after `begun` the server has acknowledged a command."""
    while True:
        try:
            client = Client(server.port)
            while True:
                if "result" in client.call("run.start", goal=key, pipeline=PIPELINE, command_id=key):
                    return (time.perf_counter() - begun) * 1000
                time.sleep(0.001)
        except (OSError, ConnectionError):
            time.sleep(0.001)


def p99(values):
    return sorted(values)[max(0, -(-99 * len(values) // 100) - 1)]


def takeovers(servers, kind, rounds):
    times = []
    for number in range(rounds):
        active, standby = roles(servers)
        until_acknowledged(active, f"{kind} before {number}", time.perf_counter())
        time.sleep(0.3)
        begun = time.perf_counter()
        if kind == "kill":
            active.send(signal.SIGKILL)
        elif kind == "hang":
            active.send(signal.SIGSTOP)
        else:
            while "result" not in Client(active.port).call("cell.switch"):
                time.sleep(0.05)
                begun = time.perf_counter()
        times.append(until_acknowledged(standby, f"{kind} {number}", begun))
        if kind == "kill":
            active.process.wait()
            active.start()
        elif kind == "hang":
            active.send(signal.SIGCONT)
    return times


def run_bench(binary, base, *options):
    command = [binary.parent / "signalbox-bench", "--json", "--data", base, "--part", "cell", *options]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return finished.returncode, json.loads(finished.stdout)


def bench(binary, nodes, base, seconds):
    """Prints what the bench measures. Returns whether each figure meets its target."""
    nodes.query("create database bench")
    _, answer = run_bench(binary, base, "--engine", nodes.url("bench"), "--seconds", str(seconds))
    if not answer["ok"]:
        sys.exit(answer["error"]["message"])
    for each in answer["result"]["measurements"]:
        target = f" (target: {each['target_is'].replace('_', ' ')} {each['target']:g})" if "target" in each else ""
        sign = "   " if "target" not in each else "ok " if each["met"] else "NOT"
        print(f"{sign} {each['what']}: {each['value']:.4g} {each['unit']}{target}", flush=True)
    if nodes.query("select count(*) from pg_class where relname ~ '^(sb_|signalbox)'", "bench") != "0":
        sys.exit("the bench left its tables in the database")
    return answer["result"]["targets_met"]


def expect_refusals(binary, nodes, base):
    """Ends the program unless the bench needs a database, and leaves one alone that has a cell of others."""
    if run_bench(binary, base)[0] != 2:
        sys.exit("the bench measures a cell without a database")
    nodes.query("create table sb_cell (name text); insert into sb_cell values ('main')", "bench")
    code, answer = run_bench(binary, base, "--engine", nodes.url("bench"))
    if code != 2 or "has a cell" not in answer["error"]["message"]:
        sys.exit(f"the bench uses a database that has a cell: {answer}")
    if nodes.query("select name from sb_cell", "bench") != "main":
        sys.exit("the bench removed a cell of others")


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended
    binary = options.binary.resolve()
    base = pathlib.Path(tempfile.mkdtemp(prefix="cell-figures-"))
    base.chmod(0o755)
    found = {}
    nodes = Nodes(base)
    servers = tuple(Server(base, name, binary, nodes.url()) for name in "ab")
    try:
        are_met = bench(binary, nodes, base, 0.2 if options.smoke else options.seconds)
        if options.smoke:
            expect_refusals(binary, nodes, base)
            return 0
        for server in servers:
            server.start()
            server.await_role("active" if server is servers[0] else "standby")
        for kind in ("kill", "hang", "switch"):
            times = takeovers(servers, kind, options.rounds)
            found[kind] = p99(times)
            print(f"    takeover by {kind}: median {statistics.median(times):.0f} ms of {len(times)}", flush=True)
    finally:
        for server in servers:
            if getattr(server, "process", None):
                server.send(signal.SIGCONT)
                server.send(signal.SIGKILL)
                server.process.wait()
        nodes.stop()
        shutil.rmtree(base)
    texts = {"kill": "takeover after a kill", "hang": "takeover after a hang", "switch": "switch"}
    for name, value in found.items():
        is_met = value <= TARGETS[name]
        are_met = are_met and is_met
        print(f"{'ok ' if is_met else 'NOT'} {texts[name]}, p99: {value:.0f} ms (target: at most {TARGETS[name]})")
    return 0 if are_met else 1


if __name__ == "__main__":
    sys.exit(main())
