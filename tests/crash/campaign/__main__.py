"""Tries every fault of a class on the real binary, one class after the other, and prints what came of it.

    python3 tests/crash/campaign --build build                                  every class, to its end
    python3 tests/crash/campaign --build build --class manifests --minutes 10
    python3 tests/crash/campaign --build build --class manifests --only stopped/log/MANIFEST-000013:cut:152
    python3 tests/crash/campaign --build build --self-test

Each fault ends in one of five: `refused rightly`, `told`, `rebuilt`, `unaffected`, or `wrong`, which
oracle.py defines. Exits 1 if one is wrong, with a line for each that repeats it. The same seed tries the same
faults in the same order. Before anything else the oracle has to flag the faults that self_test.py plants.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import file_faults
import self_test
import sweeps
import write_faults
from oracle import REBUILT, REFUSED, TOLD, UNAFFECTED, WRONG, wrong
from reference import references

CLASSES = [*file_faults.CLASSES, *write_faults.CLASSES, *sweeps.CLASSES]
WRONG_SHOWN_MAX = 20
TRIED_BETWEEN_LINES = 1000


class Campaign:
    """The options, the references, and where a fault that went wrong is kept."""

    def __init__(self, options, scratch):
        self.options = options
        self.scratch = scratch
        self.binary = (options.binary or options.build / "signalbox").resolve()
        self.build = options.build.resolve()
        self.references = references(self.binary, options.reference or scratch / "reference")
        self.kept = None
        self.lock = threading.Lock()
        self.numbers = 0

    def directory(self):
        with self.lock:
            self.numbers += 1
            made = self.scratch / f"trial-{self.numbers}"
        made.mkdir()
        return made

    def again(self, name, trial):
        """Returns the line that repeats a fault. The references are kept for it."""
        with self.lock:
            if self.kept is None:
                self.kept = self.options.reference
                if self.kept is None:
                    self.kept = pathlib.Path(tempfile.mkdtemp(prefix="campaign-reference-"))
                    shutil.copytree(self.scratch / "reference", self.kept, dirs_exist_ok=True)
        return (f"python3 tests/crash/campaign --build {self.options.build} --binary {self.binary} "
                f"--reference {self.kept} --seed {self.options.seed} --class {name} --only '{trial}'")

    def try_one(self, name, trial):
        directory = self.directory()
        try:
            if name in file_faults.CLASSES:
                return file_faults.run_trial(self.binary, trial, self.references, directory)
            return write_faults.run_trial(self.binary, self.build, name, trial, self.references,
                                          directory)
        except Exception as error:  # one fault must not end the campaign, nor pass for a good one
            return wrong(f"{type(error).__name__}: {error}")
        finally:
            shutil.rmtree(directory, ignore_errors=True)


class Result:
    """What came of a class."""

    def __init__(self, name):
        self.name = name
        self.counts = collections.Counter()
        self.planned = 0
        self.wrongs = []

    @property
    def tried(self):
        return sum(self.counts.values())

    def add(self, trial, verdict, again):
        self.counts[verdict.kind] += 1
        if verdict.kind == WRONG:
            self.wrongs.append(trial)
            if len(self.wrongs) <= WRONG_SHOWN_MAX:
                print(f"  wrong: {trial}: {verdict.why}\n    again: {again(self.name, trial)}", flush=True)


def run_class(campaign, name, deadline):
    """Runs the faults of a class until all are tried or the time is over."""
    result = Result(name)
    options = campaign.options
    if options.only:
        trials = iter([options.only])
        result.planned = 1
    elif name in file_faults.CLASSES:
        names = file_faults.trials(name, campaign.references, options.seed)
        result.planned, trials = len(names), iter(names[options.first:])
    else:
        trials = write_faults.Trials(name, options.seed)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        under_way = {}
        while True:
            while len(under_way) < options.jobs and time.monotonic() < deadline:
                trial = next(trials, None)
                if trial is None:
                    break
                under_way[pool.submit(campaign.try_one, name, trial)] = trial
            if not under_way:
                break
            done, _ = concurrent.futures.wait(under_way, return_when="FIRST_COMPLETED")
            for each in done:
                trial, verdict = under_way.pop(each), each.result()
                if verdict is write_faults.BEYOND_THE_END:
                    if not options.only:
                        trials.end(trial)
                    continue
                result.add(trial, verdict, campaign.again)
                if result.tried % TRIED_BETWEEN_LINES == 0:
                    print(f"  {result.tried} tried", flush=True)
    if isinstance(trials, write_faults.Trials):
        result.planned = result.tried if trials.complete() else None
    return result


def print_row(*columns):
    print(f"{columns[0]:20}" + "".join(f"{each!s:>12}" for each in columns[1:]), flush=True)


def parse():
    parser = argparse.ArgumentParser(prog="tests/crash/campaign",
                                     description="Tries every fault of a class on the real binary.")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"),
                        help="the build directory with signalbox, simulate and the tests (build)")
    parser.add_argument("--binary", type=pathlib.Path, help="another signalbox than the build's")
    parser.add_argument("--class", dest="classes", action="append", choices=CLASSES, metavar="CLASS",
                        help=f"again for more; else all: {', '.join(CLASSES)}")
    parser.add_argument("--minutes", type=float, help="for each class; else until all is tried")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time (2)")
    parser.add_argument("--first", type=int, default=0,
                        help="the first one, to go on with; not for writes_*")
    parser.add_argument("--only", help="this one fault of the class")
    parser.add_argument("--reference", type=pathlib.Path, help="directory of an earlier campaign's references")
    parser.add_argument("--self-test", action="store_true", help="only check that the oracle can fail")
    options = parser.parse_args()
    if options.only and (options.classes or [""])[0] in sweeps.CLASSES:
        parser.error("--only is for faults that have a name: begin with --first")
    if options.only and len(options.classes or []) != 1:
        parser.error("--only needs one --class")
    return options


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="campaign-") as scratch:
        campaign = Campaign(options, pathlib.Path(scratch))
        missed = self_test.run(campaign)
        if missed:
            print("the oracle didn't flag: " + "; ".join(missed))
            return 1
        if options.self_test:
            return 0
        results = []
        for name in options.classes or CLASSES:
            seconds = options.minutes * 60 if options.minutes else float("inf")
            print(f"{name}:", flush=True)
            deadline = time.monotonic() + seconds
            if name in sweeps.CLASSES:
                result = sweeps.run(campaign, name, deadline, Result(name))
            else:
                result = run_class(campaign, name, deadline)
            results.append(result)
        print()
        print_row("class", "of", "tried", "refused", "told", "rebuilt", "unaffected", "wrong")
        for result in results:
            print_row(result.name, "?" if result.planned is None else result.planned, result.tried,
                      *(result.counts[kind] for kind in (REFUSED, TOLD, REBUILT, UNAFFECTED, WRONG)))
        # A class of which nothing was tried proves nothing.
        return 1 if any(result.wrongs or result.tried == 0 for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
