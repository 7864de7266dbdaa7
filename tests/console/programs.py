"""What the console's tests need beside the binary: a browser of the system, and packages of npm.

The packages are of pinned versions, in a directory of the build, and stay there.
"""
import json
import pathlib
import shutil
import subprocess

INSTALL_SECONDS = 180
# It takes a .js file with imports for a module.
NODE_MIN = (20, 19)
CHROMIUM = "/usr/bin/chromium-headless-shell"
PACKAGES = {"playwright-core": "1.65.1", "axe-core": "4.14.1", "typescript": "5.9.3"}
# A real node in a package, for systems whose own is older: Debian 12 has 18.
NODE = {"node": "22.23.3"}


class NotInstalled(Exception):
    """Something that the tests need can't be installed."""


def system_node():
    """Returns the path of the system's node if it is new enough, else None."""
    path = shutil.which("node")
    if path is None:
        return None
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    numbers = [int(part) for part in version.strip().lstrip("v").split(".")[:2] if part.isdigit()]
    return path if tuple(numbers) >= NODE_MIN else None


def node_of(directory):
    """Returns the path of the node that runs the scenes."""
    return system_node() or str(modules_of(directory) / ".bin" / "node")


def modules_of(directory):
    return pathlib.Path(directory).resolve() / "node_modules"


def wanted():
    return {**PACKAGES, **({} if system_node() else NODE)}


def install(directory):
    """Installs what is missing. Raises NotInstalled, for these tests are never skipped."""
    if shutil.which("npm") is None:
        raise NotInstalled("npm isn't there; on Debian: apt-get install npm")
    if not pathlib.Path(CHROMIUM).exists():
        raise NotInstalled(f"{CHROMIUM} isn't there; on Debian: apt-get install chromium-headless-shell")
    directory = pathlib.Path(directory).resolve()
    mark = directory / "installed"
    versions = json.dumps(wanted())
    if mark.exists() and mark.read_text() == versions:
        return
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    command = ["npm", "install", "--prefix", directory, "--no-audit", "--no-fund", "--no-update-notifier",
               "--loglevel=error", *[f"{name}@{version}" for name, version in wanted().items()]]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=INSTALL_SECONDS,
                              cwd=directory)
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"npm didn't end in {INSTALL_SECONDS} s") from error
    if done.returncode != 0:
        raise NotInstalled(done.stderr.decode(errors="replace").strip())
    mark.write_text(versions)
