"""Generates a client from the OpenAPI document, compiles it, and tours the real server with it.

    python3 tests/openapi --install build/openapi               installs the generator; what is there stays
    python3 tests/openapi --binary build/signalbox --packages build/openapi

Exits 1 if the document leaves something without a type, if the tour doesn't compile, or if the server
answers otherwise than the types say.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "crash" / "campaign"))  # service.py

from service import Service, run_command

DOCUMENT = HERE.parent.parent / "server" / "transport" / "http" / "openapi.json"
INSTALL_SECONDS = 180
COMPILE_SECONDS = 180
TOUR_SECONDS = 240
REPOSITORY_SECONDS = 60

# The generator, the compiler, and what the generated client calls. Nothing of it is in the product.
PACKAGES = {"openapi-typescript": "7.13.0", "typescript": "5.9.3", "openapi-fetch": "0.17.0"}

COMPILER_OPTIONS = {
    "strict": True, "noUncheckedIndexedAccess": True, "noEmitOnError": True, "target": "es2022",
    "module": "nodenext", "moduleResolution": "nodenext", "lib": ["es2022", "dom", "dom.iterable"],
    "types": [], "skipLibCheck": True, "outDir": "built",
}
# The generator's type for an object of which the document says nothing.
UNTYPED = re.compile(r".*: Record<string, never>.*")


class Failed(Exception):
    """The generator can't be installed, or something doesn't go as it has to."""


def run(seconds, directory, *command):
    """Runs a command to its end. Returns what it printed. Raises Failed if it fails."""
    words = [str(each) for each in command]
    try:
        done = subprocess.run(words, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{words[0]}: no end in {seconds} s") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(directory):
    """Installs the packages into the directory, unless these versions are there."""
    mark = directory / "installed"
    wanted = json.dumps(PACKAGES)
    if mark.exists() and mark.read_text() == wanted:
        return
    if shutil.which("npm") is None:
        raise Failed("npm isn't there; on Debian: apt-get install npm")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    run(INSTALL_SECONDS, directory, "npm", "install", "--prefix", directory, "--no-audit", "--no-fund",
        "--no-update-notifier", "--ignore-scripts", "--loglevel=error",
        *[f"{name}@{version}" for name, version in PACKAGES.items()])
    mark.write_text(wanted)


def compile_tour(packages, place):
    """Generates the client and compiles the tour with it, below the packages. Returns the program."""
    programs = packages / "node_modules" / ".bin"
    client = place / "signalbox.d.ts"
    run(COMPILE_SECONDS, place, programs / "openapi-typescript", DOCUMENT, "--output", client)
    untyped = [line.strip() for line in client.read_text().splitlines() if UNTYPED.match(line)]
    if untyped:
        raise Failed("these have no type:\n" + "\n".join(untyped))
    shutil.copy(HERE / "tour.ts", place)
    (place / "package.json").write_text('{"type": "module"}\n')
    (place / "tsconfig.json").write_text(json.dumps(
        {"compilerOptions": COMPILER_OPTIONS, "files": ["tour.ts"]}))
    run(COMPILE_SECONDS, place, programs / "tsc", "--project", "tsconfig.json")
    return place / "built" / "tour.js"


def tour(binary, program, directory):
    """Runs the tour with a server of its own."""
    data = pathlib.Path(directory) / "data"
    with Service(binary, data, ["--listen", "127.0.0.1:0"]) as service:
        if not service.wait_until_ready():
            raise Failed(f"the server ended: {service.log()}")
        port = re.search(r"listening on 127\.0\.0\.1:(\d+)", service.log())[1]
        end, secret, complaint = run_command(binary, "access", "issue", "tour", "--role", "operator",
                                             "--data", data)
        if end != "exit 0":
            raise Failed(f"access issue: {end}: {complaint}")
        repository = pathlib.Path(directory) / "site"
        run(REPOSITORY_SECONDS, directory, "git", "init", "--quiet", "--initial-branch=main", repository)
        run(REPOSITORY_SECONDS, repository, "git", "-c", "user.name=tour", "-c", "user.email=tour@example.com",
            "commit", "--quiet", "--allow-empty", "--message=first")
        print(run(TOUR_SECONDS, program.parent, "node", program, f"http://127.0.0.1:{port}",
                  secret.split("\n")[0], repository), end="")


def main():
    parser = argparse.ArgumentParser(prog="tests/openapi",
                                     description="Tours the server with a generated client.")
    parser.add_argument("--install", type=pathlib.Path, metavar="DIRECTORY",
                        help="only install the generator there")
    parser.add_argument("--binary", type=pathlib.Path, default=pathlib.Path("build/signalbox"))
    parser.add_argument("--packages", type=pathlib.Path, default=pathlib.Path("build/openapi"))
    options = parser.parse_args()
    try:
        if options.install:
            install(options.install.resolve())
            return 0
        packages = options.packages.resolve()
        with tempfile.TemporaryDirectory(prefix="tour-", dir=packages) as place, \
                tempfile.TemporaryDirectory(prefix="openapi-", ignore_cleanup_errors=True) as directory:
            program = compile_tour(packages, pathlib.Path(place))
            tour(options.binary.resolve(), program, directory)
    except Failed as failure:
        print(f"FAILED {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
