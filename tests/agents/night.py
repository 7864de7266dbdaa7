"""A night that users have: eight cards of one repository, real agents, three kills, and the morning."""
import json
import pathlib
import shlex
import subprocess
import sys

import programs
from night_cards import BOTH, CHAIN, FILES, NIGHT_SECONDS, WORK, Model, card_of, git, make_repository
from service import all_events
from stage import MODEL, check, is_agent, is_shim, processes_of

# Longer than any agent works, of which six begin at once; the agent that hangs is ended by it.
AGENT_SECONDS = 30
AGENT_TIMES = 10
# A subscription has usage limits, a key has none.
COMMAND = ["env", "-u", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy", "claude",
           "--permission-mode", "acceptEdits", "--allowedTools", "Bash"]
KILLED = {"middle", "top"}  # whose shim or agent is killed
ANSWER_TOKENS = 100  # output of one answer
OWN_LOCK = "signalbox-worktree.lock"  # stays; nobody holds it
OUTPUT_PRICE = 15  # of a token, in millionths of a US dollar
# Why a card that isn't merged in the morning waits: the code, and what its reason or its output
# names.
REASONS = {
    "middle": ("CHECKS_FAILED", "No module named 'base'"),
    "top": ("CHECKS_FAILED", "No module named 'middle'"),
    "left": ("MERGE_CONFLICT", "shared.py"),
    "right": ("MERGE_CONFLICT", "shared.py"),
    "nested": ("NOT_PROPOSED: NESTED_REPOSITORY", "vendor/"),
}


class Night:
    def __init__(self, stage):
        self.stage = stage
        self.model = Model()
        self.repository, self.remote = make_repository(stage.directory)
        self.ids = {}

    def put_project(self):
        implement = {"name": "implement", "executor": "coderunner", "command": COMMAND,
                     "timeout": self.stage.bound(AGENT_SECONDS, AGENT_TIMES), "cancel_grace": "5s",
                     "environment": programs.passed_on(self.stage.name),
                     "retry": {"max_retries": 3, "backoff": "10ms"},
                     "coderunner": {"agent": "claude", "mode": "process", "model": MODEL["claude"]}}
        stations = [{"name": "intake", "executor": "builtin"}, implement,
                    {"name": "verify", "executor": "checks"},
                    {"name": "create_pr", "executor": "builtin"}]
        self.stage.service.call("project.put", name="site", repository=str(self.repository),
                                base="main", remote="origin",
                                pipeline={"name": "night", "station": stations})

    def submit(self):
        for name in WORK:
            chain = {"key": "chain", "priority": len(CHAIN) - CHAIN.index(name)} if name in CHAIN else {}
            card = self.stage.service.call("card.submit", project="site", title=f"night: {name}",
                                           brief=f"This is the card {name}.", **chain)
            self.ids[name] = card["card_id"]

    def card(self, name):
        return self.stage.service.call("card.get", card_id=self.ids[name])["card"]

    def columns(self):
        return {name: self.card(name)["status"] for name in WORK}

    def work_runs(self, name):
        return [self.stage.run_of(run["run_id"]) for run in self.card(name)["runs"]
                if run["kind"] == "work"]

    def wait(self, condition, what):
        self.stage.wait(condition, what, NIGHT_SECONDS)

    def wait_until_settled(self, names):
        """Blocks until each of the cards is merged, or waits for somebody."""
        self.wait(lambda: all(self.card(name)["status"] in ("merged", "blocked", "failed")
                              for name in names), f"the end of {names}")

    def kill_in_the_midst(self):
        """Kills the server while six agents work, then a shim and an agent during a request."""
        self.wait(self.model.both_work.is_complete, "the agents of the cards that conflict")
        self.stage.kill_server()
        self.model.both_work.opened.set()
        for name, works, which in (("middle", self.model.middle_works, is_shim),
                                   ("top", self.model.top_works, is_agent)):
            self.wait(works.is_complete, f"the agent of {name}")
            run_id = self.card(name)["run_id"]
            check(self.stage.kill_processes_of(run_id, which) > 0, f"{name}: nothing to kill")
            works.opened.set()

    def unblock(self, names):
        """Checks that cards wait for a true reason, and takes the first command that `why` names."""
        for name in names:
            why = self.stage.service.call("card.why", card_id=self.ids[name])
            reason = why["reasons"][0]
            code, told = REASONS[name]
            log = self.last_log(name)
            check(not why["moving"] and reason["text"].startswith(code), f"{name}: {reason}")
            check(told in reason["text"] + log, f"{name}: {told} is neither in {reason} nor in {log}")
            if name == "nested":  # its work isn't mended, but done again
                self.stage.command("card", "block", self.ids[name], "--reason", "no repository")
                reason = self.stage.service.call("card.why", card_id=self.ids[name])["reasons"][0]
            self.stage.command(*shlex.split(reason["next_commands"][0])[1:])
        self.wait_until_settled(names)

    def last_log(self, name):
        """Returns what the last attempt of the card's latest run has printed."""
        attempts = [attempt for station in self.work_runs(name)[-1]["stations"]
                    for attempt in station["attempts"]]
        return attempts[-1].get("logs_inline", "")


def check_tree(night):
    """Everything is merged, once, in an order that works, and nothing else is."""
    log = git(night.remote, "log", "--first-parent", "--format=%s", "main").splitlines()
    merges = [line for line in log if line.startswith("Merge: ")]
    check(sorted(merges) == sorted(f"Merge: night: {name}" for name in WORK), f"{log}")
    order = [merges.index(f"Merge: night: {name}") for name in reversed(CHAIN)]
    check(order == sorted(order), f"the latest first: {merges}")
    clone = night.stage.directory / "clone"
    git(night.remote, "clone", "--quiet", ".", str(clone))
    done = subprocess.run([sys.executable, "check.py"], cwd=clone, capture_output=True, timeout=60)
    check(done.returncode == 0, done.stderr.decode(errors="replace"))
    for name, (file, code, _) in WORK.items():
        expected = BOTH if file == "shared.py" else code
        check((clone / file).read_text() == expected, f"{name}: {(clone / file).read_text()}")
    check(len(list((clone / "src").iterdir())) == FILES - 5, "files are gone")
    check(not (clone / "vendor").exists(), "the nested repository was committed")


def check_bills(night):
    """Tokens and cost are those of the model server's bill; what can't be known is said to be
    estimated."""
    bills = night.stage.model.bills
    check(set(bills) == set(WORK), f"{bills.keys()}")
    for name in WORK:
        runs = night.work_runs(name)
        tokens = sum(run["used"]["tokens"] for run in runs)
        cost = sum(run["used"]["cost_microusd"] for run in runs)
        # An agent that is killed hasn't printed all output tokens of its only answer.
        unknown = ANSWER_TOKENS if name in KILLED else 0
        bill = bills[name]
        told = f"{name}: {tokens} tokens, {cost} µ$ and not {vars(bill)}"
        check(bill.tokens - unknown <= tokens <= bill.tokens, told)
        check(bill.cost_microusd - unknown * OUTPUT_PRICE - 2 <= cost <= bill.cost_microusd + 2, told)
        is_estimate = any((attempt.get("metadata") or {}).get("usage_estimated")
                          for run in runs for station in run["stations"]
                          for attempt in station["attempts"])
        check(is_estimate or tokens == bill.tokens, f"{told}, and it isn't said to be an estimate")


def check_leftovers(night):
    """Nothing is left behind but the worktree that a person has to look at, and that is named."""
    stage = night.stage
    runs = [run["run_id"] for name in WORK for run in night.card(name)["runs"]]
    night.wait(lambda: not any(processes_of(run_id) for run_id in runs), "the end of all processes")
    first = night.card("nested")["runs"][0]["run_id"]
    kept = pathlib.Path(stage.run_of(first)["run_root"]) / "workspace" / "vendor"
    check((kept / "work.txt").read_text() == "mine\n", "the nested repository is lost")

    def worktrees():
        lines = git(night.repository, "worktree", "list", "--porcelain").splitlines()
        return [line.split(" ", 1)[1] for line in lines if line.startswith("worktree ")][1:]
    night.wait(lambda: worktrees() == [str(kept.parent)], f"one worktree: {worktrees()}")
    noted = [event["data"] for event in all_events(stage.service).values()
             if event["type"] == "WorktreeLeft"]
    # A server that starts tries again to remove it.
    check({each["run_id"] for each in noted} == {first}, f"{noted}")
    check(all("vendor" in each["reason"] for each in noted), f"{noted}")
    check(stage.service.call("lock.list")["locks"] == [], "locks are left")
    locks = [path for path in [*night.repository.rglob("*.lock"), *night.remote.rglob("*.lock")]
             if path.name != OWN_LOCK]
    check(not locks, f"{locks}")
    check_branches(night)


def check_branches(night):
    """The remote has the base, and the work that conflicted, which is nowhere else; and each commit
    is whole."""
    conflicted = [runs[0]["run_id"] for runs in (night.work_runs("left"), night.work_runs("right"))
                  if len(runs) == 2]
    branches = git(night.remote, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    left = [branch for branch in branches if branch != "main"]
    check(len(left) == 1 and left[0].startswith(f"signalbox/{conflicted[0]}"), f"{branches}")
    git(night.repository, "fsck", "--connectivity-only", "--no-dangling")


def check_stories(night):
    """One span tells the story of each run of a card: those of the card, the run and its attempts."""
    for name in WORK:
        runs = [run["run_id"] for run in night.card(name)["runs"] if run["kind"] == "work"]
        for run_id in runs:
            told = json.loads(night.stage.command("events", "--span", run_id, "--limit", "1000", "--json"))
            events = told["result"]["events"]
            for event in events:
                span = event.get("parent_span_id", event.get("span_id"))
                check(span == run_id or event["type"].startswith("Worktree"), f"{name}: {event}")
            types = [event["type"] for event in events]
            expected = ["CardStarted", "RunStarted", "StationClaimed"]
            if run_id != runs[-1] and "CardMergeStarted" not in types:
                expected += ["StationFailed", "RunFailed", "CardBlocked"]
            else:
                expected += ["CardVerificationStarted", "RunSucceeded", "CardVerified",
                             "CardMergeStarted", "CardMerged" if run_id == runs[-1] else "CardBlocked"]
            check(is_subsequence(expected, types), f"{name}: {expected} isn't in {types}")


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(each in rest for each in part)


def check_log(night):
    """The log's state is the one that the server had."""
    status = night.stage.service.call("server.status")
    night.stage.service.stop()
    replayed = json.loads(night.stage.command("replay", "--to", str(status["position"]), "--json"))
    check(replayed["result"]["state_digest"] == status["state_digest"], f"{replayed}")


def night(stage):  # A1, A4, A5
    """In the morning each card is merged once, or waits for a true reason, and the bill is right."""
    this = Night(stage)
    stage.set_scene(this.model)
    stage.model.account_of = card_of
    this.put_project()
    this.submit()
    this.kill_in_the_midst()
    this.wait_until_settled(WORK)
    merged = {name for name, status in this.columns().items() if status == "merged"}
    check({"base", "hang", "limited"} <= merged, f"{this.columns()}")
    check(len(merged & {"left", "right"}) == 1, f"{this.columns()}")
    check("nested" not in merged, f"{this.columns()}")
    # The work of the chain is tried again by the morning's person in its order.
    this.unblock([name for name in WORK if name not in merged and name != "top"])
    this.unblock([] if "top" in merged else ["top"])
    check(set(this.columns().values()) == {"merged"}, f"{this.columns()}")
    check_tree(this)
    check_bills(this)
    check_leftovers(this)
    check_stories(this)
    check_log(this)
