"""Runs clients against the real server while it is killed, stopped, deprived of space and of its clock, and
returns what they saw."""
import ctypes
import mmap
import os
import pathlib
import random
import signal
import struct
import time

import clients
import history
from service import NoAnswer, Refused, Service
from small_disk import NotPossible, SmallDisk

# Each process is stopped and killed by itself. Workers of one kind compete with one another.
PROCESSES = (("lock-1", "lock-2", "tick-1", "run-1"), ("lock-3", "lock-4", "step-1", "run-2"),
             ("lock-5", "tick-2", "step-2", "run-3"), ("lock-6", "tick-3", "step-3", "follow-1"))
OPERATIONS_A_ROUND = (150, 450)
PATIENCE_SECONDS = 120
# Less than RocksDB would like to reserve for a write-ahead log, so that the disk is full at once.
DISK_BYTES = 112 << 20
NUMBERS_OF_A_PROCESS = 10_000_000
PR_SET_PDEATHSIG = 1
FAKETIME = [pathlib.Path(folder) / "faketime/libfaketimeMT.so.1"
            for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu")]


class Stuck(Exception):
    """The server ended by itself, or the clients made no progress."""


class Shared:
    """Memory that the sweep shares with its clients: whether to stop, and how much each process did. It
    has no lock, which a killed client might keep."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 4096)

    def stop(self):
        self.memory[0] = 1

    def stopping(self):
        return self.memory[0] == 1

    def add(self, number):
        place = 8 * (number + 1)
        (count,) = struct.unpack_from("Q", self.memory, place)
        struct.pack_into("Q", self.memory, place, count + 1)

    def total(self):
        return sum(struct.unpack_from("511Q", self.memory, 8))


class Sweep:
    def __init__(self, binary, scratch, seed, rounds, say=print):
        self.binary, self.scratch, self.seed, self.rounds = binary, scratch, seed, rounds
        self.say = say
        self.random = random.Random(seed)
        self.data = scratch / "data"
        self.data.mkdir()
        self.shared = Shared()
        self.children = {}  # process id: names
        self.files = []
        self.started = 0
        self.server = None
        self.clock = scratch / "offset"
        self.set_clock("+0s")
        self.library = next((each for each in FAKETIME if each.exists()), None)
        self.marks = history.Recorder(self.new_file())
        self.faults = {}
        try:
            self.disk = SmallDisk(self.data, DISK_BYTES)
        except NotPossible as why:
            self.disk = None
            self.leave_out(f"no full disks, since none can be mounted here: {why}")
        if self.library is None:
            self.leave_out("no clock is set, since libfaketime is missing: tools/packages faketime")

    def leave_out(self, fault):
        """A machine that can't do a fault leaves it out, unless it is one where nobody would notice."""
        self.say(fault)
        if os.environ.get("CI"):
            raise Stuck(f"{fault}; where CI is set this is a failure: see tools/check")

    def new_file(self):
        self.files.append(self.scratch / f"history-{len(self.files)}.jsonl")
        return self.files[-1]

    def set_clock(self, offset):
        following = self.clock.with_suffix(".next")
        following.write_text(offset + "\n")
        following.rename(self.clock)

    def mark(self, name, begin_ns):
        self.marks.mark(name, begin_ns, time.monotonic_ns())
        self.faults[name] = self.faults.get(name, 0) + 1

    # The server.

    def launch(self):
        environment = {} if self.library is None else {
            "LD_PRELOAD": str(self.library), "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
        self.server = Service(self.binary, self.data, environment=environment)

    def start(self):
        """Starts the server. One that was killed while it began a job may leave its data directory in use
        for as long as that child needs to become another program: as service managers do, try again."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.launch()
            if self.server.wait_until_ready():
                return
            if time.monotonic() > deadline or "is in use by" not in self.server.log()[-500:]:
                raise Stuck(f"the server doesn't start: {self.server.log()[-2000:]}")

    def end_server(self):
        begin_ns = time.monotonic_ns()
        self.server.kill()
        self.mark("died", begin_ns)

    def kill(self):
        """Kills the server and starts it again, sometimes after another kill while it recovers."""
        begin_ns = time.monotonic_ns()
        self.end_server()
        if self.random.randrange(5) == 0:
            self.launch()
            time.sleep(self.random.uniform(0, 0.06))
            self.end_server()
        if self.disk is not None:
            self.disk.make_space()
        self.start()
        self.mark("killed", begin_ns)

    # The other faults.

    def stop_server(self):
        begin_ns = time.monotonic_ns()
        self.server.process.send_signal(signal.SIGSTOP)
        time.sleep(self.random.choice((0.1, 0.3, 1.3)))
        self.server.process.send_signal(signal.SIGCONT)
        self.mark("stopped", begin_ns)

    def stop_client(self):
        """Stops clients for longer than most leases."""
        child = self.random.choice(sorted(self.children))
        begin_ns = time.monotonic_ns()
        os.kill(child, signal.SIGSTOP)
        time.sleep(self.random.uniform(0.05, 0.4))
        os.kill(child, signal.SIGCONT)
        self.mark("client stopped", begin_ns)

    def kill_client(self):
        child = self.random.choice(sorted(self.children))
        begin_ns = time.monotonic_ns()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.start_clients(self.children.pop(child))
        self.mark("client killed", begin_ns)

    def jump(self):
        begin_ns = time.monotonic_ns()
        self.set_clock(self.random.choice(("+1h", "-2h", "+90s", "+0s")))
        self.mark("clock set", begin_ns)

    def fill_disk(self):
        begin_ns = time.monotonic_ns()
        self.disk.fill()
        self.wait_for(lambda: self.server.call("server.status")["storage_full"], "the disk is full")
        if self.random.randrange(2):
            self.disk.make_space()
            self.progress(50)
        self.mark("disk full", begin_ns)

    # The clients.

    def start_clients(self, names):
        self.started += 1
        number = self.started
        file = self.new_file()
        names = [f"{name.split('/')[0]}/{number}" for name in names]
        child = os.fork()
        if child == 0:
            try:
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                clients.run_clients(names, self.seed, self.data / "signalbox.sock", file,
                                    number * NUMBERS_OF_A_PROCESS, self.shared.stopping,
                                    lambda: self.shared.add(number))
            finally:
                os._exit(0)
        self.children[child] = names

    def end_clients(self):
        self.shared.stop()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.children:
            child, _ = os.waitpid(-1, os.WNOHANG)
            self.children.pop(child, None)
            if time.monotonic() > deadline:
                raise Stuck(f"clients don't end: {list(self.children.values())}")
            if child == 0:
                time.sleep(0.002)

    def kill_clients(self):
        for child in self.children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self.children.clear()

    def kill_jobs(self):
        """Ends the jobs of the deep work, which outlive their server: processes that name its directory."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
                if os.fsencode(self.data) in told and int(process.name) != os.getpid():
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                continue  # it has ended, or is somebody else's

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if condition():
                    return
            except (NoAnswer, Refused):
                pass
            if self.server.ended() is not None:
                raise Stuck(f"the server ended by itself ({self.server.ended()}): {self.server.log()[-2000:]}")
            if time.monotonic() > deadline:
                raise Stuck(f"waited {PATIENCE_SECONDS} s until {what}")
            time.sleep(0.002)

    def progress(self, operations):
        """Waits until the clients have got so many more answers."""
        wanted = self.shared.total() + operations
        self.wait_for(lambda: self.shared.total() >= wanted, f"{operations} more answers came")

    def run(self):
        """Returns the history. Raises Stuck if it has no end."""
        try:
            self.start()
            for names in PROCESSES:
                self.start_clients(names)
            others = [self.stop_server, self.stop_client, self.kill_client]
            if self.library is not None:
                others.append(self.jump)
            if self.disk is not None:
                others.append(self.fill_disk)
            plan = []
            for _ in range(self.rounds):
                self.progress(self.random.randrange(*OPERATIONS_A_ROUND))
                if not plan:
                    plan = self.random.sample(others, len(others))
                plan.pop()()
                if self.disk is None or not self.disk.ballast.exists():
                    self.progress(self.random.randrange(*OPERATIONS_A_ROUND))
                self.kill()
            self.progress(OPERATIONS_A_ROUND[1])
            self.end_clients()
            jumps = self.jumps()
            end = self.server.stop()
            if end != "exit 0":
                raise Stuck(f"the server ended with {end}: {self.server.log()[-2000:]}")
        finally:
            self.kill_clients()
            if self.server is not None:
                self.server.kill()
            self.kill_jobs()
            if self.disk is not None:
                self.disk.unmount()
        operations = history.read(self.files).operations
        for position, elapsed_ns in jumps:
            begin_ns, end_ns = history.moments_of(operations, position)
            self.marks.mark("jumped", begin_ns - elapsed_ns, end_ns)
        self.faults["jumped"] = len(jumps)
        return history.read(self.files)

    def jumps(self):
        """Returns where the server recorded that its clocks jumped, and for how long it hadn't looked. On a
        slow machine it finds that nobody stopped but the machine. Leases start anew then, as they have to."""
        found, start = [], {}
        while True:
            page = self.server.call("events.read", types=["ClockJumped"], limit=1000, **start)
            found += [(int(event["position"]), int(event["data"]["monotonic_ms"]) * 1_000_000)
                      for event in page["events"]]
            start = {"from": page["next_from"]}
            if not page["more"]:
                return found
