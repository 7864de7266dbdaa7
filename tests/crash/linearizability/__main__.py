"""Judges whether what clients of the real server saw is linearizable, while faults strike it.

    python3 tests/crash/linearizability --binary build/signalbox                ten kills
    python3 tests/crash/linearizability --binary build/signalbox --kills 500 --seed 7
    python3 tests/crash/linearizability --judge history-0.jsonl …               a history that was kept
    python3 tests/crash/linearizability --self-test                             that the checker can fail

Exits 1 if a history isn't linearizable; it is kept then, and each of its keys that fails is drawn.
"""
import argparse
import pathlib
import random
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "campaign"))  # service.py

import drawing
import history
import judge
import self_checks
import sweep

KILLS_A_SERVER = 20


def parse():
    parser = argparse.ArgumentParser(prog="tests/crash/linearizability",
                                     description="Judges whether what clients saw is linearizable.")
    parser.add_argument("--binary", type=pathlib.Path, default=pathlib.Path("build/signalbox"))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, help="of all choices; by default a random one, which is printed")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the history there, also a good one")
    parser.add_argument("--judge", type=pathlib.Path, nargs="+", metavar="FILE",
                        help="only judge this history")
    parser.add_argument("--self-test", action="store_true", help="only check that the checker can fail")
    return parser.parse_args()


def report(found, files, directory):
    """Prints the verdict about a history, and keeps it if it is bad. Returns whether it is good."""
    judgement = judge.judge(found)
    print(judgement.summary())
    if judgement.is_good and directory is None:
        return True
    directory = directory or pathlib.Path(tempfile.mkdtemp(prefix="linearizability-"))
    directory.mkdir(parents=True, exist_ok=True)
    for file in files:
        if file.resolve().parent != directory.resolve():
            shutil.copy(file, directory)
    for complaint in judgement.complaints():
        print(f"  {complaint}")
    for number, page in enumerate(judgement.drawings(found)):
        drawn = directory / f"{'key' if number < len(judgement.bad) else 'whole'}-{number}.html"
        drawn.write_text(drawing.page(*page))
        print(f"  drawn: {drawn}")
    print(f"  kept: {directory}")
    return judgement.is_good


def main():
    options = parse()
    if options.judge:
        return 0 if report(history.read(options.judge), options.judge, options.keep) else 1
    missed = self_checks.run()
    if missed:
        print("the checker doesn't work: " + "; ".join(missed))
        return 1
    if options.self_test:
        return 0
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    for number, kills in enumerate(batches(options.kills)):
        if not sweep_once(options, seed + number, kills):
            return 1
    return 0


def batches(kills):
    """Returns how many kills each server gets: a small disk holds no longer log."""
    return [min(KILLS_A_SERVER, kills - first) for first in range(0, kills, KILLS_A_SERVER)]


def sweep_once(options, seed, kills):
    """Judges one server's history. Returns whether it is good."""
    print(f"again with: python3 tests/crash/linearizability --binary {options.binary} --kills {kills} "
          f"--seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="linearizability-") as scratch:
        try:
            swept = sweep.Sweep(options.binary.resolve(), pathlib.Path(scratch), seed, kills)
            found = swept.run()
        except sweep.Stuck as stuck:
            print(f"wrong: {stuck}")
            return False
        print("faults: " + ", ".join(f"{count} {name}" for name, count in sorted(swept.faults.items())))
        return report(found, swept.files, options.keep)


if __name__ == "__main__":
    sys.exit(main())
