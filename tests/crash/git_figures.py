"""Measures what a large repository costs: intake, create_pr, merge, and a remote that doesn't answer.

    python3 tests/crash/git_figures.py build/signalbox
    python3 tests/crash/git_figures.py build/signalbox --files 50000 --rounds 5 --scratch /dev/shm

Each figure is that of a station's attempt of the real server, and has a bound beside it: what git
alone takes for the same work, measured in the same repository in the same run. Exits 1 if a figure
is over its target and also over the bound's multiple, for on a slow or busy disk git alone may be.
"""
import argparse
import datetime
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent / "campaign"))

from service import Service

FOLDER_FILES = 100
RUN_SECONDS = 120
SLOWNESS_MAX = 2
# Seconds. The bound of each is measured, but that of the fetch is the target alone.
TARGETS = {"intake": 3, "create_pr": 1, "merge": 4, "fetch offline": 5}


def parse():
    parser = argparse.ArgumentParser(description="Measures what a large repository costs.")
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scratch", type=pathlib.Path, help="where the repository is made; default: TMPDIR")
    return parser.parse_args()


def git(directory, *words):
    done = subprocess.run(["git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@localhost",
                           *words], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return done.stdout.decode().strip()


def make_repository(directory, files):
    repository = directory / "large"
    for number in range(files):
        folder = repository / f"folder_{number // FOLDER_FILES:04}"
        if number % FOLDER_FILES == 0:
            folder.mkdir(parents=True)
        (folder / f"file_{number:06}.txt").write_text(f"{number}\n" * 20)
    git(repository, "init", "--quiet", "--initial-branch", "main")
    git(repository, "config", "user.name", "t")
    git(repository, "config", "user.email", "t@localhost")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "first")
    git(repository, "clone", "--quiet", "--bare", ".", str(directory / "large.git"))
    git(repository, "remote", "add", "origin", str(directory / "large.git"))
    return repository


def seconds_of(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


class Figures:
    def __init__(self, service, directory, files):
        self.service = service
        self.directory = directory
        self.repository = make_repository(directory, files)
        self.runs = 0

    def run(self, stations, **more):
        """Plays a run to its end and returns the seconds of each station."""
        self.runs += 1
        run_id = self.service.call("run.start", goal=f"figure {self.runs}", idempotency_key=str(self.runs),
                                   repository=str(self.repository), base="main",
                                   pipeline={"name": "figures", "station": stations}, **more)["run_id"]
        deadline = time.monotonic() + RUN_SECONDS
        run = {}
        while "ended_at" not in run:
            assert time.monotonic() < deadline, run
            time.sleep(0.02)
            run = self.service.call("run.get", run_id=run_id)["run"]
        assert run["status"] == "succeeded", run.get("error")
        attempts = {station["station"]: station["attempts"][-1] for station in run["stations"]}
        return attempts, {name: duration(attempt) for name, attempt in attempts.items()}

    def round(self, number):
        """Returns the figures of one card's way, and their bounds by git alone."""
        place = str(self.directory / f"bound-{number}")
        bounds = {"intake": seconds_of(lambda: git(self.repository, "worktree", "add", "--quiet",
                                                   "--detach", place, "main"))}
        pathlib.Path(place, "bound.txt").write_text(f"{number}\n")

        def commit():
            git(place, "add", "--all")
            git(place, "commit", "--quiet", "-m", "bound")
            git(place, "push", "--quiet", "origin", f"HEAD:refs/heads/bound-{number}")
        bounds["create_pr"] = seconds_of(commit)
        commit_id = git(place, "rev-parse", "HEAD")
        git(self.repository, "worktree", "remove", "--force", place)

        def merge():
            git(self.repository, "worktree", "add", "--quiet", "--detach", place, "main")
            git(place, "merge", "--quiet", "--no-ff", "-m", "bound", commit_id)
        bounds["merge"] = seconds_of(merge)
        git(self.repository, "worktree", "remove", "--force", place)
        attempts, taken = self.run([
            builtin("intake", remote="origin"),
            {"name": "implement", "executor": "process",
             "command": ["sh", "-c", f"echo {number} > folder_0000/file_000000.txt && echo new > new_{number}.txt"]},
            builtin("create_pr", remote="origin")])
        metadata = attempts["create_pr"]["metadata"]
        _, merged = self.run([builtin("merge", remote="origin"), builtin("push", remote="origin")],
                             input={"branch": metadata["branch"], "commit": metadata["head_commit"],
                                    "title": f"figure {number}"})
        taken["merge"] = merged["merge"]
        taken["push"] = merged["push"]
        return taken, bounds

    def offline(self):
        """Returns for how many seconds an intake waits for a remote that takes what it is asked and
        never answers."""
        held = []

        def hold(server):
            try:
                while True:
                    connection, _ = server.accept()
                    began = time.monotonic()
                    while connection.recv(4096):
                        pass
                    held.append(time.monotonic() - began)
            except OSError:
                return  # the run is over
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.settimeout(RUN_SECONDS)
            threading.Thread(target=hold, args=(silent,), daemon=True).start()
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/large.git"
            attempts, _ = self.run([builtin("intake", remote=url)])
        assert held and "didn't answer" in attempts["intake"]["summary"], attempts["intake"]["summary"]
        return sum(held)


def builtin(name, **more):
    return {"name": name, "executor": "builtin", **more}


def duration(attempt):
    began, ended = (datetime.datetime.fromisoformat(attempt[key][:26]) for key in ("started_at", "ended_at"))
    return (ended - began).total_seconds()


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="figures-", dir=options.scratch,
                                     ignore_cleanup_errors=True) as scratch:
        directory = pathlib.Path(scratch)
        (directory / "data").mkdir()
        with Service(options.binary.resolve(), directory / "data") as service:
            assert service.wait_until_ready(), service.log()
            figures = Figures(service, directory, options.files)
            rounds = [figures.round(number) for number in range(options.rounds)]
            taken = {name: statistics.median(each[0][name] for each in rounds) for name in rounds[0][0]}
            bounds = {name: statistics.median(each[1][name] for each in rounds) for name in rounds[0][1]}
            taken["fetch offline"] = figures.offline()
    print(f"{options.files} files, medians of {options.rounds}, in seconds")
    missed = []
    for name, target in TARGETS.items():
        bound = bounds.get(name, 0)
        good = taken[name] <= max(target, SLOWNESS_MAX * bound)
        missed += [] if good else [name]
        print(f"{name:14} {taken[name]:5.2f}  target {target}  git alone "
              f"{f'{bound:5.2f}' if bound else '    -'}  {'ok' if good else 'MISSED'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
