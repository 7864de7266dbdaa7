"""What clients saw: operations with the times of their call and return, and the faults meanwhile.

A history is kept as lines of JSON, one for each call, return and fault:

    {"call": 7, "client": "lock-1", "at": 123, "method": "lock.acquire", "params": {…}}
    {"return": 7, "at": 456, "answer": {"result": {…}}}            or {"error": {"code", "details"}}
    {"mark": "killed", "begin": 1, "end": 2}

Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
"""
import dataclasses
import json
import os
import pathlib
import threading
import time

# An answer with one of these means that the command was refused and has no effect.
WITHOUT_EFFECT = {"STORAGE_FULL", "OVERLOADED", "SHUTTING_DOWN"}
# An answer with this one says no more than no answer.
UNKNOWN = "UNKNOWN_OUTCOME"

# While one of these lasts, every lease may start anew.
RENEWING = {"killed", "stopped", "clock set", "jumped", "disk full"}


@dataclasses.dataclass(slots=True, eq=False)
class Operation:
    """A command as one client saw it. `return_ns` is None if it is open: nothing was answered."""
    number: int
    client: str
    method: str
    params: dict
    call_ns: int
    return_ns: int | None = None
    answer: dict | None = None
    # An open operation can't take effect later than this, since its server had ended; None: no bound.
    effect_ns: int | None = None
    # Names the repetitions of one command id, if there are several.
    group: str | None = None
    # The result that another repetition got, so the one that this one has if it takes effect.
    known: dict | None = None
    # This operation stands for all repetitions of its command id.
    merged: bool = False

    @property
    def is_open(self):
        return self.answer is None

    @property
    def result(self):
        return None if self.answer is None else self.answer.get("result")

    @property
    def error(self):
        return None if self.answer is None else self.answer.get("error", {}).get("code")

    @property
    def details(self):
        return self.answer["error"].get("details", {})

    @property
    def outcome(self):
        """The result that it has or, if it is open, would have as far as that is known."""
        return self.known if self.answer is None else self.answer.get("result")


@dataclasses.dataclass(slots=True)
class Mark:
    """A fault, from the moment before it to the moment after which it was over."""
    name: str
    begin_ns: int
    end_ns: int


@dataclasses.dataclass
class History:
    operations: list
    marks: list
    # False if leases may have started anew for reasons that no mark names.
    bounds_are_known: bool = True

    def prepared(self):
        """Returns the operations to be judged: without those that had no effect, groups named."""
        deaths = sorted(mark.end_ns for mark in self.marks if mark.name == "died")
        groups = {}
        operations = []
        for operation in self.operations:
            if operation.error in WITHOUT_EFFECT:
                continue
            if operation.error == UNKNOWN:
                operation.answer = operation.return_ns = None
            if operation.is_open:
                operation.effect_ns = next((at for at in deaths if at > operation.call_ns), None)
            operations.append(operation)
            if "command_id" in operation.params and not operation.merged:
                groups.setdefault(operation.params["command_id"], []).append(operation)
        for name, sent in groups.items():
            if len(sent) == 1 or sent[0].method == "run.start":  # its own key says replayed as well
                continue
            known = next((each.result for each in sent if each.result is not None
                          and is_remembered(each.method, each.result)), None)
            for each in sent:
                each.group = name
                if each.is_open:
                    each.known = known
        return operations


def is_remembered(method, result):
    """Returns whether the result is one that a repetition of the command gets again: it had an effect."""
    field = {"lock.release": "released", "tick.recover": "recovered", "station.claim": "claim",
             "step.next": "step", "run.pause": "changed", "run.resume": "changed"}.get(method)
    return field is None or bool(result.get(field))


def short_answer(answer):
    """Returns the answer of a server as it is kept: a result, or an error's code and details."""
    if "error" in answer:
        data = answer["error"].get("data", {})
        return {"error": {"code": data.get("code", str(answer["error"].get("code"))),
                          "details": data.get("details", {})}}
    return {"result": answer["result"]}


class Recorder:
    """Writes a history to a file, each line at once, so that a killed client's calls are kept. Any thread."""

    def __init__(self, path, first_number=0):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lock = threading.Lock()
        self.number = first_number

    def write(self, line):
        os.write(self.file, json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def call(self, client, method, params):
        """Keeps the call, before it is sent. Returns its number."""
        with self.lock:
            self.number += 1
            number = self.number
        self.write({"call": number, "client": client, "at": time.monotonic_ns(), "method": method,
                    "params": params})
        return number

    def answered(self, number, answer):
        self.write({"return": number, "at": time.monotonic_ns(), "answer": short_answer(answer)})

    def mark(self, name, begin_ns, end_ns):
        self.write({"mark": name, "begin": begin_ns, "end": end_ns})


def read(paths):
    """Returns the history in these files. A last line that a killed client cut is left out."""
    operations, marks = {}, []
    for path in paths:
        for line in pathlib.Path(path).read_text().split("\n"):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if "call" in entry:
                operations[entry["call"]] = Operation(entry["call"], entry["client"], entry["method"],
                                                      entry["params"], entry["at"],
                                                      merged=entry.get("merged", False))
            elif "return" in entry:
                operations[entry["return"]].return_ns = entry["at"]
                operations[entry["return"]].answer = entry["answer"]
            else:
                marks.append(Mark(entry["mark"], entry["begin"], entry["end"]))
    ordered = sorted(operations.values(), key=lambda each: (each.call_ns, each.number))
    # A history without marks is that of a kill sweep, whose kills aren't kept.
    return History(ordered, sorted(marks, key=lambda mark: mark.begin_ns), bool(marks))


def moments_of(operations, position):
    """Returns two moments between which the log got the event at that position, as far as answers show:
    the last call that was answered as of before it, and the first answer as of it or later."""
    begin_ns, end_ns = operations[0].call_ns, operations[-1].call_ns
    for each in operations:
        if not each.result or "position" not in each.result:
            continue
        if number_of(each.result["position"]) >= position:
            end_ns = min(end_ns, each.return_ns)
        elif "command_id" not in each.params:  # a repeated command is answered as it was at first
            begin_ns = max(begin_ns, each.call_ns)
    return begin_ns, end_ns


def number_of(value):
    """Returns a position or token, which is quoted if it is large."""
    return int(value)
