"""Runs the quick suites: the tests of the domain and of the server, and seeds of the simulator.

Each test is run once by itself without a mutant, which tells how long it takes and which mutants' places
it executes. A mutant is then tried with the tests that reach it, and with no other.
"""
import base64
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zlib

PROGRAMS = ["test_domain", "simulate", "test_server"]  # the slower one last
MUTANTS_MAX = 65_536  # as in mutant_switch.h
BASE_SECONDS = 20     # of a timeout, beside a multiple of what the tests take
TIMES_USUAL = 10
FIRST_BATCH = 20      # tests that find most mutants, before all the others
BATCH = 400           # so that their names fit into an argument
MEMORY_BYTES = 8 << 30
FILE_BYTES = 1 << 30


@dataclasses.dataclass(frozen=True)
class Test:
    program: str
    name: str  # of a test in a program, or of a seed

    def __str__(self):
        return f"{self.program} {self.name}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    passed: bool
    why: str = ""  # the test that failed, and how


class Suites:
    def __init__(self, build, jobs, programs, seeds, test_seconds):
        self.build = build
        self.programs = programs
        self.jobs = jobs
        self.seeds = seeds
        self.test_seconds = test_seconds
        self.seconds = {}  # of each test
        self.reached_by = {}  # the tests that reach a mutant, those that reach the fewest mutants first

    # What reaches what

    def measure(self, cache, say):
        """Runs every test by itself, or reads from `cache` what came of that with the same programs."""
        programs = {name: [(self.build / name).stat().st_mtime_ns, (self.build / name).stat().st_size]
                    for name in self.programs}
        known = json.loads(cache.read_text()) if cache.exists() else {}
        if known.get("programs") != programs or known.get("seeds") != self.seeds:
            known = {"programs": programs, "seeds": self.seeds, "tests": self._measured(say)}
            cache.write_text(json.dumps(known))
        tests = []
        for entry in known["tests"]:
            test = Test(entry["program"], entry["name"])
            marks = zlib.decompress(base64.b64decode(entry["reached"]))
            reached = [number for number, mark in enumerate(marks) if mark]
            self.seconds[test] = entry["seconds"]
            if entry["passed"] and entry["seconds"] <= self.test_seconds:
                tests.append((len(reached), str(test), test, reached))
        for _, _, test, reached in sorted(tests, key=lambda each: each[:2]):
            for number in reached:
                self.reached_by.setdefault(number, []).append(test)
        return known["tests"]

    def _measured(self, say):
        tests = []
        for program in self.programs:
            if program == "simulate":
                tests += [Test(program, str(seed)) for seed in range(1, self.seeds + 1)]
            else:
                tests += self._listed(program)
        say(f"{len(tests)} tests are run once without a mutant")
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(self._measure, tests))

    def _listed(self, program):
        done = subprocess.run([self.build / program, "--gtest_list_tests"], capture_output=True, text=True,
                              check=True)
        tests, suite = [], ""
        for line in done.stdout.split("\n"):
            name = line.split("#")[0].strip()
            if line.startswith("  "):
                if "DISABLED_" not in suite + name:
                    tests.append(Test(program, suite + name))
            elif name.endswith("."):
                suite = name
        return tests

    def _measure(self, test):
        with scratch() as directory:
            marks = directory / "reached"
            marks.write_bytes(bytes(MUTANTS_MAX))
            begin = time.monotonic()
            outcome = self._run(test.program, [test], directory, self.test_seconds + BASE_SECONDS,
                                {"SIGNALBOX_MUTANTS_REACHED": str(marks)})
            seconds = time.monotonic() - begin
            reached = base64.b64encode(zlib.compress(marks.read_bytes())).decode()
        return {"program": test.program, "name": test.name, "seconds": seconds,
                "passed": outcome.passed, "why": outcome.why, "reached": reached}

    # One mutant

    def try_mutant(self, number):
        """Runs the tests that reach the mutant, until the first that fails."""
        tests = self.reached_by.get(number, [])
        for batch in batches(tests):
            seconds = BASE_SECONDS + TIMES_USUAL * sum(self.seconds[test] for test in batch)
            with scratch() as directory:
                outcome = self._run(batch[0].program, batch, directory, seconds,
                                    {"SIGNALBOX_MUTANT": str(number)})
            if not outcome.passed:
                return outcome
        return Outcome(True)

    def _run(self, program, tests, directory, seconds, environment):
        if program == "simulate":
            command = [self.build / program, "--seeds", "1", "--seed", tests[0].name]
        else:
            names = ":".join(test.name for test in tests)
            command = [self.build / program, "--gtest_fail_fast", f"--gtest_filter={names}"]
        limits = ["prlimit", "--core=0", f"--as={MEMORY_BYTES}", f"--fsize={FILE_BYTES}"]
        # Random tests do the same each time.
        environment = os.environ | environment | {
            "TMPDIR": str(directory), "SIGNALBOX_SEED": "1", "RC_PARAMS": "seed=1"}
        with open(directory / "output", "wb") as output:
            process = subprocess.Popen(
                [*limits, *map(str, command)], cwd=self.build, env=environment, stdout=output,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                process.wait(seconds)
                late = False
            except subprocess.TimeoutExpired:
                late = True
            with contextlib.suppress(ProcessLookupError):  # also what the test left running
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        if code == 0 and not late:
            return Outcome(True)
        how = "took too long" if late else f"exit {code}"
        return Outcome(False, f"{failing_test(program, tests, directory / 'output')}: {how}")


def batches(tests):
    """Groups tests of one program each: first the most specific ones, the server's slower tests last."""
    by_program = {program: [] for program in PROGRAMS}
    for test in tests:
        by_program[test.program].append(test)
    for program, its in by_program.items():
        if program == "simulate":
            yield from ([test] for test in its)
            continue
        if its:
            yield its[:FIRST_BATCH]
        for at in range(FIRST_BATCH, len(its), BATCH):
            yield its[at : at + BATCH]


def failing_test(program, tests, output):
    """Returns the first test that failed, or the one that ran when the program ended."""
    if program == "simulate":
        return str(tests[0])
    text = output.read_bytes()[-4_000_000:].decode(errors="replace")
    found = re.search(r"^\[  FAILED  \] ([^\s,]+)", text, re.MULTILINE)
    if found is None:
        begun = re.findall(r"^\[ RUN      \] (\S+)", text, re.MULTILINE)
        return f"{program} {begun[-1]}" if begun else program
    return f"{program} {found.group(1)}"


@contextlib.contextmanager
def scratch():
    """A directory for the files of a run, with a short path, since sockets are made in it."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="mutant-", dir="/tmp"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
