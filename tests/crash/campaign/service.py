"""A server of the campaign's own: the real binary, started, asked, stopped or killed by its process id.

Every wait has an end, so a server that hangs is a finding and never holds the campaign up.
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

READY_SECONDS = 60
ANSWER_SECONDS = 30
STOP_SECONDS = 60
COMMAND_SECONDS = 120


class NoAnswer(Exception):
    """The server didn't answer: its outcome is unknown."""


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, error):
        super().__init__(error.get("message", ""))
        self.code = error.get("data", {}).get("code", str(error.get("code")))


def code_of_end(returncode):
    """Returns how a process ended, as text: `exit 78` or `signal 11`."""
    return f"exit {returncode}" if returncode >= 0 else f"signal {-returncode}"


class Service:
    """`signalbox serve` on a data directory, which may be one that it refuses."""

    def __init__(self, binary, data, options=(), environment=None):
        self.binary = str(binary)
        self.data = pathlib.Path(data)
        self.output = self.data.parent / f"{self.data.name}.output"
        self.connection = None
        with open(self.output, "ab") as output:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--data", self.data, "--default-pipeline", "workers", *options],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, **(environment or {})})

    def log(self):
        return self.output.read_text(errors="replace")

    def ended(self):
        """Returns None while the server runs, else how it ended."""
        returncode = self.process.poll()
        return None if returncode is None else code_of_end(returncode)

    def wait_until_ready(self):
        """Blocks until the server answers; returns False if it ended, or doesn't in READY_SECONDS."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return False
            try:
                self.call("server.status")
                return True
            except (NoAnswer, Refused):
                time.sleep(0.005)
        return False

    def call(self, method, **params):
        """Returns the result. Raises Refused for an error and NoAnswer if there is none."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            if self.connection is None:
                self.connection = socket.socket(socket.AF_UNIX)
                self.connection.settimeout(ANSWER_SECONDS)
                self.connection.connect(str(self.data / "signalbox.sock"))
            self.connection.sendall(json.dumps(request).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n"):
                more = self.connection.recv(1 << 20)
                if not more:
                    raise ConnectionError("the server closed the connection")
                line += more
        except OSError as error:
            self.disconnect()
            raise NoAnswer(str(error)) from error
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def disconnect(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def stop(self):
        """Ends the server as a service manager does and returns how it ended."""
        self.disconnect()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait(STOP_SECONDS)

    def wait(self, seconds):
        """Returns how the server ended; kills it if it doesn't in this time."""
        try:
            return code_of_end(self.process.wait(seconds))
        except subprocess.TimeoutExpired:
            self.kill()
            return f"no end in {seconds} s"

    def kill(self):
        self.disconnect()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def run_command(binary, *arguments, environment=None):
    """Runs a command of the binary to its end. Returns how it ended, its stdout, and its stderr."""
    command = [str(binary), *[str(each) for each in arguments]]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=COMMAND_SECONDS, env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired:
        return f"no end in {COMMAND_SECONDS} s", "", ""
    return (code_of_end(done.returncode), done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"))


def json_of(binary, *arguments):
    """Returns the result that a command prints with --json. Raises AssertionError if it fails."""
    end, out, err = run_command(binary, *arguments, "--json")
    assert end == "exit 0", f"{' '.join(map(str, arguments))}: {end}: {err or out}"
    return json.loads(out)["result"]


def all_events(service):
    """Returns every event that is in the log, by its position; from the horizon on, if there is one."""
    events, start = {}, {}
    while True:
        page = service.call("events.read", limit=1000, **start)
        for event in page["events"]:
            events[event["position"]] = event
        start = {"from": page["next_from"]}
        if not page["more"]:
            return events


def all_runs(service):
    """Returns every run as `run.list` shows it; waits while the read models are being rebuilt."""
    deadline = time.monotonic() + READY_SECONDS
    runs, cursor = [], None
    while True:
        try:
            page = service.call("run.list", limit=500, **({"cursor": cursor} if cursor else {}))
        except Refused as refused:
            if refused.code != "READ_MODELS_REBUILDING" or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
            continue
        runs += page["runs"]
        cursor = page["next_cursor"]
        if not cursor:
            return runs
