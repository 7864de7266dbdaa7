"""Builds the tests with the mutants of the plan: one build, in which each mutant has a number.

The copies of the sources go into WORK/sources, the build into WORK/build. A mutant that doesn't compile
is dropped by the line of its error; what is left of a file compiles before anything is built.
"""
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys

from generated import Generated


class BuildFailed(Exception):
    pass


class Build:
    def __init__(self, root, work, jobs, programs):
        self.root = root
        self.programs = programs
        self.sources = work / "sources"
        self.directory = work / "build"
        self.jobs = jobs

    def prepare(self, plans):
        """Writes the copies, drops what doesn't compile, and builds. `plans` has the source and the
        mutants of each path. Returns the mutants that don't compile."""
        self._write({path: Generated(*plan).text for path, plan in plans.items()})
        self._configure()
        commands = self._commands()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            checks = [
                pool.submit(self._compiling, *plan, commands[self.sources / path])
                for path, plan in plans.items()
            ]
            dropped, texts = [], {}
            for (path, (source, mutants)), check in zip(plans.items(), checks):
                compiling = check.result()
                kept = {mutant.number for mutant in compiling}
                dropped += [mutant for mutant in mutants if mutant.number not in kept]
                texts[path] = Generated(source, compiling).text
        self._write(texts)
        self._run(["cmake", "--build", self.directory, "-j", self.jobs, "--target",
                   *self.programs])
        return dropped

    def _write(self, texts):
        """Writes these copies and removes others; leaves alone what doesn't change."""
        kept = {self.sources / path for path in texts}
        for old in self.sources.rglob("*.cc"):
            if old not in kept:
                old.unlink()
        for path, text in texts.items():
            self._write_one(path, text)

    def _write_one(self, path, text):
        target = self.sources / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)

    def _configure(self):
        self._run([
            "cmake", "-G", "Ninja", "-S", self.root, "-B", self.directory,
            "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -DNDEBUG -w",
            "-DCMAKE_UNITY_BUILD=ON", f"-DSIGNALBOX_MUTANTS={self.sources}",
        ], quiet=True)

    def _commands(self):
        """Returns the compiler's command for each copy, without its output."""
        listed = json.loads((self.directory / "compile_commands.json").read_text())
        commands = {}
        for entry in listed:
            path = pathlib.Path(entry["file"])
            if path.is_relative_to(self.sources):
                words = shlex.split(entry["command"])
                output = words.index("-o")
                del words[output : output + 2]
                words.remove("-c")
                commands[path] = [*words, "-fsyntax-only", "-fmax-errors=0"]
        return commands

    def _compiling(self, source, mutants, command):
        """Returns those of the mutants that compile together."""
        while mutants:
            copy = Generated(source, mutants)
            failing = self._failing(source.path, copy, command)
            if failing is None:
                return mutants
            if not failing:
                return self._bisected(source, mutants, command)
            mutants = [mutant for mutant in mutants if mutant.number not in failing]
        return mutants

    def _bisected(self, source, mutants, command):
        """Finds what compiles where no error names a mutant."""
        if len(mutants) == 1:
            return []
        middle = len(mutants) // 2
        good = [self._compiling(source, half, command) for half in (mutants[:middle], mutants[middle:])]
        together = good[0] + good[1]
        if self._failing(source.path, Generated(source, together), command) is None:
            return together
        return max(good, key=len)

    def _failing(self, path, copy, command):
        """Returns the numbers of the mutants on lines with errors, or None if there is no error."""
        self._write_one(path, copy.text)
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True,
                              errors="replace")
        if done.returncode == 0:
            return None
        place = re.escape(str(self.sources / path)) + r":(\d+)(?::\d+)?:"
        for pattern in (place + r" (?:fatal )?error:", place):
            lines = {int(found) for found in re.findall(pattern, done.stderr)}
            failing = {mutant.number for line in lines for mutant in copy.owners.get(line, [])}
            if failing:
                return failing
        return set()

    def _run(self, command, quiet=False):
        words = [str(word) for word in command]
        done = subprocess.run(words, stdout=subprocess.PIPE if quiet else sys.stderr, text=True)
        if done.returncode != 0:
            raise BuildFailed(f"{shlex.join(words)}: exit {done.returncode}\n{done.stdout or ''}")
