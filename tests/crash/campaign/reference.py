"""Data directories whose content is known: what a fault is made in, and what must be there after it.

The load has no jobs and no leases that end, so a start changes no run.
"""
import json
import pathlib
import shutil

from service import Service, all_events, all_runs, json_of, run_command

# Half of the runs end, the others wait for a worker that never comes.
SHORT = {"name": "short", "station": [{"name": "only"}]}
LONG = {"name": "long", "station": [{"name": "first"}, {"name": "second"}]}
LIVES = 3
RUNS_A_LIFE = 8
SECRET = "the-text-to-be-erased"


class Reference:
    """A directory `data` and what is in it."""

    def __init__(self, binary, directory):
        self.binary = binary
        self.directory = pathlib.Path(directory)
        self.data = self.directory / "data"
        facts = json.loads((self.directory / "facts.json").read_text())
        self.events = {int(position): event for position, event in facts["events"].items()}
        self.runs = facts["runs"]
        self.digests = {int(position): digest for position, digest in facts["digests"].items()}
        # Records up to here can't be lost. After a crash the very last append, unless the anchor
        # knows it, may have been torn (store/FORMAT.md, "Checks when a log is opened").
        self.certain = facts["certain"]

    @property
    def tail(self):
        return max(self.events)

    def copy_to(self, data):
        """Copies the directory so that the server takes the copy for the original: its machine_id
        names its own inode (server/platform/machine_id.cc).
        """
        shutil.copytree(self.data, data, symlinks=True,
                        ignore=shutil.ignore_patterns("signalbox.sock"))
        file = pathlib.Path(data) / "machine_id"
        if file.exists():
            machine = json.loads(file.read_text())
            machine["inode"] = file.stat().st_ino
            machine["device"] = file.stat().st_dev
            machine["directory"] = str(pathlib.Path(data).resolve())
            file.write_text(json.dumps(machine, separators=(",", ":")) + "\n")


def digests_of(binary, data, to):
    """Returns the digest of the state after each position."""
    replayed = json_of(binary, "replay", "--data", data, "--digest-every", 1, "--to", to)
    return {each["position"]: each["state_digest"] for each in replayed["digests"]}


def load(service, name, runs):
    """Starts runs, works on them, and takes locks."""
    for number in range(runs):
        one = f"{name}-{number}"
        service.call("run.start", goal=f"{one} " + "g" * 300,
                     pipeline=SHORT if number % 2 == 0 else LONG, idempotency_key=one,
                     command_id=f"{one}-start")
        held = service.call("lock.acquire", key=one, owner="campaign", command_id=f"{one}-acquire")
        service.call("lock.release", key=one, token=held["token"], command_id=f"{one}-release")
    for number in range(runs // 2):
        one = f"{name}-{number}"
        claim = service.call("station.claim", worker="campaign", lease_ms=60_000,
                             command_id=f"{one}-claim")["claim"]
        service.call("station.complete", run_id=claim["run_id"], station=claim["station"],
                     token=claim["token"], outcome="succeeded", summary=f"done {number}",
                     command_id=f"{one}-complete")


def write_facts(binary, directory, events, runs, certain):
    data = directory / "data"
    facts = {"events": events, "runs": runs, "certain": certain,
             "digests": digests_of(binary, data, max(events))}
    (directory / "facts.json").write_text(json.dumps(facts))


def make_stopped(binary, directory):
    """Makes a directory of several lives, with tables, snapshots and a key; stopped cleanly."""
    directory.mkdir(parents=True)
    data, events, runs = directory / "data", {}, []
    for life in range(LIVES):
        with Service(binary, data, ["--snapshot-events", "40"]) as service:
            assert service.wait_until_ready(), service.log()
            if life == 0:
                key = directory / "audit.key"
                end, out, err = run_command(binary, "audit", "keygen", "-o", key, "--name",
                                            "example.com/campaign", "--adopt", "--data", data)
                assert end == "exit 0", err
                (directory / "audit.vkey").write_text(out)
                service.call("run.start", goal=SECRET, pipeline=SHORT)
            load(service, f"life{life}", RUNS_A_LIFE)
            runs = all_runs(service)
            events = all_events(service)
            end = service.stop()
            assert end == "exit 0", service.log()
    tail = json_of(binary, "replay", "--data", data)["position"]
    read = json_of(binary, "events", "--data", data, "--at", tail, "--limit", 100_000)
    events = {each["position"]: each for each in read["events"]}
    (data / "signalbox.sock").unlink(missing_ok=True)
    write_facts(binary, directory, events, runs, max(events))


def make_killed(binary, directory, stopped):
    """Makes a directory whose last life was killed in the middle of its work."""
    directory.mkdir(parents=True)
    data = directory / "data"
    stopped.copy_to(data)
    with Service(binary, data) as service:
        assert service.wait_until_ready(), service.log()
        load(service, "killed", RUNS_A_LIFE)
        runs, events = all_runs(service), all_events(service)
        service.kill()
    (data / "signalbox.sock").unlink(missing_ok=True)
    anchored = json_of(binary, "replay", "--data", data)["anchor"]
    positions = sorted(events)
    command = events[positions[-1]].get("command_id")
    last = [p for p in positions if command and events[p].get("command_id") == command]
    certain = max(anchored, (last[0] if last else positions[-1]) - 1)
    write_facts(binary, directory, events, runs, certain)


def references(binary, directory):
    """Returns the two references in a directory, which are made if they aren't there."""
    made = {}
    for name in ("stopped", "killed"):
        place = pathlib.Path(directory) / name
        if not (place / "facts.json").exists():
            shutil.rmtree(place, ignore_errors=True)
            if name == "stopped":
                make_stopped(binary, place)
            else:
                make_killed(binary, place, made["stopped"])
        made[name] = Reference(binary, place)
    return made
