"""Measures what many outside workers cost that only say that they live.

    python3 tests/crash/heartbeat_figures.py build/signalbox
    python3 tests/crash/heartbeat_figures.py build/signalbox --workers 4000 --every 10

Each worker has a connection of its own and holds several attempts, whose leases it renews. The
server's own processor time counts, as a share of one core, so that what the workers use on the same
machine doesn't; so do the events that the log gets, and what a claim takes more than another command
that is recorded, a lock's, right beside it: both wait for the disk. Exits 1 if a figure is over its
target.
"""
import argparse
import json
import os
import pathlib
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent / "campaign"))

from service import Service

SLICES_PER_SECOND = 20
STARTS_AT_ONCE = 200
PIPELINE = {"name": "held", "station": [{"name": "work", "heartbeat_timeout": "10m", "timeout": "24h"}]}
# Percent of a core, ms, MiB.
TARGETS = {"core": 10, "claim": 1, "memory": 256}


def parse():
    parser = argparse.ArgumentParser(description="Measures what heartbeats cost.")
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--attempts", type=int, default=8, help="that each worker holds")
    parser.add_argument("--every", type=float, default=30, help="seconds between two heartbeats of an attempt")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


class Worker:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        self.answers = self.socket.makefile("rb")
        self.held = []

    def send(self, method, all_params):
        lines = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": each}) for each in all_params]
        self.socket.sendall("".join(f"{line}\n" for line in lines).encode())

    def read(self, count):
        answers = [json.loads(self.answers.readline()) for _ in range(count)]
        assert all("result" in each for each in answers), answers
        return [each["result"] for each in answers]

    def ask(self, method, params):
        """Returns the result, and how many seconds it took."""
        began = time.perf_counter()
        self.send(method, [params])
        [result] = self.read(1)
        return result, time.perf_counter() - began

    def claim(self):
        """Claims one attempt. Returns how many seconds that took, and how many a lock beside it."""
        _, lock = self.ask("lock.acquire", {"key": "figures", "owner": "figures"})
        result, taken = self.ask("station.claim", {"worker": "figures"})
        claim = result["claim"]
        self.held.append({"run_id": claim["run_id"], "station": "work", "token": claim["token"]})
        return taken, lock


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the server has no memory")


def beat_all(workers, seconds):
    """Renews the lease of each attempt once, spread over this time."""
    all_held = [(worker, held) for worker in workers for held in worker.held]
    slices = max(1, int(seconds * SLICES_PER_SECOND))
    began = time.monotonic()
    for number in range(slices):
        part = all_held[len(all_held) * number // slices:len(all_held) * (number + 1) // slices]
        by_worker = {}
        for worker, held in part:
            by_worker.setdefault(worker, []).append(held)
        for worker, held in by_worker.items():
            worker.send("station.heartbeat", held)
        for worker, held in by_worker.items():
            worker.read(len(held))
        time.sleep(max(0, began + (number + 1) / SLICES_PER_SECOND - time.monotonic()))


def report(name, value, unit, target, what):
    is_met = value <= target
    print(f"{'✔' if is_met else '✖'} {name:12} {value:8.2f} {unit:9} ≤ {target:<5} {what}", flush=True)
    return is_met


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as scratch, Service(options.binary, pathlib.Path(scratch) / "data") as service:
        assert service.wait_until_ready(), service.log()
        workers = [Worker(service.data / "signalbox.sock") for _ in range(options.workers)]
        attempts = options.workers * options.attempts
        for begun in range(0, attempts, STARTS_AT_ONCE):
            count = min(STARTS_AT_ONCE, attempts - begun)
            workers[0].send("run.start", [{"goal": "held", "pipeline": PIPELINE}] * count)
            workers[0].read(count)
        claims, locks = map(sorted, zip(*(worker.claim() for _ in range(options.attempts) for worker in workers)))
        beat_all(workers, options.every)  # the first of an attempt is recorded
        shares = []
        events = 0
        for _ in range(options.rounds):
            before, began = processor_seconds(service.process), time.monotonic()
            position = service.call("server.status")["position"]
            beat_all(workers, options.every)
            events += service.call("server.status")["position"] - position
            shares.append(100 * (processor_seconds(service.process) - before) / (time.monotonic() - began))
        of = f"of {attempts} attempts every {options.every:g} s"
        met = [report("core", sorted(shares)[len(shares) // 2], "% of one", TARGETS["core"], f"heartbeats {of}"),
               report("events", events / options.rounds, "a round", attempts / 100,
                      "that the log gets meanwhile, those of the service's loops as well"),
               report("claim", 1000 * (claims[len(claims) // 2] - locks[len(locks) // 2]), "ms", TARGETS["claim"],
                      "p50 of a claim, more than a lock beside it; p99 of both: "
                      f"{1000 * claims[int(0.99 * len(claims))]:.2f} and {1000 * locks[int(0.99 * len(locks))]:.2f}"),
               report("memory", resident_mib(service.process), "MiB", TARGETS["memory"],
                      f"resident, with {options.workers} connections")]
        return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
