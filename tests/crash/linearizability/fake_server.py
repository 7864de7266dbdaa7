"""A small server of the test's own that keeps locks, runs and steps in memory, and breaks one promise.

Real clients talk to it over a socket, so that the whole way from a broken promise to a verdict is tried:
with the fault `none` their history must be linearizable, and with any other it mustn't be.
"""
import json
import socket
import threading
import time

FAULTS = ("none", "double grant", "lost release", "two claims of one step", "same key, two runs",
          "done twice")
STEPS = 400


class FakeServer:
    """Listens on `path` until it is closed. It breaks its promise whenever it can."""

    def __init__(self, path, fault):
        self.fault = fault
        self.position = 0
        self.locks, self.ended, self.keys, self.commands = {}, {}, {}, {}
        self.runs = {}
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)
        self.threads = []
        self.begin(self.accept)

    def begin(self, function, *arguments):
        self.threads.append(threading.Thread(target=function, args=arguments, daemon=True))
        self.threads[-1].start()

    def close(self):
        """Ends the server, whose clients have gone. Returns when its threads have ended."""
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.begin(self.serve, connection)

    def serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            try:
                for line in lines:
                    request = json.loads(line)
                    with self.lock:
                        answer = self.answer(request["method"], request["params"])
                    connection.sendall(json.dumps({"id": request["id"], **answer}).encode() + b"\n")
            except OSError:
                return

    def breaks(self, fault):
        """Returns whether this promise is the one to break."""
        return fault == self.fault

    def next_token(self):
        self.position += 1
        return self.position

    def answer(self, method, params):
        command_id = params.get("command_id")
        first = self.commands.get(command_id)
        if first is not None and method != "run.start" and not self.breaks("done twice"):
            return {"result": {**first, "replayed": True}}
        answer = getattr(self, method.replace(".", "_"))(params)
        result = answer.get("result")
        if result is not None:
            if command_id and result.get("released", True) and result.get("step", True):
                self.commands[command_id] = result
            answer = {"result": {**result, "position": self.position}}
        return answer

    @staticmethod
    def refusal(code, **details):
        return {"error": {"code": -1, "message": "", "data": {"code": code, "details": details}}}

    def holder(self, key):
        held = self.locks.get(key)
        if held is not None and time.monotonic() >= held["ends"]:
            self.ended[key] = {"token": held["token"], "ended": "expired"}
            del self.locks[key]
            held = None
        return held

    def lock_acquire(self, params):
        key, held = params["key"], self.holder(params["key"])
        extends = held and held["owner"] == params["owner"] and params.get("extend", True)
        if held and not extends and not self.breaks("double grant"):
            return self.refusal("LOCK_HELD", owner=held["owner"], token=held["token"])
        token = held["token"] if extends else self.next_token()
        lease_ms = params["lease_ms"]
        if extends:
            self.next_token()
            lease_ms = max(lease_ms, held["lease_ms"])
        self.locks[key] = {"owner": params["owner"], "token": token, "lease_ms": lease_ms,
                           "ends": time.monotonic() + lease_ms / 1000}
        return {"result": {"owner": params["owner"], "token": token, "extended": bool(extends)}}

    def not_owned(self, held):
        return self.refusal("LOCK_NOT_OWNED", current_owner=held["owner"] if held else "",
                            current_token=held["token"] if held else 0)

    def lock_refresh(self, params):
        held = self.holder(params["key"])
        if held is None or held["token"] != params["token"]:
            return self.not_owned(held)
        self.next_token()
        held["ends"] = time.monotonic() + held["lease_ms"] / 1000
        return {"result": {"token": held["token"]}}

    def lock_release(self, params):
        key, held = params["key"], self.holder(params["key"])
        if held is None and self.ended.get(key) != {"token": params["token"], "ended": "expired"}:
            return {"result": {"released": False}}
        if held is None or held["token"] != params["token"]:
            return self.not_owned(held)
        self.next_token()
        if not self.breaks("lost release"):
            del self.locks[key]
            self.ended[key] = {"token": held["token"], "ended": "released"}
        return {"result": {"released": True}}

    def lock_get(self, params):
        held = self.holder(params["key"])
        return {"result": {"lock": held and {"owner": held["owner"], "token": held["token"],
                                             "status": "held"},
                           "last": self.ended.get(params["key"])}}

    def run_start(self, params):
        key = params["idempotency_key"]
        request = json.dumps([params["goal"], params["pipeline"]], sort_keys=True)
        known = self.keys.get(key)
        if known is None or (known[1] == request and self.breaks("same key, two runs")):
            self.keys[key] = (f"run-{self.next_token()}", request)
            return {"result": {"run_id": self.keys[key][0], "replayed": False}}
        if known[1] != request:
            return self.refusal("IDEMPOTENCY_CONFLICT", run_id=known[0])
        return {"result": {"run_id": known[0], "replayed": True}}

    def steps_of(self, params):
        return self.runs.setdefault(params["run_id"], {
            f"s{number:03}": {"attempts": 0, "token": None, "lease_s": 0.0, "ends": 0.0, "done": False}
            for number in range(STEPS)})

    def plan_get(self, params):
        return {"result": {"settled": False, "token": 1, "plan_status": "set"}}

    def step_next(self, params):
        now = time.monotonic()
        for name, step in self.steps_of(params).items():
            taken = step["token"] is not None and now < step["ends"]
            if step["done"] or (taken and not self.breaks("two claims of one step")):
                continue
            step.update(attempts=step["attempts"] + 1, token=self.next_token(),
                        lease_s=params["lease_ms"] / 1000, ends=now + params["lease_ms"] / 1000)
            return {"result": {"step": {"run_id": params["run_id"], "step": name, "token": step["token"],
                                        "attempt": step["attempts"], "lease_ms": params["lease_ms"]}}}
        return {"result": {"step": None}}

    def end_step(self, params, done):
        step = self.steps_of(params)[params["step"]]
        if step["token"] != params["token"] or time.monotonic() >= step["ends"]:
            return self.refusal("STALE_TOKEN")
        self.next_token()
        step.update(token=None, done=done)
        return {"result": {"step": params["step"]}}

    def step_complete(self, params):
        return self.end_step(params, True)

    def step_fail(self, params):
        return self.end_step(params, False)

    def step_heartbeat(self, params):
        step = self.steps_of(params)[params["step"]]
        if step["token"] != params["token"] or time.monotonic() >= step["ends"]:
            return self.refusal("STALE_TOKEN")
        step["ends"] = time.monotonic() + step["lease_s"]
        return {"result": {}}
