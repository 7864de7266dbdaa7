"""Measures a cell of two servers over PostgreSQL with two synchronous standbys, on this machine.

    python3 tests/crash/cell_figures.py build/signalbox
    python3 tests/crash/cell_figures.py build/signalbox --rounds 100

Takeovers after a kill, after a hang and by a switch: from the signal, or the request, to the first
command that the other server has acknowledged. Commits a second and the latency of a command under no
other load are ratios to a bare append to the same table of the same database, right beside it. Needs
PostgreSQL 15's programs, and root or the user that they run as. Exits 1 if a figure misses its target.
"""
import argparse
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
import threading
import time

PROGRAMS = [pathlib.Path("/usr/lib/postgresql/15/bin"),
            pathlib.Path(__file__).resolve().parents[2] / "build/postgresql/usr/lib/postgresql/15/bin"]
# ms at p99, or ratios.
TARGETS = {"kill": 300, "hang": 2000, "switch": 500, "lag": 50, "latency": 2, "commits": 0.5, "events": 30000,
           "idle": 6}
PIPELINE = {"name": "one", "station": [{"name": "work"}]}


def parse():
    parser = argparse.ArgumentParser(description="Measures a cell.")
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15, help="takeovers of each kind")
    parser.add_argument("--seconds", type=float, default=5, help="of each load")
    return parser.parse_args()


def unused_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Nodes:
    def __init__(self, base):
        self.base = base
        self.programs = next((each for each in PROGRAMS if (each / "initdb").exists()), None)
        if self.programs is None:
            sys.exit("PostgreSQL 15 isn't here: tools/check unpacks it")
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
        subprocess.run(self.command(name, arguments), user=self.user, check=True, cwd="/", stdout=subprocess.DEVNULL)

    def start(self, node):
        command = self.command("postgres", ["-D", self.base / f"n{node}", "-c", f"port={self.ports[node]}", "-c",
                                            f"cluster_name=n{node}"])
        log = open(self.base / f"n{node}.log", "ab")
        self.processes.append(subprocess.Popen(command, user=self.user, cwd="/", stdout=log, stderr=log))
        ready = self.command("pg_isready", ["-h", self.base, "-p", self.ports[node]])
        while subprocess.run(ready, stdout=subprocess.DEVNULL).returncode != 0:
            time.sleep(0.02)

    def query(self, statement):
        command = self.command("psql", ["-h", self.base, "-p", self.ports[0], "-U", "signalbox", "postgres", "-XAtqc",
                                        statement])
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def pgbench(self, seconds, script):
        """Returns the latencies, in ms, of one statement after the other on one connection."""
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "append.sql"
            file.write_text(script)
            command = self.command("pgbench", ["-h", self.base, "-p", self.ports[0], "-U", "signalbox", "-n", "-M",
                                               "prepared", "-T", max(1, int(seconds)), "-f", file, "-l", "postgres"])
            subprocess.run(command, cwd=scratch, check=True, capture_output=True)
            rows = "".join(each.read_text() for each in pathlib.Path(scratch).glob("pgbench_log.*"))
        return [int(row.split()[2]) / 1000 for row in rows.splitlines()]

    def url(self):
        return "postgresql://signalbox@" + ",".join(f"127.0.0.1:{port}" for port in self.ports) + "/postgres"

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
                                        stdin=subprocess.DEVNULL)

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
    while True:
        for server, other in (servers, servers[::-1]):
            if server.role() == "active":
                other.await_role("standby")
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


def lags(servers, count):
    """Returns how long after its acknowledgement each event reached a subscriber of the standby, in ms."""
    active, standby = roles(servers)
    client, follower = Client(active.port), Client(standby.port)
    position = follower.call("events.subscribe", types=["RunStarted"])["result"]["position"]
    came = {}

    def follow():
        while len(came) < count:
            message = json.loads(follower.answers.readline())
            event = message.get("params", {}).get("event")
            if event and event["position"] > position:
                came[event["run_id"]] = time.perf_counter()

    reader = threading.Thread(target=follow)
    reader.start()
    acknowledged = {}
    for number in range(count):
        run_id = client.call("run.start", goal=f"lag {number}", pipeline=PIPELINE)["result"]["run_id"]
        acknowledged[run_id] = time.perf_counter()
    reader.join()
    return [max(0.0, (came[run_id] - at) * 1000) for run_id, at in acknowledged.items()]


def latencies(client, seconds):
    times, until = [], time.perf_counter() + seconds
    while time.perf_counter() < until:
        begun = time.perf_counter()
        assert "result" in client.call("run.start", goal="latency", pipeline=PIPELINE)
        times.append((time.perf_counter() - begun) * 1000)
    return times


def load(nodes, active, seconds):
    """Returns commits and events a second with 512 to 1,024 commands under way."""
    client = Client(active.port)
    text = "".join(client.line("run.start", {"goal": "load", "pipeline": PIPELINE}) for _ in range(512)).encode()
    count = lambda: tuple(map(int, nodes.query("select count(*), max(last) from sb_entry").split("|")))
    begun, (links, events) = time.perf_counter(), count()
    client.socket.sendall(text)
    while time.perf_counter() < begun + seconds:
        client.socket.sendall(text)  # the next ones wait while those before are answered
        for _ in range(512):
            client.answers.readline()
    for _ in range(512):
        client.answers.readline()
    took = time.perf_counter() - begun
    links_after, events_after = count()
    return (links_after - links) / took, (events_after - events) / took


def main():
    options = parse()
    binary = options.binary.resolve()
    base = pathlib.Path(tempfile.mkdtemp(prefix="cell-figures-"))
    base.chmod(0o755)
    found = {}
    nodes = Nodes(base)
    servers = tuple(Server(base, name, binary, nodes.url()) for name in "ab")
    try:
        for server in servers:
            server.start()
            server.await_role("active" if server is servers[0] else "standby")
        wrote = "select sum(n_tup_ins + n_tup_upd) from pg_stat_user_tables"
        time.sleep(2)
        before = int(nodes.query(wrote))
        time.sleep(10)
        found["idle"] = (int(nodes.query(wrote)) - before) / 10

        nodes.query("create table bare (cell int, prev bigint, last bigint, before bigint, epoch bigint, head bytea,"
                    " bytes bytea, primary key (cell, prev)); alter table bare alter bytes set storage external;"
                    " create sequence bare_prev")
        append = ("insert into bare values (1, nextval('bare_prev'), 1, 1, 1, decode(repeat('00', 200), 'hex'),"
                  " decode(repeat('00', {bytes}), 'hex'));\n")
        active, _ = roles(servers)
        ratios = {"latency": [], "commits": []}
        rates = []
        for _ in range(3):
            bare = nodes.pgbench(options.seconds, append.format(bytes=900))
            ratios["latency"].append(p99(latencies(Client(active.port), options.seconds)) / p99(bare))
            commits, events = load(nodes, active, options.seconds)
            average = int(300 * events / max(commits, 1))
            bare = nodes.pgbench(options.seconds, append.format(bytes=average))
            ratios["commits"].append(commits / (1000 / statistics.mean(bare)))
            rates.append(events)
            print(f"  {commits:.0f} commits/s of {average} bytes, bare {1000 / statistics.mean(bare):.0f}; "
                  f"{events:.0f} events/s", flush=True)
        for name, values in ratios.items():
            found[name] = statistics.median(values)
        found["events"] = statistics.median(rates)
        found["lag"] = p99(lags(servers, 300))
        for kind in ("kill", "hang", "switch"):
            times = takeovers(servers, kind, options.rounds)
            found[kind] = p99(times)
            print(f"  {kind}: median {statistics.median(times):.0f} ms of {len(times)}", flush=True)
    finally:
        for server in servers:
            if getattr(server, "process", None):
                server.send(signal.SIGCONT)
                server.send(signal.SIGKILL)
                server.process.wait()
        nodes.stop()
        shutil.rmtree(base)
    texts = {"kill": "takeover after a kill, p99, ms", "hang": "takeover after a hang, p99, ms",
             "switch": "switch, p99, ms", "lag": "an event at a standby after its acknowledgement, p99, ms",
             "latency": "p99 of a command, of a bare append's", "commits": "commits a second, of bare appends'",
             "events": "events a second", "idle": "rows written a second by an idle cell"}
    failed = False
    for name, value in found.items():
        at_least = name in ("commits", "events")
        is_met = value >= TARGETS[name] if at_least else value <= TARGETS[name]
        failed = failed or not is_met
        print(f"{'ok ' if is_met else 'NOT'} {texts[name]}: {value:.2f} ({'at least' if at_least else 'at most'} "
              f"{TARGETS[name]})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
