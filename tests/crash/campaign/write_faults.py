"""Fails the n-th call that writes into a part of the data directory, for n = 1, 2, … until none fails.

A fault's name is its errno, n, and `once` or `lasting` (a disk that stays broken, or full), e.g.
`ENOSPC:12:lasting`. What was refused while it lasted must not be in the log, what was acknowledged must
be, and once the disk is well the same commands have the same results.
"""
import errno
import pathlib

from offline_faults import OFFLINE, run_offline
from oracle import REFUSED, UNAFFECTED, judge_log, lost_records, wrong, Verdict
from reference import LONG
from service import NoAnswer, Refused, Service, all_events, all_runs, json_of, run_command

# The class, the parts of the data directory whose writes fail, and the options of `serve`.
SERVED = {
    "writes_log": (["log", "anchor"], []),
    "writes_snapshot": (["projections/snapshots"], ["--snapshot-events", "5"]),
    "writes_read_models": (["projections/read_models"], []),
    "writes_artifacts": (["artifacts", "runs", "jobs", "removed"], []),
}
CLASSES = [*SERVED, *OFFLINE]

# The verdict on a fault whose n is beyond the last call: nothing failed.
BEYOND_THE_END = Verdict("beyond the end")

# Threads make the number of calls vary a little between runs.
MISSES_MAX = 3

UNKNOWN = ("UNKNOWN_OUTCOME", "SHUTTING_DOWN")


class Trials:
    """The names of a class's faults, until `end` was called often enough for each kind."""

    def __init__(self, _name, _seed):
        kinds = [("EIO", "once"), ("ENOSPC", "once"), ("EIO", "lasting"), ("ENOSPC", "lasting")]
        self.misses = dict.fromkeys(kinds, 0)
        self.queue = []
        self.number = 0

    def __next__(self):
        while not self.queue:
            left = [kind for kind, misses in self.misses.items() if misses < MISSES_MAX]
            if not left:
                raise StopIteration
            self.number += 1
            self.queue = [f"{error}:{self.number}:{how}" for error, how in left]
        return self.queue.pop(0)

    def __iter__(self):
        return self

    def end(self, trial):
        error, _, how = trial.split(":")
        self.misses[error, how] += 1

    def complete(self):
        return all(misses >= MISSES_MAX for misses in self.misses.values())


def fault_environment(build, trial, under, report):
    """Returns the variables of failing_calls.cc for a fault."""
    error, number, how = trial.split(":")
    library = pathlib.Path(build) / "libfailing_calls.so"
    if not library.exists():
        raise FileNotFoundError(f"{library}: build the target failing_calls")
    return {
        "LD_PRELOAD": str(library),
        "SIGNALBOX_FAIL_UNDER": ":".join(str(each) for each in under),
        "SIGNALBOX_FAIL_AT": number,
        "SIGNALBOX_FAIL_ERRNO": str(getattr(errno, error)),
        "SIGNALBOX_FAIL_LASTING": "1" if how == "lasting" else "",
        "SIGNALBOX_FAIL_REPORT": str(report),
    }


# What a client does, in this order: the command's id, its method, and its params, of which some are
# in the results of earlier ones.
STEPS = [
    ("long", "run.start", lambda _: {"goal": "long", "pipeline": LONG, "idempotency_key": "w-long"}),
    ("built", "run.start", lambda _: {"goal": "built", "idempotency_key": "w-built"}),
    ("lock", "lock.acquire", lambda _: {"key": "w-lock", "owner": "w"}),
    ("claim", "station.claim", lambda _: {"worker": "w", "lease_ms": 600_000}),
    ("complete", "station.complete", lambda results: {
        **{key: results["claim"]["claim"][key] for key in ("run_id", "station", "token")},
        "outcome": "succeeded", "summary": "done"}),
    ("unlock", "lock.release", lambda results: {"key": "w-lock", "token": results["lock"]["token"]}),
    ("last", "run.start", lambda _: {"goal": "last", "pipeline": LONG, "idempotency_key": "w-last"}),
]


class Client:
    """Sends the steps, and remembers what came of each."""

    def __init__(self):
        self.results = {}
        self.refused = {}
        self.unknown = set()

    def work(self, service):
        """Sends every step that can be sent, those that had a result as well, with their ids. Returns
        what is wrong, or "".
        """
        for name, method, params_of in STEPS:
            try:
                params = params_of(self.results)
            except (KeyError, TypeError):
                continue  # what it needs had no result
            try:
                result = service.call(method, command_id=f"w-{name}", **params)
            except NoAnswer:
                self.unknown.add(name)
                continue
            except Refused as refused:
                if name in self.results:
                    return f"{name} had a result, and repeated it is {refused.code}"
                self.refused[name] = refused.code
                if refused.code in UNKNOWN:
                    self.unknown.add(name)
                continue
            before = self.results.setdefault(name, result)
            for key in ("run_id", "token"):
                if before.get(key) != result.get(key):
                    return f"{name} had {key} {before.get(key)}, and repeated {result.get(key)}"
            self.refused.pop(name, None)
            self.unknown.discard(name)
        return ""


def judge_record(client, events):
    """Compares the log with the client's record: acknowledged ⊆ log ⊆ sent, each once."""
    groups = {}
    for position in sorted(events):
        command = events[position].get("command_id") or ""
        if command.startswith("w-"):
            groups.setdefault(command[2:], []).append(position)
    for name, positions in groups.items():
        if positions[-1] - positions[0] + 1 != len(positions):
            return f"{name} has two effects: {positions}"
        if name in client.refused and name not in client.unknown:
            return f"{name} was refused ({client.refused[name]}), and is in the log at {positions}"
    for name in client.results:
        if name not in groups:
            return f"{name} was acknowledged, and isn't in the log"
    return ""


def judge_artifacts(binary, data, client):
    """Returns what is wrong with the run roots of the runs that were started, or ""."""
    for name in ("long", "built", "last"):
        run = client.results[name]["run_id"]
        end, out, err = run_command(binary, "artifacts", "rebuild", run, "--data", data)
        if end != "exit 0":
            return f"artifacts rebuild: {end}: {err or out}"
        files = json_of(binary, "artifacts", "list", run, "--data", data)["files"]
        other = [each for each in files if each["found"] != "same"]
        if other:
            return f"files of a run root aren't as the log says: {other[:3]}"
    return ""


def run_served(binary, build, name, trial, reference, directory):
    under, options = SERVED[name]
    data, report = directory / "data", directory / "failed"
    reference.copy_to(data)
    client = Client()
    environment = fault_environment(build, trial, [data / each for each in under], report)
    with Service(binary, data, options, environment) as service:
        started = service.wait_until_ready()
        problem = client.work(service) if started else ""
        end = service.stop()
        message = service.log()[-600:]
    if problem:
        return wrong(problem)
    fell = report.read_text().splitlines()[0] if report.exists() and report.stat().st_size else ""
    if end not in ("exit 0", "exit 74"):
        return wrong(f"{fell or 'no fault'}: {end}: {message}")
    if not fell:
        return BEYOND_THE_END if started and not client.refused else wrong(f"fails by itself: {message}")
    cost = not started or client.refused or client.unknown or end != "exit 0"

    with Service(binary, data, options) as service:
        if not service.wait_until_ready():
            return wrong(f"{fell}: afterwards: {service.ended()}: {service.log()[-400:]}")
        events = all_events(service)
        compared, lost = lost_records(reference, events)
        problem = lost or judge_record(client, events)
        problem = problem or client.work(service)
        if not problem and (client.refused or client.unknown):
            problem = f"the disk is well, and still refused: {client.refused} {client.unknown}"
        problem = problem or judge_record(client, all_events(service))
        listed = {run["run_id"] for run in all_runs(service)}
        expected = {run["run_id"] for run in reference.runs}
        expected |= {client.results[each]["run_id"] for each in ("long", "built", "last")
                     if each in client.results}
        if not problem and listed != expected:
            problem = f"run.list shows {len(listed)} runs, and {len(expected)} were acknowledged"
        if not problem and name == "writes_artifacts":
            problem = judge_artifacts(binary, data, client)
        end = service.stop()
        if not problem and end != "exit 0":
            problem = f"stopped with {end}: {service.log()[-400:]}"
    if problem:
        return wrong(f"{fell}: {problem}")
    verdict = judge_log(binary, data, reference, compared)
    if verdict.kind == UNAFFECTED and cost:
        return Verdict(REFUSED)
    return verdict


def run_trial(binary, build, name, trial, references, directory):
    reference = references["stopped"]
    if name in SERVED:
        return run_served(binary, build, name, trial, reference, directory)
    report = directory / "failed"

    def environment(under):
        return fault_environment(build, trial, under, report)

    verdict = run_offline(binary, name, reference, directory, environment, report)
    return verdict or BEYOND_THE_END
