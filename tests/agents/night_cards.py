"""The cards of the night (night.py), their repository, and what the model says to their agents.

Three cards build on each other's code, two change the same line. One agent hangs, one meets a usage
limit, one makes a repository inside the repository, one lets a subagent work in the background, one
gets and gives garbage.
"""
import json
import re
import subprocess
import threading
import time

from model_server import Answer, Garbage, Hang, Refusal
from stage import check

FILES = 300
NIGHT_SECONDS = 240
LIMIT_SECONDS = 6
POLICY = """## Constraints
- maxConcurrentAgents: 8
- maxConcurrentAgentsPerProject: 8
- blockedRetryMinutes: 60
- maxAttempts: 3
"""
AGENTS_FILE = "# Checks\n\n```sh\npython3 check.py\n```\n"
CHECK_FILE = """import pathlib, runpy
for each in sorted(pathlib.Path("checks").glob("*.py")):
    runpy.run_path(str(each))
"""

# What each card's agent writes in the end, by card. The code of a chain needs that of the card
# before it.
WORK = {
    "base": ("base.py", "def two():\n    return 2\n", "from base import two\nassert two() == 2\n"),
    "middle": ("middle.py", "from base import two\n\ndef four():\n    return 2 * two()\n",
               "from middle import four\nassert four() == 4\n"),
    "top": ("top.py", "from middle import four\n\ndef eight():\n    return 2 * four()\n",
            "from top import eight\nassert eight() == 8\n"),
    "left": ("shared.py", "WHO = 'left'\n", "from shared import WHO\nassert 'left' in WHO\n"),
    "right": ("shared.py", "WHO = 'right'\n", "from shared import WHO\nassert 'right' in WHO\n"),
    "nested": ("tool.py", "TOOL = 1\n", "from tool import TOOL\nassert TOOL == 1\n"),
    "hang": ("hang.py", "HANG = 1\n", "from hang import HANG\nassert HANG == 1\n"),
    "limited": ("limited.py", "DONE = 1\n", "from limited import DONE\nassert DONE == 1\n"),
}
CHAIN = ["base", "middle", "top"]
BOTH = "WHO = 'left and right'\n"


def git(directory, *words):
    done = subprocess.run(["git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@localhost",
                           *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    check(done.returncode == 0, f"git {' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode()


def make_repository(directory):
    """Makes a repository with a bare remote. Returns the paths of both."""
    repository, remote = directory / "site", directory / "site.git"
    (repository / "src").mkdir(parents=True)
    git(repository, "init", "--quiet", "--initial-branch", "main")
    for number in range(FILES - 5):
        (repository / "src" / f"part_{number:03}.py").write_text(f"NUMBER = {number}\n")
    for name, text in {"HEARTBEAT.md": POLICY, "AGENTS.md": AGENTS_FILE, "check.py": CHECK_FILE,
                       "shared.py": "WHO = 'nobody'\n", ".gitignore": "__pycache__/\n"}.items():
        (repository / name).write_text(text)
    git(repository, "config", "user.name", "t")
    git(repository, "config", "user.email", "t@localhost")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", "first")
    git(repository, "clone", "--quiet", "--bare", ".", str(remote))
    git(repository, "remote", "add", "origin", str(remote))
    return repository, remote


def card_of(body):
    """Returns the name of the card that a request to the model is about.

    The titles of others are in it as well: claude shows its model the latest commits.
    """
    found = re.search(r"This is the card (\w+)", json.dumps(body.get("messages")))
    return found[1] if found else ""


def write_files(name, text=""):
    """Returns the call of a tool that writes the card's files."""
    file, code, test = WORK[name]
    parts = [(file, text or code), (f"checks/{name}.py", test)]
    command = "mkdir -p checks" + "".join(f" && printf %s {json.dumps(text)} > {path}"
                                          for path, text in parts)
    return "Bash", {"command": command.replace("\\n", "\n"), "description": "write"}


class Meeting:
    """A point where requests of agents wait until the scene goes on."""

    def __init__(self, expected):
        self.expected = expected
        self.arrived = set()
        self.opened = threading.Event()

    def wait(self, name):
        self.arrived.add(name)
        self.opened.wait(NIGHT_SECONDS)

    def is_complete(self):
        return len(self.arrived) >= self.expected


def bash(command):
    return "Bash", {"command": command, "description": "a command"}


class Model:
    """What the model says to the agent of each card."""

    def __init__(self):
        self.both_work = Meeting(2)
        self.middle_works = Meeting(1)
        self.top_works = Meeting(1)
        self.said = set()
        self.lock = threading.Lock()

    def __call__(self, request):
        return getattr(self, card_of(request.body))(request)

    def first(self, what):
        """Returns true the first time."""
        with self.lock:
            is_first = what not in self.said
            self.said.add(what)
            return is_first

    @staticmethod
    def work(name, request, code="", end="It is done."):
        """Writes the card's files, and ends once they are written."""
        if f"checks/{name}.py" in request.text():
            return Answer(end, tokens_in=1500, cache_read=800)
        return Answer("I write it.", write_files(name, code), cache_write=300)

    def base(self, request):
        if "SUBTASK" in str(request.body["messages"][0]):
            return Answer("The part is fine.", tokens_in=90_000, tokens_out=700)
        if request.tool_results() == 0:
            return Answer("I share the work.", write_files("base"), ("Agent", {
                "description": "a part", "prompt": "SUBTASK. This is the card base", "run_in_background": True,
                "subagent_type": "general-purpose"}))
        return Answer("All parts are done.")

    def middle(self, request):
        if self.first("middle"):
            return Answer("I look.", bash("cat base.py"))
        if self.first("middle works"):
            self.middle_works.wait("middle")
            return Hang()
        return self.work("middle", request)

    def top(self, request):
        if self.first("top"):
            return Answer("I look.", bash("cat middle.py"))
        if self.first("top works"):
            self.top_works.wait("top")
            return Hang()
        if self.first("top garbage"):
            return Garbage()
        return self.work("top", request, end="all done \ud83d and \0 more")

    def left(self, request):
        return self.either("left", request)

    def right(self, request):
        return self.either("right", request)

    def either(self, name, request):
        if "merge_conflict" in request.text():
            return self.work(name, request, BOTH)
        self.both_work.wait(name)
        return self.work(name, request)

    def nested(self, request):
        if self.first("nested"):
            return Answer("I take a repository.", bash(
                "git init -q vendor && echo mine > vendor/work.txt && git -C vendor add . && "
                "git -C vendor -c user.name=a -c user.email=a@localhost commit -qm work"))
        return self.work("nested", request)

    def hang(self, request):
        if self.first("hang"):
            return Answer("I look.", bash("ls"))
        return Hang() if self.first("hang hangs") else self.work("hang", request)

    def limited(self, request):
        if self.first("limited"):
            return Refusal(429, "rate_limit_error", "limit", {
                "anthropic-ratelimit-unified-status": "rejected",
                "anthropic-ratelimit-unified-reset": str(int(time.time()) + LIMIT_SECONDS),
                "anthropic-ratelimit-unified-representative-claim": "five_hour",
                "anthropic-ratelimit-unified-overage-status": "rejected"})
        return self.work("limited", request)
