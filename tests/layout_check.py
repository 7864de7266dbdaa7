#!/usr/bin/env python3
"""Checks what the compiler doesn't: which folder may include which, where heavy headers go, and how
long a file is.

Prints each violation with file and line; exits 1 if there is one.
"""
import pathlib
import posixpath
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

TOP_LEVEL = {"CMakeLists.txt", "README.md", "domain", "store", "projections", "server", "tests", "tools"}

# A top-level folder may include itself and these.
MAY_INCLUDE = {
    "domain": set(),
    "store": {"domain"},
    "projections": {"domain", "store"},
    "server": {"domain", "store", "projections"},
    "tools": {"domain", "store", "projections", "server"},
    "tests": {"domain", "store", "projections", "server", "tools"},
}

# A subfolder (room) of server/ or tools/ may include itself, limits.h, and the rooms listed here. A
# room that isn't listed isn't allowed, nor a permission that nothing uses. Files beside the rooms (server/*.cc, tools/main.cc) wire them
# together and may include all of them; no room may include those files.
ROOMS_MAY_INCLUDE = {
    "server": {
        "text": set(),
        "platform": {"text"},
        "git": {"text", "platform"},
        "engine": {"text", "platform"},
        "cell": {"text"},
        "access": {"text", "engine"},
        "executors": {"text", "platform", "git"},
        "executors/builtin": {"text", "platform", "git", "executors"},
        "executors/checks": {"text", "platform", "git", "executors"},
        "executors/coderunner": {"text", "platform", "executors"},
        "executors/remote": {"text", "platform", "executors", "executors/coderunner"},
        "executors/process": {
            "text", "platform", "git", "executors", "executors/builtin", "executors/checks", "executors/coderunner",
        },
        "scheduler": {"text", "platform", "engine", "executors", "executors/coderunner"},
        "runners": {"text", "executors", "executors/process", "scheduler"},
        "board": {"text", "platform", "git", "engine", "scheduler"},
        "followers": {"text", "platform", "engine", "access"},
        "followers/run_root": {"text", "platform", "followers"},
        "followers/traces": {"text", "platform", "followers"},
        "retention": {"text", "platform", "git", "executors", "scheduler", "followers", "followers/run_root"},
        "rpc": {
            "text", "platform", "engine", "cell", "access", "executors", "scheduler", "runners", "followers",
            "followers/run_root", "followers/traces",
        },
        "rpc/methods": {
            "text", "platform", "engine", "cell", "access", "executors", "scheduler", "runners", "board",
            "followers", "followers/run_root", "followers/traces", "rpc",
        },
        "transport/http": {"text", "platform", "access", "rpc"},
        "transport": {"access", "rpc", "transport/http"},
        "replay": {"text", "platform", "engine", "scheduler", "rpc", "rpc/methods"},
        "replay/what_if": {"text", "platform", "engine", "scheduler", "board", "rpc"},
    },
    "tools": {
        "cli": set(),
        "views": {"cli"},
        "lock": {"cli"},
        "console": {"cli", "audit"},
        "deep_work": {"cli"},
        "audit": {"cli", "views"},
        "replay": {"cli", "views", "audit"},
        "runner": {"cli"},
        "commands": {"cli", "views", "lock", "audit", "runner"},
        "bench": {"cli", "audit", "replay"},
    },
}

# A folder of the console's modules may import itself and these; app.js beside them may import all.
CONSOLE = "server/console"
CONSOLE_MAY_IMPORT = {
    "vendor": set(),
    "core": {"vendor"},
    "proof": {"vendor", "core"},
    "parts": {"vendor", "core", "proof"},
    "pages": {"vendor", "core", "proof", "parts"},
}

# What domain/ may include besides the standard library.
DOMAIN_MAY_USE = re.compile(r"<(tl/expected\.hpp|boost/(describe|mp11|unordered|container_hash)[/.].*)>")
HEAVY = re.compile(r"<(boost/(asio|beast|json)\b|spdlog/|cereal/|rocksdb/|openssl/|curl/)")

# Headers that only sources and one another may include. In exchange they may include heavy headers.
INTERNAL = {
    "store/described_archive.h",
    "store/memory_archive.h",
    "store/read_ahead.h",
    "store/rocks_database.h",
    "store/rocks_filling.h",
    "store/rocks_log_state.h",
    "store/history.h",
    "store/log_opening.h",
    "store/moved_fields.h",
    "store/pipeline_definition_v2.h",
    "store/frozen_project_events.h",
    "store/frozen_run_events.h",
    "store/frozen_server_events.h",
    "store/frozen_tick_events.h",
    "projections/row_codec.h",
}

problems = []
arrows = {}  # of folders to the folders that they include: {"tests/crash": {"tests/fixtures", …}, …}


def files():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [path for path in listed.stdout.split("\n") if path and (ROOT / path).exists()]


def room_of(path):
    """Returns the room of a path: `rpc/methods` of `server/rpc/methods/x.cc`, "" beside the rooms."""
    return "/".join(path.split("/")[1:-1])


def note_arrow(path, name):
    arrows.setdefault(path.rpartition("/")[0], set()).add(name.rpartition("/")[0])


def check_room(path, where, name):
    top = path.split("/")[0]
    rooms = ROOMS_MAY_INCLUDE.get(top)
    if rooms is None or name.split("/")[0] != top or name == f"{top}/limits.h":
        return
    room, other = room_of(path), room_of(name)
    if room == "":
        return
    if room not in rooms:
        problems.append(f"{path}: ROOMS_MAY_INCLUDE in tests/layout_check.py has no room {top}/{room}")
    elif other != room and other not in rooms[room]:
        problems.append(f"{where}: {top}/{room}/ may not include {name}")


def check_includes(path):
    folder = path.split("/")[0]
    if folder not in MAY_INCLUDE:
        return
    for number, line in enumerate((ROOT / path).read_text().split("\n"), 1):
        match = re.match(r'\s*#\s*include\s+(["<])([^">]+)', line)
        if not match:
            continue
        where = f"{path}:{number}"
        name = match.group(2)
        if match.group(1) == '"':
            other = name.split("/")[0]
            if name != "server/limits.h":
                note_arrow(path, name)
            if other != folder and other not in MAY_INCLUDE[folder]:
                problems.append(f"{where}: {folder}/ may not include {name}")
            check_room(path, where, name)
            if path.endswith(".h") and name in INTERNAL and path not in INTERNAL:
                problems.append(f"{where}: {name} is for sources only")
        else:
            angled = f"<{name}>"
            is_standard = "/" not in name and not name.endswith(".hpp")
            if folder == "domain" and not is_standard and not DOMAIN_MAY_USE.match(angled):
                problems.append(f"{where}: domain/ may not use {angled}")
            below_server = folder in ("domain", "store", "projections")
            if below_server and path.endswith(".h") and path not in INTERNAL and HEAVY.match(angled):
                problems.append(f"{where}: {angled} belongs into a source")
            if below_server and angled.startswith("<spdlog"):
                problems.append(f"{where}: nothing logs below server/")


def check_tests(path):
    """Checks that a test source is in a folder that CMakeLists.txt builds into a test program."""
    match = re.match(r"tests/(.+)/[^/]+\.cc$", path)
    if not match and re.match(r"tests/[^/]+\.cc$", path):
        problems.append(f"{path}: put it into a folder of tests/, or it isn't built")
    if match:
        folder = match.group(1).split("/")[0]
        if folder == "fuzz":
            if not path.endswith(("_fuzz.cc", "/entry_point.cc")):
                problems.append(f"{path}: a fuzz target is named tests/fuzz/<name>_fuzz.cc")
        elif folder == "fixtures":
            if path not in (ROOT / "CMakeLists.txt").read_text():
                problems.append(f"{path}: CMakeLists.txt has no tests that it is built with")
        elif not re.search(rf"signalbox_tests\({folder}\b", (ROOT / "CMakeLists.txt").read_text()):
            problems.append(f"{path}: CMakeLists.txt has no signalbox_tests({folder} …), so it isn't built")
        # Such a line may come after the answer that the test waited for.
        if re.search(r"_NE\([\w.>()-]*(?:log|messages)\(\)\.find\((?![^;]*, before\))", (ROOT / path).read_text()):
            problems.append(f"{path}: wait for a line of another program's log with logs(text)")


# One definition rule: two types with one name in headers are undefined behaviour in one program.
DEFINES = re.compile(
    r"^(?:class|struct|enum class) (\w+)(?: final)?(?: :.*| \{.*)$|^using (\w+) =", re.MULTILINE
)
defined = {}


def check_names(path):
    for type_name, alias in DEFINES.findall((ROOT / path).read_text()):
        name = type_name or alias
        other = defined.setdefault(name, path)
        if other != path:
            problems.append(f"{path}: {other} defines a {name} too")


LINES_MAX = 400  # of a source or header: a longer one has two subjects


def check_short_names(paths):
    """A file, or one that it includes, declares each short name of a namespace that it uses. In a
    unity build any source compiled with it would do, so another number of sources wouldn't build."""
    texts = {path: (ROOT / path).read_text() for path in paths if path.endswith((".h", ".cc"))}
    code = {path: re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text) for path, text in texts.items()}
    declared = {path: set(re.findall(r"namespace (\w+) =", text)) for path, text in code.items()}
    included = {path: re.findall(r'^#include "([^"]+)"', text, re.MULTILINE) for path, text in texts.items()}
    short = set().union(*declared.values())
    for path, text in code.items():
        used = {name for name in re.findall(r"(?<![\w:])(\w+)::", text) if name in short}
        known, waiting = set(), [path]
        while waiting and not used <= set().union(*(declared[each] for each in known)):
            each = waiting.pop()
            if each in declared and each not in known:
                known.add(each)
                waiting += included[each]
        for name in sorted(used - set().union(*(declared[each] for each in known))):
            problems.append(f"{path}: uses {name}::, which neither it nor what it includes declares")


def check_length(path):
    """Checks that a file can be read in one sitting."""
    count = (ROOT / path).read_text().count("\n")
    if count > LINES_MAX:
        problems.append(f"{path}: {count} lines, {LINES_MAX} at most")


def check_cycle(what, included_by_folder):
    """Checks that no folder includes one that includes it back, directly or through others."""
    left = {folder: set(others) - {folder} for folder, others in included_by_folder.items()}
    while True:
        free = [folder for folder, others in left.items() if not others & set(left)]
        if not free:
            break
        for folder in free:
            del left[folder]
    if left:
        problems.append(f"{what}: a cycle is in or above {', '.join(sorted(left))}")


def check_rooms():
    """Checks that what the tables permit has no cycle."""
    for top, rooms in ROOMS_MAY_INCLUDE.items():
        check_cycle(f"ROOMS_MAY_INCLUDE of {top}/", rooms)
    check_cycle("CONSOLE_MAY_IMPORT", CONSOLE_MAY_IMPORT)


def check_permissions():
    """Checks that each arrow that is permitted is drawn: the tables are the map of the tree."""
    for top, rooms in ROOMS_MAY_INCLUDE.items():
        for room, others in rooms.items():
            drawn = arrows.get(f"{top}/{room}", set())
            for other in sorted(others):
                if f"{top}/{other}" not in drawn:
                    problems.append(f"ROOMS_MAY_INCLUDE permits {top}/{room}/ to include {top}/{other}/, and it doesn't")


def check_imports(path):
    """Checks that a module of the console imports what its folder may."""
    room = path[len(CONSOLE) + 1 :].rpartition("/")[0]
    if room == "":
        return
    for number, line in enumerate((ROOT / path).read_text().split("\n"), 1):
        for name in re.findall(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']*)["']""", line):
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            other = imported[len(CONSOLE) + 1 :].rpartition("/")[0]
            if not imported.startswith(f"{CONSOLE}/") or room not in CONSOLE_MAY_IMPORT:
                problems.append(f"{path}:{number}: CONSOLE_MAY_IMPORT has no {room} that imports {name}")
            elif other != room and other not in CONSOLE_MAY_IMPORT[room]:
                problems.append(f"{path}:{number}: {CONSOLE}/{room}/ may not import {name}")


# What the console is made of, without blank lines and comments, and without what is vendored.
CONSOLE_LINES_MAX = 6000
CONSOLE_FILE_LINES_MAX = 400


def check_console_size(paths):
    """Checks that the console stays small enough to be read."""
    total = 0
    for path in paths:
        if not path.startswith(f"{CONSOLE}/") or path.startswith(f"{CONSOLE}/vendor/") or not path.endswith((".js", ".css", ".html")):
            continue
        lines = (ROOT / path).read_text().split("\n")
        total += sum(1 for line in lines if line.strip() and not re.match(r"\s*(//|/?\*)", line))
        if len(lines) > CONSOLE_FILE_LINES_MAX:
            problems.append(f"{path}: more than {CONSOLE_FILE_LINES_MAX} lines")
    if total > CONSOLE_LINES_MAX:
        problems.append(f"{CONSOLE}/: {total} lines, more than {CONSOLE_LINES_MAX}")


def check_document(path):
    """Checks that each path in backticks in the document exists; `*` matches any name."""
    for number, line in enumerate((ROOT / path).read_text().split("\n"), 1):
        for name in re.findall(r"`([^`\s]+)`", line):
            if name.split("/")[0] in TOP_LEVEL and "/" in name and not any(ROOT.glob(name.rstrip("/"))):
                problems.append(f"{path}:{number}: there is no {name}")


def check_suppressions(path):
    """Checks that ThreadSanitizer's suppressions name foreign libraries and nothing of ours."""
    for number, line in enumerate((ROOT / path).read_text().split("\n"), 1):
        if line and not line.startswith("#") and not re.fullmatch(r"(race_top|mutex|deadlock):lib[\w+-]+\.so", line):
            problems.append(f"{path}:{number}: only reports of foreign libraries are suppressed")


LIMIT_FILES = (
    "domain/limits.h",
    "server/limits.h",
    "server/rpc/page_limit.h",
    "server/followers/traces/trace_limits.h",
)
# In every other header of these folders, the constants with such a name.
LIMIT_FOLDERS = ("domain", "store", "projections", "server", "tools")
LIMIT_NAME = r"\w+_(?:max|min)"
LIMITS_MET = "tests/limits_met.txt"


def check_limits(listed):
    """Checks that each limit is named by a test, or that LIMITS_MET says which test meets it."""
    limits = {}
    for path in listed:
        if path.split("/")[0] not in LIMIT_FOLDERS or not path.endswith(".h"):
            continue
        name_like = r"\w+" if path in LIMIT_FILES else LIMIT_NAME
        for name in re.findall(rf"^inline constexpr [\w:]+ ({name_like}) =", (ROOT / path).read_text(), re.MULTILINE):
            limits[name] = path
    named, tests = set(), set()
    for path in listed:
        if path.startswith("tests/") and path.endswith((".cc", ".h")):
            text = (ROOT / path).read_text()
            named.update(limits.keys() & set(re.findall(r"\w+", text)))
            tests.update(".".join(found) for found in re.findall(r"^TEST\w*\(\s*(\w+),\s*(\w+)", text, re.MULTILINE))
    rows = {}
    for number, line in enumerate((ROOT / LIMITS_MET).read_text().split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        name, _, met = line.partition(" ")
        rows[name] = met = met.strip()
        if name not in limits:
            problems.append(f"{LIMITS_MET}:{number}: there is no limit {name}")
        elif name in named:
            problems.append(f"{LIMITS_MET}:{number}: a test names {name}, so it needs no row")
        if met not in tests and not met.startswith("- "):
            problems.append(f"{LIMITS_MET}:{number}: there is no test {met}")
    for name, path in limits.items():
        if name not in named and name not in rows:
            problems.append(f"{path}: no test names {name}, nor does {LIMITS_MET} say which one meets it")


check_rooms()
check_suppressions("tests/thread_sanitizer.supp")
check_document("tests/README.md")
check_limits(files())
check_short_names(files())
check_console_size(files())
for listed in files():
    top = listed.split("/")[0]
    if not top.startswith(".") and top not in TOP_LEVEL:
        problems.append(f"{listed}: the top level is fixed: {', '.join(sorted(TOP_LEVEL))}")
    if listed.endswith((".h", ".cc")):
        check_includes(listed)
        check_length(listed)
        if listed.endswith(".h") and top != "tests":
            check_names(listed)
        check_tests(listed)
    if listed.startswith(f"{CONSOLE}/") and listed.endswith(".js") and "/vendor/" not in listed:
        check_imports(listed)
check_cycle("folders that include each other", arrows)
check_permissions()

print("\n".join(problems) if problems else "layout: ok")
sys.exit(1 if problems else 0)
