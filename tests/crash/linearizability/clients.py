"""The clients of a history: workers that compete for locks, ticks, runs and steps over the Unix socket.

Each works through a plan that its seed decides. It keeps every call before it is sent and every answer
when it has come. Now and then it gives up on a request at once, repeats one that was answered, or
repeats one long after: with the same command id, so that it must have one effect.
"""
import json
import random
import socket
import threading
import time

from history import Recorder

ANSWER_SECONDS = 60
FOLLOW_SECONDS = 1  # a follower without an event for so long begins anew
KEYS = 3
LOOPS = 2
LEASES_MS = (20, 60, 200, 1000)
STEPS = 8
PIPELINE = {"name": "outside", "station": [
    {"name": name, "retry": {"max_retries": 100, "backoff": "1ms"}} for name in ("plan", "implement")]}
DEEP_PIPELINE = {"name": "deep", "station": [{
    "name": "build", "executor": "deep_work", "retry": {"max_retries": 100, "backoff": "1ms"},
    "deep_work": {"max_steps": STEPS, "max_retries": 100, "explore": {"worker": True},
                  "plan": {"worker": True}}}]}


class NoAnswer(Exception):
    """The connection was lost before an answer, which may mean anything."""


class Line:
    """A connection of the line protocol."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(ANSWER_SECONDS)
        self.received = b""
        try:
            self.socket.connect(str(path))
        except OSError as error:
            self.close()
            raise NoAnswer(str(error)) from error

    def close(self):
        self.socket.close()

    def send(self, method, params):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            self.socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise NoAnswer(str(error)) from error

    def message(self):
        while b"\n" not in self.received:
            try:
                more = self.socket.recv(1 << 16)
            except OSError as error:
                raise NoAnswer(str(error)) from error
            if not more:
                raise NoAnswer("the connection was closed")
            self.received += more
        line, self.received = self.received.split(b"\n", 1)
        return json.loads(line)


class Worker:
    """A client with a name, a connection, and a record. `stopping()` says when to end, `done()` counts."""

    def __init__(self, name, seed, path, recorder, stopping, done=lambda: None):
        self.name = name
        self.random = random.Random(f"{seed}-{name}")
        self.path = path
        self.recorder = recorder
        self.stopping = stopping
        self.done = done
        self.line = None
        self.commands = 0
        self.late = []  # commands to be repeated later, whatever became of them

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def connect(self):
        while self.line is None and not self.stopping():
            try:
                self.line = Line(self.path)
            except NoAnswer:
                time.sleep(0.002)

    def disconnect(self):
        if self.line is not None:
            self.line.close()
        self.line = None

    def once(self, method, params, give_up=False):
        """Sends a request. Returns the answer, or None if there is none."""
        self.connect()
        if self.line is None:
            return None
        number = self.recorder.call(self.name, method, params)
        try:
            self.line.send(method, params)
            if give_up:
                raise NoAnswer("given up")
            answer = self.line.message()
        except NoAnswer:
            self.disconnect()
            return None
        self.recorder.answered(number, answer)
        self.done()
        return answer

    def ask(self, method, **params):
        """Returns the result of a query, or None."""
        answer = self.once(method, params)
        return None if answer is None else answer.get("result")

    def command(self, method, **params):
        """Sends a command until it is answered, unless the client gives it up. Returns (result, code)."""
        self.commands += 1
        params["command_id"] = f"{self.name}-{self.commands}"
        if self.chance(2):
            self.once(method, params, give_up=True)
            self.late.append((method, params))
            return None, "GIVEN_UP"
        while True:
            answer = self.once(method, params)
            if answer is None:
                if self.stopping() or self.chance(10):
                    self.late.append((method, params))
                    return None, "GIVEN_UP"
                continue
            code = answer.get("error", {}).get("data", {}).get("code")
            if code in ("STORAGE_FULL", "SHUTTING_DOWN", "UNKNOWN_OUTCOME", "OVERLOADED"):
                if self.stopping():
                    return None, code
                time.sleep(0.005)
                continue
            if self.chance(4):
                self.late.append((method, params))
            return answer.get("result"), code

    def run(self):
        while not self.stopping():
            if self.late and self.chance(20):
                self.once(*self.late.pop(self.random.randrange(len(self.late))))
            self.turn()
        self.disconnect()


class LockWorker(Worker):
    """Takes locks, extends them, gives them back or forgets them, and uses old tokens."""
    held = None
    old = None

    def turn(self):
        key = f"lock-{self.random.randrange(KEYS)}"
        if self.chance(15):
            self.ask("lock.get", key=key)
        elif self.old and self.chance(15):
            self.command(self.random.choice(("lock.refresh", "lock.release")), key=self.old[0],
                         token=self.old[1])
        elif self.held is None:
            self.acquire(key)
        elif self.chance(30):
            _, code = self.command("lock.refresh", key=self.held[0], token=self.held[1])
            if code == "LOCK_NOT_OWNED":
                self.forget()
        elif self.chance(70):
            self.command("lock.release", key=self.held[0], token=self.held[1])
            self.forget()
        elif self.chance(50):
            self.forget()
        else:
            self.acquire(self.held[0])

    def acquire(self, key):
        owner = "both" if self.chance(10) else self.name
        params = {"key": key, "owner": owner, "lease_ms": self.random.choice(LEASES_MS)}
        if self.chance(30):
            params["wait_ms"] = self.random.choice((20, 300))
        if self.chance(20):
            params["extend"] = False
        result, _ = self.command("lock.acquire", **params)
        if result:
            self.held = (key, result["token"])

    def forget(self):
        self.old, self.held = self.held, None


class TickWorker(Worker):
    """Begins and ends ticks, and recovers loops that halted."""
    token = None

    def turn(self):
        loop = f"loop-{self.random.randrange(LOOPS)}" if self.token is None else self.token[0]
        if self.token is not None:
            if self.chance(85):
                self.command("tick.end", loop=loop, token=self.token[1],
                             outcome=self.random.choice(("succeeded", "failed")))
            self.token = None
            return
        result, code = self.command("tick.begin", loop=loop, lease_ms=self.random.choice(LEASES_MS))
        if result:
            self.token = (loop, result["token"])
        elif code == "PREVIOUS_TICK_INCOMPLETE" and self.chance(60):
            self.command("tick.recover", loop=loop, reason="looked at it")
        elif code == "TICK_IN_PROGRESS" and self.chance(5):
            self.command("tick.recover", loop=loop, reason="in the way", force=True)


class RunWorker(Worker):
    """Starts the runs of keys that all such workers share, and does their stations."""
    key = 1
    run_id = None

    def turn(self):
        if self.run_id is None:
            self.start("run", PIPELINE)
            return
        if self.chance(6):
            self.command(self.random.choice(("run.pause", "run.cancel")), run_id=self.run_id, reason="enough")
            return
        result, code = self.command("station.claim", worker=self.name, run_id=self.run_id,
                                    lease_ms=self.random.choice(LEASES_MS))
        if code == "RUN_TERMINAL":
            self.next_key()
        elif result and result["claim"]:
            self.work(result["claim"])
        elif self.chance(25):  # it may be paused
            self.command("run.resume", run_id=self.run_id)
        elif self.chance(8):  # somebody holds it, perhaps for long
            self.next_key()

    def next_key(self):
        self.key, self.run_id = self.key + 1, None

    def start(self, name, pipeline):
        goal = "another" if self.chance(5) else "survive"
        result, _ = self.command("run.start", goal=goal, idempotency_key=f"{name}-{self.key}",
                                 pipeline=pipeline)
        if result:
            self.run_id = result["run_id"]

    def work(self, claim):
        held = {name: claim[name] for name in ("run_id", "station", "token")}
        while self.chance(25):
            self.command("station.heartbeat", **held)
        if self.chance(15):
            return  # its lease will end
        if self.chance(25):
            self.command("station.complete", outcome="failed", error_class="transient", **held)
        else:
            self.command("station.complete", outcome="succeeded", **held)
            if self.chance(10):  # once more, under another command id
                self.command("station.complete", outcome="succeeded", **held)


class StepWorker(RunWorker):
    """Plans the deep work of runs that all such workers share, and does its steps."""

    def turn(self):
        if self.run_id is None:
            self.start("deep", DEEP_PIPELINE)
            return
        plan = self.ask("plan.get", run_id=self.run_id)
        if plan is None:
            run = self.ask("run.get", run_id=self.run_id)
            if run and run["run"].get("ended_at"):
                self.next_key()
            return
        if plan["settled"] or plan["token"] is None:
            self.next_key()
            return
        station = {"run_id": self.run_id, "station": "build", "token": plan["token"]}
        if plan["plan_status"] == "exploring":
            self.command("plan.set_exploration", files=["a.c"], **station)
        elif plan["plan_status"] == "planning":
            self.command("plan.set", steps=[{"id": f"s{number}"} for number in range(STEPS)], **station)
        else:
            for _ in range(self.random.randrange(1, 8)):
                if self.run_id is not None:
                    self.step()

    def step(self):
        result, _ = self.command("step.next", worker=self.name, run_id=self.run_id,
                                 lease_ms=self.random.choice(LEASES_MS))
        if not result or not result["step"]:
            if self.chance(5):
                self.next_key()
            return
        held = {name: result["step"][name] for name in ("run_id", "step", "token")}
        while self.chance(20):
            self.command("step.heartbeat", **held)
        if self.chance(15):
            return
        if self.chance(25):
            self.command("step.fail", error_class="transient", **held)
        else:
            self.command("step.complete", **held)
            if self.chance(10):
                self.command("step.complete", **held)


class Follower(Worker):
    """Lists the locks, follows the events from there, lists again, and keeps what it saw."""

    def turn(self):
        listed = self.locks()
        if listed is None:
            return
        number = self.recorder.call(self.name, "follow", {})
        line = None
        try:
            line = Line(self.path)
            line.socket.settimeout(FOLLOW_SECONDS)
            start, before = listed
            line.send("events.subscribe", {"from": start + 1})
            if "result" not in line.message():
                return
            events, until, after = [], None, None
            wanted = self.random.randrange(20, 200)
            while until is None or (events[-1][0] if events else start) < until:
                if self.stopping():
                    return
                event = line.message()["params"]
                if "data" not in event:  # a broadcast
                    continue
                events.append([int(event["position"]), event["type"], event["data"].get("key"),
                               event["data"].get("token")])
                if until is None and len(events) >= wanted:
                    again = self.locks()
                    if again is None:
                        return
                    until, after = again
            self.recorder.answered(number, {"result": {"from": start + 1, "until": until,
                                                       "before": before, "events": events,
                                                       "after": after}})
            self.done()
        except NoAnswer:
            return  # what it saw so far proves nothing
        finally:
            if line is not None:
                line.close()

    def locks(self):
        result = self.ask("lock.list", limit=1000)
        if result is None:
            return None
        return int(result["position"]), [[lock["key"], int(lock["token"])] for lock in result["locks"]]


KINDS = {"lock": LockWorker, "tick": TickWorker, "run": RunWorker, "step": StepWorker,
         "follow": Follower}


def run_clients(names, seed, path, file, first_number, stopping, done):
    """Runs these clients, each on a thread, until `stopping`. Returns when all have ended."""
    recorder = Recorder(file, first_number)
    threads = [threading.Thread(target=KINDS[name.split("-")[0]](
        name, seed, path, recorder, stopping, done).run, daemon=True) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
