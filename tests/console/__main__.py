"""Opens the console in a real browser, in front of the real server.

    python3 tests/console --install build/console               installs what is needed; what is there stays
    python3 tests/console --binary build/signalbox --programs build/console
    python3 tests/console --programs build/console --only approvals_by_keyboard
    python3 tests/console --programs build/console --pictures DIRECTORY
    python3 tests/console --programs build/console --bench                measures instead of testing
    python3 tests/console --programs build/console --bench --only timeline
    SIGNALBOX_CONSOLE_FILES=server/console python3 tests/console …     with files that aren't built in yet

Checks the types of the console's modules first. Exits 1 if they, or a scene, aren't as they have to be.
A scene that fails leaves a picture of its page, whose path is printed. The last line names all that failed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import programs
import small_pictures

HERE = pathlib.Path(__file__).resolve().parent
CONSOLE = HERE.parent.parent / "server" / "console"
# Five minutes on two processors, beside other tests. CTest's bound in CMakeLists.txt is longer.
SCENES_SECONDS = 1500
# For whoever plays them to end by itself.
END_SECONDS = 60
BENCH_SECONDS = 1200


def parse():
    parser = argparse.ArgumentParser(prog="tests/console", description="Opens the console in a real browser.")
    parser.add_argument("--install", type=pathlib.Path, metavar="DIRECTORY", help="only install what is needed there")
    parser.add_argument("--binary", type=pathlib.Path, default=pathlib.Path("build/signalbox"))
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/console"))
    parser.add_argument("--only", help="only this scene, or this part of the bench: first, rows, timeline, liveness, memory, moments, consoles")
    parser.add_argument("--bench", action="store_true", help="measure the console instead of testing it")
    parser.add_argument("--pictures", type=pathlib.Path, metavar="DIRECTORY", help="where each page's picture goes, and into guide/ below it those of the guide")
    return parser.parse_args()


def check_types(directory):
    """Returns whether the compiler of TypeScript accepts the modules, whose types are in comments."""
    compiler = programs.modules_of(directory) / "typescript" / "bin" / "tsc"
    done = subprocess.run([programs.node_of(directory), compiler, "-p", CONSOLE], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    print(done.stdout or "ok     types", flush=True)
    return done.returncode == 0


def play(options):
    """Returns a line for each scene that didn't go as it has to."""
    with tempfile.TemporaryDirectory(prefix="console-", ignore_cleanup_errors=True) as directory:
        command = [programs.node_of(options.programs), HERE / "play.mjs", options.binary.resolve(),
                   programs.modules_of(options.programs), directory, str(SCENES_SECONDS), options.only or "",
                   options.pictures.resolve() if options.pictures else ""]
        player = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            code = player.wait(SCENES_SECONDS + END_SECONDS)
        except subprocess.TimeoutExpired:
            code = f"none in {SCENES_SECONDS + END_SECONDS} s"
        finally:
            try:
                os.killpg(player.pid, signal.SIGKILL)  # what a scene that didn't end has begun
            except ProcessLookupError:
                pass
            player.wait()
        noted = pathlib.Path(directory) / "failed"
        failed = noted.read_text().splitlines() if noted.exists() else []
        return failed or ([] if code == 0 else [f"play.mjs: exit code {code}"])


def bench(options):
    """Prints what the console costs, and how that compares with asking the service alone."""
    with tempfile.TemporaryDirectory(prefix="console-", ignore_cleanup_errors=True) as directory:
        command = [programs.node_of(options.programs), HERE / "bench.mjs", options.binary.resolve(),
                   programs.modules_of(options.programs), directory, options.only or ""]
        return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=BENCH_SECONDS).returncode


def main():
    options = parse()
    try:
        if options.install:
            programs.install(options.install)
            return 0
    except programs.NotInstalled as error:
        print(f"the console can't be tested: {error}")
        return 1
    if options.bench:
        return bench(options)
    # What the scenes try in turns follows from it (turns.mjs).
    seed = os.environ.get("SIGNALBOX_SEED") or str(random.randrange(1_000_000))
    os.environ["SIGNALBOX_SEED"] = seed
    print(f"again with: SIGNALBOX_SEED={seed}", flush=True)
    # Beside the scenes, which mostly wait.
    with concurrent.futures.ThreadPoolExecutor() as executor:
        types = executor.submit(check_types, options.programs)
        failed = play(options)
    if not types.result():
        failed.append("types: the compiler doesn't accept the modules")
    if options.pictures:
        for picture in sorted((options.pictures / "guide").glob("*.png")):
            small_pictures.shrink(picture)
    # At the very end, which is all that some reports show.
    if failed:
        print(f"FAILED scenes: {' | '.join(failed)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
