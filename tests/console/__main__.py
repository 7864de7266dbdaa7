"""Opens the console in a real browser, in front of the real server.

    python3 tests/console --install build/console               installs what is needed; what is there stays
    python3 tests/console --binary build/signalbox --programs build/console
    python3 tests/console --programs build/console --only approvals_by_keyboard
    python3 tests/console --programs build/console --pictures DIRECTORY
    python3 tests/console --programs build/console --bench                measures instead of testing
    SIGNALBOX_CONSOLE_FILES=server/console python3 tests/console …     with files that aren't built in yet

Checks the types of the console's modules first. Exits 1 if they, or a scene, aren't as they have to be.
A scene that fails leaves a picture of its page, whose path is printed.
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import programs
import small_pictures

HERE = pathlib.Path(__file__).resolve().parent
CONSOLE = HERE.parent.parent / "server" / "console"
SCENES_SECONDS = 600
BENCH_SECONDS = 1200


def parse():
    parser = argparse.ArgumentParser(prog="tests/console", description="Opens the console in a real browser.")
    parser.add_argument("--install", type=pathlib.Path, metavar="DIRECTORY", help="only install what is needed there")
    parser.add_argument("--binary", type=pathlib.Path, default=pathlib.Path("build/signalbox"))
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/console"))
    parser.add_argument("--only", help="only this scene")
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
    """Returns whether all scenes went as they have to."""
    with tempfile.TemporaryDirectory(prefix="console-", ignore_cleanup_errors=True) as directory:
        command = [programs.node_of(options.programs), HERE / "play.mjs", options.binary.resolve(),
                   programs.modules_of(options.programs), directory, options.only or "",
                   options.pictures.resolve() if options.pictures else ""]
        try:
            return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=SCENES_SECONDS).returncode == 0
        except subprocess.TimeoutExpired:
            print(f"FAILED the scenes took longer than {SCENES_SECONDS} s")
            return False


def bench(options):
    """Prints what the console costs, and how that compares with asking the service alone."""
    with tempfile.TemporaryDirectory(prefix="console-", ignore_cleanup_errors=True) as directory:
        command = [programs.node_of(options.programs), HERE / "bench.mjs", options.binary.resolve(),
                   programs.modules_of(options.programs), directory]
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
    # Beside the scenes, which mostly wait.
    with concurrent.futures.ThreadPoolExecutor() as executor:
        types = executor.submit(check_types, options.programs)
        good = play(options)
    good = types.result() and good
    if options.pictures:
        for picture in sorted((options.pictures / "guide").glob("*.png")):
            small_pictures.shrink(picture)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
