"""Changes single lines of the product and reports the changes that no test notices.

    python3 tests/mutation                                   every mutant, for days
    python3 tests/mutation --sample 300 --seed 7             300 of them
    python3 tests/mutation --sample 300 --minutes 60         as many of them as begin within an hour
    python3 tests/mutation domain/decide_lock.cc             those of one file
    python3 tests/mutation --list domain/decide_lock.cc      prints them and builds nothing
    python3 tests/mutation --again                           tries survivors again, after new tests
    python3 tests/mutation --self-test

All mutants are compiled into one build (build-mutation/build), and an environment variable turns one on.
A mutant that a test fails with is killed; one with which all tests pass survives. Results go into
build-mutation/results.jsonl as they come, and the next run goes on from there. The report ends with the
score of each folder. equivalent.txt has the mutants that change nothing that can be seen.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True

import self_test
from build import Build, BuildFailed
from operators import OPERATORS, Maker, enumerations
from suites import MUTANTS_MAX, PROGRAMS, Suites
from tokens import Source

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MUTATED = ["domain", "server/engine", "server/scheduler", "server/rpc"]
# Judges of tests: a mutant of them is a worse test, not a worse product.
NOT_MUTATED = {"domain/check.cc", "domain/invariants.cc"}
SURVIVED, KILLED, UNREACHED, REFUSED = "survived", "killed", "unreached", "doesn't compile"


def say(text):
    print(text, flush=True)


def sources(paths):
    """Returns the sources that are mutated: all, or those at or below the given paths."""
    found = []
    for path in paths or MUTATED:
        place = ROOT / path
        found += sorted(place.rglob("*.cc")) if place.is_dir() else [place]
    names = [str(path.resolve().relative_to(ROOT)) for path in found]
    return [name for name in names if name not in NOT_MUTATED]


def all_mutants(paths):
    """Returns the source and the mutants of each path."""
    headers = [path.read_text() for folder in ("domain", "server") for path in ROOT.glob(f"{folder}/**/*.h")]
    enumerators = enumerations(headers)
    made = {}
    for path in sources(paths):
        source = Source(path, (ROOT / path).read_text())
        made[path] = (source, Maker(source, enumerators).mutants)
    return made


def plan(options):
    """Returns the sources and the mutants to try, numbered. The same seed takes the same ones first."""
    made = all_mutants(options.paths)
    chosen = [
        mutant
        for _, mutants in made.values()
        for mutant in mutants
        if mutant.operator in options.operators
    ]
    if options.sample:
        random.Random(options.seed).shuffle(chosen)
        chosen = chosen[: options.sample]
    chosen.sort(key=lambda mutant: (mutant.path, mutant.line, mutant.first))
    if len(chosen) >= MUTANTS_MAX:
        sys.exit(f"{len(chosen)} mutants, and one build holds {MUTANTS_MAX}: take --sample or a path")
    for number, mutant in enumerate(chosen, 1):
        mutant.number = number
    by_path = {path: (source, [each for each in chosen if each.path == path])
               for path, (source, _) in made.items()}
    return {path: pair for path, pair in by_path.items() if pair[1]}


class Results:
    """What came of each mutant, by its key. The last line about a mutant counts."""

    def __init__(self, path):
        self.path = path
        self.known = {}
        if path.exists():
            for line in path.read_text().split("\n"):
                if line:
                    entry = json.loads(line)
                    self.known[entry["mutant"]] = entry

    def add(self, mutant, status, why=""):
        entry = {"mutant": mutant.key, "status": status, "why": why}
        self.known[mutant.key] = entry
        with open(self.path, "a") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def status_of(self, mutant):
        return self.known.get(mutant.key, {}).get("status")


def equivalents():
    """Returns the keys in equivalent.txt: each is a line after the comment that gives the reason."""
    lines = pathlib.Path(__file__).with_name("equivalent.txt").read_text().split("\n")
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def try_all(options, suites, results, mutants, deadline):
    """Tries the mutants that have no result yet; none is begun after the deadline, unless it is None."""
    again = {SURVIVED, UNREACHED} if options.again else set()
    left = [mutant for mutant in mutants if results.status_of(mutant) in {None, *again}]
    # Sampled in any order, so that a run that is interrupted has seen a bit of everything.
    random.Random(options.seed).shuffle(left)
    begin = time.monotonic()

    def try_one(mutant):
        if deadline is not None and time.monotonic() > deadline:
            return None, ""
        if mutant.number not in suites.reached_by:
            return UNREACHED, "no test executes it"
        outcome = suites.try_mutant(mutant.number)
        return (SURVIVED, "") if outcome.passed else (KILLED, outcome.why)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        under_way = {pool.submit(try_one, mutant): mutant for mutant in left}
        try:
            for done, future in enumerate(concurrent.futures.as_completed(under_way), 1):
                mutant = under_way[future]
                status, why = future.result()
                if status is None:
                    continue
                results.add(mutant, status, why)
                if status != KILLED:
                    say(f"{status}: {mutant.path}:{mutant.line}: {mutant.operator}: {mutant.shown}")
                if done % 100 == 0:
                    minutes = (time.monotonic() - begin) / 60
                    say(f"-- {done} of {len(left)} in {minutes:.0f} minutes")
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


def report(results, mutants):
    """Prints the survivors and the score; returns the score in percent."""
    known_equivalents = equivalents()
    counts = {SURVIVED: [], KILLED: [], UNREACHED: [], REFUSED: [], "equivalent": [], "not tried": []}
    for mutant in mutants:
        status = results.status_of(mutant) or "not tried"
        if status in (SURVIVED, UNREACHED) and mutant.key in known_equivalents:
            status = "equivalent"
        counts[status].append(mutant)
    for status in (UNREACHED, SURVIVED):
        if counts[status]:
            say(f"\n{status}:")
        for mutant in counts[status]:
            say(f"  {mutant.path}:{mutant.line}: {mutant.operator}: {mutant.shown}")
    say("\n" + ", ".join(f"{len(its)} {status}" for status, its in counts.items()))
    killed = by_folder(counts[KILLED])
    alive = by_folder(counts[SURVIVED] + counts[UNREACHED])
    for folder in sorted(killed | alive):
        say(f"  {folder}: {score_text(killed[folder], alive[folder])}")
    say(f"score: {score_text(killed.total(), alive.total())}")
    return score_of(killed.total(), alive.total())


def by_folder(mutants):
    return collections.Counter(str(pathlib.PurePosixPath(mutant.path).parent) for mutant in mutants)


def score_of(killed, alive):
    return 100 * killed / (killed + alive) if killed + alive else 100.0


def score_text(killed, alive):
    return f"{score_of(killed, alive):.1f} % of {killed + alive} mutants are killed"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="python3 tests/mutation", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help=f"files or folders; default: {' '.join(MUTATED)}")
    parser.add_argument("--sample", type=int, help="how many mutants, chosen by the seed; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float,
                        help="begins no mutant later than this after the start, the build included")
    parser.add_argument("--operators", type=lambda text: text.split(","), default=OPERATORS,
                        help=f"some of {','.join(OPERATORS)}")
    parser.add_argument("--programs", type=lambda text: text.split(","), default=PROGRAMS,
                        help=f"some of {','.join(PROGRAMS)}")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of the simulator")
    parser.add_argument("--test-seconds", type=float, default=10, help="slower tests are left out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build-mutation")
    parser.add_argument("--score-min", type=float, default=0, help="exits 1 below this")
    parser.add_argument("--again", action="store_true", help="tries survivors again")
    parser.add_argument("--list", action="store_true", help="prints the mutants and ends")
    parser.add_argument("--self-test", action="store_true", help="checks the script itself")
    parser.add_argument("--compiler", default="c++", help="for --self-test")
    options = parser.parse_args()
    unknown = set(options.operators) - set(OPERATORS) | set(options.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    return options


def main():
    options = parse_arguments()
    deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    if options.self_test:
        return self_test.run(ROOT, options.compiler, all_mutants([]))
    plans = plan(options)
    mutants = [mutant for _, its in plans.values() for mutant in its]
    if options.list:
        for mutant in mutants:
            say(f"{mutant.path}:{mutant.line}: {mutant.operator}: {mutant.shown}")
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    work = options.work.resolve()
    results = Results(work / "results.jsonl")
    sampled = f" (--sample {options.sample} --seed {options.seed})" if options.sample else ""
    say(f"{len(mutants)} mutants of {len(plans)} sources{sampled}")
    build = Build(ROOT, work, options.jobs, options.programs)
    try:
        for mutant in build.prepare(without_refused(plans, results)):
            results.add(mutant, REFUSED)
    except BuildFailed as failed:
        sys.exit(str(failed))
    suites = Suites(build.directory, options.jobs, options.programs, options.seeds,
                    options.test_seconds)
    for entry in suites.measure(work / "reached.json", say):
        if not entry["passed"]:
            say(f"left out, fails without a mutant: {entry['program']} {entry['name']}: {entry['why']}")
    try_all(options, suites, results, mutants, deadline)
    return 0 if report(results, mutants) >= options.score_min else 1


def without_refused(plans, results):
    """Leaves out what didn't compile in an earlier run."""
    kept = {path: (source, [each for each in its if results.status_of(each) != REFUSED])
            for path, (source, its) in plans.items()}
    return {path: pair for path, pair in kept.items() if pair[1]}


if __name__ == "__main__":
    sys.exit(main())
