"""Judges what a server does with a directory in which something was damaged.

It refuses, with exit 74 or 78, and no byte of the directory has changed. Or it serves: then every
acknowledged record is there as it was, the state after each of them has the same digest, `run.list`
shows the same runs, and `replay --verify` passes. Or it serves what it can read of a log with a
damaged table, its status names the table, and `replay --verify` does. Anything else is wrong.
"""
import dataclasses
import hashlib
import pathlib
import re
import time

from service import NoAnswer, Refused, Service, all_events, all_runs, json_of
from reference import digests_of

REFUSED, TOLD, REBUILT = "refused rightly", "told", "rebuilt"
UNAFFECTED, WRONG = "unaffected", "wrong"
TOLD_SECONDS = 60
REFUSALS = ("exit 74", "exit 78")

# Not what the directory holds: the process that opened it last, and RocksDB's own messages (LOG,
# LOG.old.NUMBER), which no reader of the log ever reads.
NOT_CONTENT = re.compile(r"server\.lock|signalbox\.sock|(log|projections/read_models)/LOG(\.old.*)?")


@dataclasses.dataclass
class Verdict:
    kind: str
    why: str = ""


def wrong(why):
    return Verdict(WRONG, why)


def fingerprint(directory):
    """Returns the SHA-256 of every file of a directory, by its relative path."""
    directory = pathlib.Path(directory)
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if NOT_CONTENT.fullmatch(name):
            continue
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_dir():
            found[name] = "directory"
    return found


def difference(before, after):
    """Returns the paths that differ, as text; "" if there are none."""
    changed = [name for name in sorted(before.keys() | after.keys())
               if before.get(name) != after.get(name)]
    return ", ".join(changed[:5]) + (f" and {len(changed) - 5} more" if len(changed) > 5 else "")


def lost_records(reference, events):
    """Compares the log with the reference. Returns the last position that must be compared further,
    and what is wrong, or "".
    """
    for position in sorted(reference.events):
        if events.get(position) == reference.events[position]:
            continue
        if position > reference.certain:
            # The torn tail of a crash: nothing that follows it may be there either.
            kept = [p for p in reference.events if p > position
                    and events.get(p) == reference.events[p]]
            return position - 1, f"record {position} is gone, and {kept[0]} isn't" if kept else ""
        if position not in events:
            return position - 1, f"record {position} of {reference.tail} is lost"
        return position - 1, f"record {position} isn't the one that was acknowledged"
    return reference.tail, ""


def is_told(service, damaged):
    """Returns whether the server's status names this table of the log. It reads all of them after its
    start; one that it has deleted is no longer of the log.
    """
    deadline = time.monotonic() + TOLD_SECONDS
    while (service.data / damaged).exists() and time.monotonic() < deadline:
        if any(pathlib.Path(damaged).name in text for text in service.call("server.status")["disk_failures"]):
            return True
        time.sleep(0.01)
    return False


def judge_served(binary, data, reference, service, damaged):
    """Judges a server that answers, and what it leaves when it is stopped."""
    is_table = damaged.startswith("log/") and damaged.endswith(".sst")
    try:
        told = is_table and is_told(service, damaged)
        compared, lost = lost_records(reference, all_events(service))
        runs = all_runs(service)
    except Refused as error:
        if told and error.code == "STORAGE_DAMAGED":
            return Verdict(TOLD)
        return wrong(f"a query fails: {error}: {service.log()[-400:]}")
    except NoAnswer as error:
        return wrong(f"a query fails: {error}: {service.log()[-400:]}")
    if lost:
        return wrong(lost)
    if compared == reference.tail and runs != reference.runs:
        return wrong(f"run.list shows {len(runs)} runs that aren't the {len(reference.runs)} acknowledged")
    end = service.stop()
    if end != "exit 0":
        return wrong(f"stopped with {end}: {service.log()[-400:]}")
    verdict = judge_log(binary, data, reference, compared)
    named = "STORAGE_DAMAGED" in verdict.why and damaged in verdict.why
    return Verdict(TOLD) if told and verdict.kind == WRONG and named else verdict


def judge_log(binary, data, reference, compared):
    """Judges the log of a directory that no server uses."""
    try:
        replayed = json_of(binary, "replay", "--verify", "--data", data)
        digests = digests_of(binary, data, compared)
        rebuilt = json_of(binary, "events", "--data", data, "--at", replayed["position"],
                          "--limit", 100_000)["events"]
    except AssertionError as error:
        return wrong(str(error))
    if not replayed["verified"]:
        return wrong("replay --verify didn't verify")
    for position, digest in digests.items():
        if reference.digests.get(position) != digest:
            return wrong(f"the state after record {position} has another digest")
    if any(each["type"] == "ProjectionRebuilt" and each["position"] > compared for each in rebuilt):
        return Verdict(REBUILT)
    return Verdict(UNAFFECTED)


def judge_start(binary, data, reference, may_refuse, damaged=""):
    """Starts a server on a directory and judges it; `damaged` is the file that isn't as it was. Damage
    of what can be computed again is no reason to refuse: then `may_refuse` is false.
    """
    before = fingerprint(data)
    with Service(binary, data) as service:
        if service.wait_until_ready():
            return judge_served(binary, data, reference, service, damaged)
        end = service.ended() or "it doesn't answer"
        message = service.log()[-400:]
    if end not in REFUSALS:
        return wrong(f"{end}: {message}")
    if changed := difference(before, fingerprint(data)):
        return wrong(f"it refuses ({end}) and has changed {changed}")
    if not may_refuse:
        return wrong(f"it refuses ({end}), and the file can be computed again: {message}")
    return Verdict(REFUSED)
