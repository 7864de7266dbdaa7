"""Checks that the bare path, which the bench compares the service with, does what its answers say.

    python3 tests/crash/bare_path.py build/signalbox-bench

A bound that skips work would make every ratio to it wrong. So it runs under strace, clients take runs
through their stations, and then it is killed. Every answer has to name a position whose record was
written and synced before the answer left; the chain of digests has to fit; each event has to be there
once, in an order that the rules allow; and what the rules forbid has to be refused.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

STATIONS = ["intake", "plan", "implement", "verify", "create_pr"]
CLIENTS = 8
RUNS = 24
READY_SECONDS = 60
RUN_STARTED, STATION_CLAIMED, STATION_COMPLETED, RUN_ENDED = 1, 2, 3, 4
Record = collections.namedtuple("Record", "position type run station token end")


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(READY_SECONDS)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rb")
        self.claim = None

    def send(self, method, **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def receive(self):
        return json.loads(self.lines.readline())

    def call(self, method, **params):
        self.send(method, **params)
        return self.receive()


def connect(path, process):
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            return Client(path)
        except OSError:
            time.sleep(0.01)
    raise SystemExit("the bare path doesn't serve")


def start_run(client):
    return client.call("run.start", goal="measure",
                       pipeline={"name": "bench", "station": [{"name": name} for name in STATIONS]})


def completion(claim, **changes):
    return {"run_id": claim["run_id"], "station": claim["station"], "token": claim["token"],
            "outcome": "succeeded", "claim_next": True} | changes


def check(fact, what):
    if not fact:
        raise SystemExit(f"bare path: {what}")


def refuse_what_is_wrong(path, process):
    """Returns the number of runs that it left open."""
    first, second = connect(path, process), connect(path, process)
    first.send("station.claim", worker="first")
    check(first.call("server.status") == {"jsonrpc": "2.0", "id": 1, "result": {}}, "a claim waits without work")
    check("result" in start_run(second), "a run starts")
    claim = first.receive()["result"]["claim"]
    for change in ({"token": claim["token"] + 1}, {"station": "plan"}, {"outcome": "failed"},
                   {"run_id": "00000000-0000-4000-8000-000000000000"}):
        check("error" in second.call("station.complete", **completion(claim, **change)), f"it takes {change}")
    done = first.call("station.complete", **completion(claim, claim_next=False))["result"]
    check("claim" not in done, "it gives a claim that nobody asked for")
    check("error" in first.call("station.complete", **completion(claim)), "it completes a station twice")
    check("error" in first.call("run.start", pipeline={}), "it starts a run without stations")
    for line in (b"{", b"[]", b'{"id":1}', b'{"id":1,"method":"x","params":{}}'):
        first.socket.sendall(line + b"\n")
        check("error" in first.receive(), f"it takes {line}")
    # A connection that closes takes its waiting claim with it: the work goes to the next.
    gone = connect(path, process)
    last = first.call("station.claim", worker="first")["result"]["claim"]
    check(last["station"] == "plan", "the run goes on with its next station")
    gone.send("station.claim", worker="gone")
    check("result" in gone.call("server.status"), "it answers while a claim waits")
    gone.socket.close()
    return 1


def work(path, process):
    clients = [connect(path, process) for _ in range(CLIENTS)]
    for number in range(RUNS):
        check("result" in start_run(clients[number % CLIENTS]), "a run starts")
    succeeded = 0
    for number, client in enumerate(clients):
        client.claim = client.call("station.claim", worker=f"worker-{number}")["result"]["claim"]
    while any(client.claim for client in clients):
        busy = [client for client in clients if client.claim]
        for client in busy:  # all at once, so that some share a sync
            client.send("station.complete", **completion(client.claim))
        for client in busy:
            answer = client.receive()["result"]
            check(answer["station_status"] == "succeeded", "a station is completed")
            succeeded += answer["run_status"] == "succeeded"
            client.claim = answer.get("claim")
    check(succeeded == RUNS, f"{succeeded} of {RUNS} runs succeeded")


def records_of(file):
    """Reads the records, and checks the chain of digests."""
    data, at, digest, records = file.read_bytes(), 0, bytes(32), []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        body = data[at + 36:at + 36 + length]
        digest = hashlib.sha256(digest + body).digest()
        check(len(body) == length and digest == data[at + 4:at + 36], f"the digest of the record at byte {at} fits")
        position, _, kind, run, station, token, text_bytes = struct.unpack_from("<Qqb16sIQI", body)
        at += 36 + length
        check(struct.calcsize("<Qqb16sIQI") + text_bytes == length, "a record has what its length says")
        records.append(Record(position, kind, run, station, token, at))
    return records


def check_story(records):
    """Each run's events are those of a run, with the tokens of its claims."""
    runs = {}
    for index, record in enumerate(records):
        check(record.position == index + 1, "positions have no gap")
        station, token = runs.get(record.run, (None, 0))
        if record.type == RUN_STARTED:
            check(record.run not in runs, "a run starts once")
            runs[record.run] = (0, 0)
        elif record.type == STATION_CLAIMED:
            check(token == 0 and record.station == station, "a station has one holder at a time")
            runs[record.run] = (station, record.position)
        elif record.type == STATION_COMPLETED:
            check(token == record.token != 0 and record.station == station, "who completes holds the token")
            runs[record.run] = (station + 1, 0)
        else:
            check(record.type == RUN_ENDED and station == len(STATIONS), "a run ends after its stations")
            runs[record.run] = (None, 0)
    return runs


def check_syncs(trace, records):
    """No answer left before the record at its position was written and synced. Returns the syncs."""
    written = synced = syncs = answers = 0
    ends = {record.position: record.end for record in records}
    for line in trace.read_text().splitlines():
        if match := re.search(r"\bwrite\(\d+<[^>]*records>.*= (\d+)$", line):
            written += int(match[1])
        elif re.search(r"\bfdatasync\(\d+<[^>]*records>\) *= 0$", line):
            synced, syncs = written, syncs + 1
        elif re.search(r"\bsendto\(", line):
            for position in re.findall(r'\\"position\\":(\d+)', line):
                answers += 1
                check(synced >= ends[int(position)], f"the answer at position {position} left before its sync")
    check(answers > RUNS * len(STATIONS), "the trace has the answers")
    return syncs


def main():
    parser = argparse.ArgumentParser(description="Checks that the bare path does what it says.")
    parser.add_argument("program", type=pathlib.Path)
    program = parser.parse_args().program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        data, trace = pathlib.Path(folder) / "data", pathlib.Path(folder) / "trace"
        path = data / "socket"
        process = subprocess.Popen(
            ["strace", "-f", "-y", "-s", "100000", "-e", "trace=write,fdatasync,sendto", "-o", str(trace),
             str(program), "bare-path", "--data", str(data), "--socket", str(path)])
        try:
            left_open = refuse_what_is_wrong(path, process)
            work(path, process)
        finally:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            for child in children.read_text().split() if children.exists() else []:
                subprocess.run(["kill", f"-{signal.SIGKILL.value}", child], check=True)
            process.wait(READY_SECONDS)
        records = records_of(data / "records")
        runs = check_story(records)
        unfinished = sum(station is not None for station, _ in runs.values())
        check(len(runs) == RUNS + left_open and unfinished == left_open, f"{unfinished} runs are open")
        syncs = check_syncs(trace, records)
        print(f"{len(records)} records, {syncs} syncs: every answer was durable")


if __name__ == "__main__":
    sys.exit(main())
