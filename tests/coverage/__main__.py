"""Reports the branches of decisions that no test takes.

    python3 tests/coverage                           builds, runs the quick suites, and reports
    python3 tests/coverage --report                  reports what earlier runs took
    python3 tests/coverage --report domain store     of some files or folders

The build is one of its own (build-coverage, -DSIGNALBOX_COVERAGE=ON). The suites are those of the domain,
the store and the server, and seeds of the simulator. gcov counts the branches. Left out are what only an
exception takes, and SIGNALBOX_CHECK, whose other branch is impossible.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COVERED = ["domain", "server/engine", "store"]
PROGRAMS = ["test_domain", "test_store", "test_server"]
LEFT_OUT = "-Zones/ScheduleBruteForce.*"  # what ctest calls long
IMPOSSIBLE = ("SIGNALBOX_CHECK(", "check_failed(")


@dataclasses.dataclass
class Line:
    """What was counted in a line. `branches` is keyed by how many branches the line has in a function,
    since an instance of a template may have others."""

    count: int = 0
    branches: dict = dataclasses.field(default_factory=dict)

    def add(self, entry):
        self.count += entry["count"]
        branches = without_exceptions(entry.get("branches", []))
        sums = self.branches.setdefault(len(branches), [0] * len(branches))
        for index, branch in enumerate(branches):
            sums[index] += branch["count"]


def without_exceptions(branches):
    """Drops each branch that an exception takes, and the other way of the same call."""
    kept = []
    for branch in branches:
        if not branch["throw"]:
            kept.append(branch)
        elif kept and kept[-1]["fallthrough"]:
            kept.pop()
    return kept


def decisions(counts, is_switch):
    """Groups the branches of a line: all of a switch, otherwise two for each condition. A condition that
    was never evaluated is left out: the way to it is a branch of another one, or an exception."""
    if is_switch:
        return [counts] if any(counts) else []
    pairs = [counts[index : index + 2] for index in range(0, len(counts), 2)]
    return [pair for pair in pairs if len(pair) == 2 and any(pair)]


def run(command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}")
    return done


def build(options):
    run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", options.work, "-DSIGNALBOX_COVERAGE=ON",
         "-DCMAKE_UNITY_BUILD=ON"], stdout=subprocess.DEVNULL)
    run(["cmake", "--build", options.work, "-j", options.jobs, "--target", *PROGRAMS, "simulate"])


def run_suites(options):
    """Runs each program in as many parts as there are jobs."""
    for counted in options.work.rglob("*.gcda"):
        counted.unlink()
    commands = []
    for program in PROGRAMS:
        for shard in range(options.jobs):
            environment = {"GTEST_TOTAL_SHARDS": str(options.jobs), "GTEST_SHARD_INDEX": str(shard)}
            commands.append(([options.work / program, f"--gtest_filter={LEFT_OUT}"], environment))
    first = 1
    for job in range(options.jobs):
        size = len(range(job, options.seeds, options.jobs))
        commands.append(([options.work / "simulate", "--seed", first, "--seeds", size], {}))
        first += size
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        failed = [text for text in pool.map(lambda each: run_suite(options, *each), commands) if text]
    for text in failed:
        print(text)
    if failed:
        sys.exit("tests failed, so their branches can't be judged")


def run_suite(options, command, environment):
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=options.work, env=os.environ | environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    return "" if done.returncode == 0 else f"{' '.join(words)}: exit {done.returncode}\n{done.stdout[-4000:]}"


def counted_lines(options):
    """Returns the lines of each covered source, by path and number, that gcov knows of."""
    covered = [ROOT / path for path in options.paths or COVERED]
    files = collections.defaultdict(lambda: collections.defaultdict(Line))

    def read(counted):
        done = run([options.gcov, "--json-format", "--stdout", "--branch-probabilities", counted],
                   cwd=options.work, capture_output=True, text=True)
        return [json.loads(text) for text in done.stdout.split("\n") if text]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for documents in pool.map(read, sorted(options.work.glob("CMakeFiles/signalbox_*/**/*.gcda"))):
            for document in documents:
                base = pathlib.Path(document["current_working_directory"])
                for file in document["files"]:
                    path = (base / file["file"]).resolve()
                    if path.suffix == ".cc" and any(path.is_relative_to(each) for each in covered):
                        for entry in file["lines"]:
                            files[path][entry["line_number"]].add(entry)
    return files


def report(options):
    """Prints what was never taken; returns how much of all was, in percent."""
    all_taken = all_ways = 0
    summary = []
    for path, lines in sorted(counted_lines(options).items()):
        texts = path.read_text().split("\n")
        name = path.relative_to(ROOT)
        taken = ways = unexecuted = 0
        for number, line in sorted(lines.items()):
            text = texts[number - 1].strip()
            if any(word in text for word in IMPOSSIBLE):
                continue
            if line.count == 0:
                unexecuted += 1
                print(f"{name}:{number}: never executed: {text}")
                continue
            for counts in line.branches.values():
                for place, counted in enumerate(decisions(counts, "switch (" in text), 1):
                    ways += len(counted)
                    taken += sum(count > 0 for count in counted)
                    if 0 in counted:
                        print(f"{name}:{number}: condition {place} goes one way only, {max(counted)} "
                              f"times: {text}")
        all_taken, all_ways = all_taken + taken, all_ways + ways
        summary.append(f"{percent(taken, ways):6.1f} %  {taken:5} of {ways:5} branches, "
                       f"{unexecuted:4} lines never executed  {name}")
    print("\n" + "\n".join(summary))
    score = percent(all_taken, all_ways)
    print(f"{score:6.1f} %  {all_taken:5} of {all_ways:5} branches in all")
    return score


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def main():
    parser = argparse.ArgumentParser(prog="python3 tests/coverage", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help=f"files or folders; default: {' '.join(COVERED)}")
    parser.add_argument("--report", action="store_true", help="reports what earlier runs took")
    parser.add_argument("--seeds", type=int, default=100, help="seeds of the simulator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build-coverage")
    parser.add_argument("--gcov", default="gcov", help="that of the compiler")
    parser.add_argument("--taken-min", type=float, default=0, help="exits 1 below so many percent")
    options = parser.parse_args()
    options.work = options.work.resolve()
    if not options.report:
        build(options)
        run_suites(options)
    return 0 if report(options) >= options.taken_min else 1


if __name__ == "__main__":
    sys.exit(main())
