"""What real agents do, and what has to become of it. Each scene gets a Stage."""
import json
import re
import threading
import time

from model_server import Answer, Hang, Refusal
from stage import RUN_SECONDS, Runner, check, is_agent, is_shim


def succeeded(stage, run):
    check(run["status"] == "succeeded", f"{run['status']}: {run.get('error')}")


def billed(stage, run, cost=True):
    """Checks that the run has used what the model server has counted."""
    used, bill = run["used"], stage.model.bill
    check(used["tokens"] == bill.tokens, f"{used} and not {vars(bill)}")
    if cost and stage.agent == "claude":
        check(abs(used["cost_microusd"] - bill.cost_microusd) <= 2, f"{used} and not {vars(bill)}")


def shell(stage, command):
    """Returns the call of a tool that runs this command."""
    if stage.agent == "claude":
        return "Bash", {"command": command, "description": "a command"}
    return "exec", f"const done = await tools.exec_command({{cmd: {command!r}}}); text(done.output);"


def edits_and_tests(stage):  # A4, A5
    """An agent writes a file and runs the project's tests with the default command."""
    def script(request):
        if request.tool_results() == 0:
            return Answer("I write it.", shell(stage, "echo 4 > sum.txt"), cache_write=700)
        if request.tool_results() == 1:
            return Answer(shell(stage, "grep 4 sum.txt && python3 -c 'print(2 + 2)'"), cache_read=700)
        return Answer("It adds.", cache_read=900)
    run = stage.play(script)
    succeeded(stage, run)
    check((stage.workspace(run) / "sum.txt").read_text() == "4\n", "no file was written")
    attempt = run["stations"][0]["attempts"][0]
    check(attempt["summary"].startswith("It adds."), attempt["summary"])
    check(attempt["metadata"]["permission_denials"] == 0, f"denied: {attempt['metadata']}")
    billed(stage, run)


def denials_are_named(stage):  # A4
    """Without the default command's permission, the tests are denied, and the result says so."""
    def script(request):
        return Answer(shell(stage, "python3 -m unittest")) if request.tool_results() == 0 else Answer("Done")
    run = stage.play(script, command=["claude", "--permission-mode", "acceptEdits"])
    succeeded(stage, run)
    metadata = run["stations"][0]["attempts"][0]["metadata"]
    check(metadata["denied_tools"] == ["Bash"], f"{metadata}")


def garbage_in_the_answer(stage):  # A6
    """Half a surrogate pair and NUL in the answer don't cost the result."""
    run = stage.play(lambda _: Answer("all done \ud83d and \0 more"))
    succeeded(stage, run)
    check(len(run["stations"][0]["attempts"]) == 1, "it was paid again")
    billed(stage, run)


CLAUDE_REFUSALS = [
    (Refusal(401, "authentication_error", "invalid x-api-key"), "config", "AGENT_NOT_LOGGED_IN"),
    (Refusal(403, "permission_error", "not allowed"), "config", "AGENT_NOT_LOGGED_IN"),
    (Refusal(404, "not_found_error", "model: claude-x"), "config", "AGENT_MODEL_NOT_FOUND"),
    (Refusal(429, "rate_limit_error", "slow down", {"retry-after": "1"}), "quota", "USAGE_LIMIT"),
    (Refusal(429, "rate_limit_error", "slow down"), "quota", "USAGE_LIMIT"),
    (Refusal(500, "api_error", "Internal server error"), "transient", "AGENT_ERROR"),
    (Refusal(529, "overloaded_error", "Overloaded"), "transient", "AGENT_ERROR"),
    (Refusal(400, "invalid_request_error", "bad request"), "terminal", "AGENT_ERROR"),
]
CODEX_REFUSALS = [
    (Refusal(401, "invalid_api_key", "Incorrect API key"), "config", "AGENT_NOT_LOGGED_IN"),
    (Refusal(403, "permission_denied", "Country, region, or territory not supported"),
     "config", "AGENT_NOT_LOGGED_IN"),
    (Refusal(404, "model_not_found",
             "The model `x` does not exist or you do not have access to it."), "config", "AGENT_MODEL_NOT_FOUND"),
    (Refusal(429, "insufficient_quota", "You exceeded your current quota"), "quota", "USAGE_LIMIT"),
    (Refusal(429, "usage_limit_reached", "limit"), "quota", "USAGE_LIMIT"),
    (Refusal(400, "invalid_request_error", "bad request"), "terminal", "AGENT_ERROR"),
    (Refusal(500, "server_error", "oh"), "transient", "AGENT_ERROR"),
    (Refusal(503, "server_is_overloaded", "Our servers are currently overloaded."), "transient", "AGENT_ERROR"),
]


def refusals_have_their_class(stage):  # A4
    """Each refusal of the service becomes the class and code that say what to do."""
    refusals = CLAUDE_REFUSALS if stage.agent == "claude" else CODEX_REFUSALS

    def script(request):
        return refusals[int(re.search(r"case (\d+)", request.text())[1])][0]
    run_ids = [stage.start(script, goal=f"make it work, case {number}") for number in range(len(refusals))]
    for run_id, (refusal, error_class, code) in zip(run_ids, refusals):
        stage.wait(lambda: stage.attempts(run_id) and "ended_at" in stage.attempts(run_id)[0],
                   f"the end of the attempt: {refusal.status} {refusal.kind}")
        error = stage.attempts(run_id)[0].get("error", {})
        check((error.get("error_class"), error.get("code")) == (error_class, code),
              f"{refusal.status} {refusal.kind}: {error}")
        if "ended_at" not in stage.run_of(run_id):
            stage.service.call("run.cancel", run_id=run_id)
            stage.end_of(run_id)


# A subscription has usage limits, a key has none.
SUBSCRIBED_CLAUDE = ["env", "-u", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy",
                     "claude", "--permission-mode", "acceptEdits"]
LIMIT_SECONDS = 8
LOOP_SECONDS = 6  # an attempt of codex takes one
LOOP_TIMES = 6


def usage_limit_with_a_reset(stage):  # A4
    """A subscription's limit parks the station until the time that the service names."""
    resets = []  # named once the agent asks, whose own start may take long

    def answer(request):
        if request.number > 1:
            return Answer("It adds.")
        resets.append(int(time.time()) + LIMIT_SECONDS)
        return Refusal(429, "rate_limit_error", "limit", {
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": str(resets[0]),
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
            "anthropic-ratelimit-unified-overage-status": "rejected"})

    run_id = stage.start(answer, command=SUBSCRIBED_CLAUDE)
    run = stage.end_of(run_id)
    succeeded(stage, run)
    waits = stage.service.call("events.read", run_id=run_id, types=["StationDeferred"])["events"]
    check(len(waits) == 1 and waits[0]["data"]["reason"] == "quota", f"{waits}")
    until = waits[0]["data"]["until"]
    named = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(resets[0]))
    check(until.startswith(named), f"{until} and not {named}")
    check(run["stations"][0]["attempts"][-1]["metadata"]["resumed"], "not resumed")
    billed(stage, run)


def usage_limit_without_a_reset(stage):  # A4
    """A limit whose end nobody names is tried again after the usual backoff."""
    limit = Refusal(429, "usage_limit_reached", "limit")
    if stage.agent == "claude":
        limit = Refusal(429, "rate_limit_error", "slow down")
    # claude repeats a refused request once.
    run_id = stage.start(lambda request: limit if request.number <= 2 else Answer("It adds."), retries=3)
    run = stage.end_of(run_id)
    succeeded(stage, run)
    attempts = run["stations"][0]["attempts"]
    error = attempts[0]["error"]
    check((error["error_class"], error["code"]) == ("quota", "USAGE_LIMIT"), f"{error}")
    check(len(attempts) == (2 if stage.agent == "claude" else 3), f"{attempts}")
    billed(stage, run)


def usage_limit_that_ends_this_minute(stage):  # A4
    """codex names the minute in which a limit ends: it isn't that of tomorrow."""
    named = int(time.time())
    limit = Refusal(429, "usage_limit_reached", "limit", plan_type="plus", resets_at=named + 1)
    run_id = stage.start(lambda request: limit if request.number == 1 else Answer("It adds."), retries=3)
    stage.wait(lambda: stage.attempts(run_id) and "ended_at" in stage.attempts(run_id)[0] or
               stage.run_of(run_id)["stations"][0].get("waiting_for"), "the end of the attempt")
    run = stage.run_of(run_id)
    until = run["stations"][0].get("waiting_until", "")
    latest = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(named + 180))
    check(until < latest, f"it waits until {until}")
    if "ended_at" not in run:
        stage.service.call("run.cancel", run_id=run_id)
        stage.end_of(run_id)


def resumes_are_billed_once(stage, labels=()):  # A4, A5
    """Attempts that fail after paid work go on with the session; the sum is what was paid."""
    # claude repeats a refused request once, as its variable says; codex doesn't repeat this one.
    refusal, refused = Refusal(500, "api_error", "Internal server error"), (3, 4, 7, 8)
    if stage.agent == "codex":
        refusal, refused = Refusal(429, "rate_limit_exceeded", "slow down"), (3, 6)

    def script(request):
        # Each attempt works twice; the service fails the first two of them then.
        if request.number in refused:
            return refusal
        if request.number >= 10:
            return Answer("It adds.", tokens_in=2000)
        return Answer("I look.", shell(stage, "true"), tokens_in=5000 + request.number)
    run = stage.play(script, retries=5, labels=labels)
    succeeded(stage, run)
    attempts = run["stations"][0]["attempts"]
    check(len(attempts) > 1 and attempts[-1]["metadata"]["resumed"], f"not resumed: {attempts}")
    billed(stage, run)


def wait_for_account(stage, run_id):
    """Blocks until what claude has printed, or codex has written into its thread's file, is in the account of its
    job."""
    account = stage.directory / "data" / "jobs" / f"{run_id}-implement-1" / "agent_usage.json"
    counts = "undeclared" if stage.agent == "claude" else "agents_total"
    stage.wait(lambda: account.exists() and json.loads(account.read_text())[counts]["input"] > 0,
               "the account of what was used")


def killed_and_resumed(stage, which):
    """Plays a run in which processes are killed with -9; what is known of their usage is counted."""
    hidden = 49 if stage.agent == "claude" else 0  # printed only with a result

    def script(request):
        if request.number == 1:
            return Answer("I look.", shell(stage, "true"), tokens_in=7000, tokens_out=1 + hidden)
        return Hang() if request.number == 2 else Answer("It adds.", tokens_in=2000)
    run_id = stage.start(script, retries=3)
    stage.wait(lambda: stage.requests_of_model() >= 2, "the second request")
    wait_for_account(stage, run_id)
    check(stage.kill_processes_of(run_id, which) > 0, "nothing to kill")
    run = stage.end_of(run_id)
    succeeded(stage, run)
    attempts = run["stations"][0]["attempts"]
    check(attempts[-1]["metadata"]["resumed"], "not resumed")
    used, bill = run["used"], stage.model.bill
    told = f"{used} and not {vars(bill)}"
    check(bill.tokens - hidden <= used["tokens"] <= bill.tokens, told)
    if stage.agent == "claude":
        check(bill.cost_microusd - 15 * hidden - 2 <= used["cost_microusd"] <= bill.cost_microusd + 2, told)
    is_estimate = any((attempt.get("metadata") or {}).get("usage_estimated") for attempt in attempts)
    check(is_estimate or used["tokens"] == bill.tokens, f"{told}, and it isn't said to be an estimate")


def shim_and_agent_killed(stage):  # A4, A5
    """Shim and agent are killed with -9; the session goes on, and what is known of it is counted."""
    killed_and_resumed(stage, lambda _: True)


def shim_killed(stage):  # A4, A5
    """The shim alone is killed with -9; its agent is ended, and what it has used is counted."""
    killed_and_resumed(stage, is_shim)


def agent_killed(stage):  # A4, A5
    """The agent alone is killed with -9; the session goes on, and what is known of it is counted."""
    killed_and_resumed(stage, is_agent)


def lost_for_good(stage):  # A5
    """The run ends with the attempt whose shim and agent are killed: what is known by then is counted."""
    def script(request):
        return Answer("I look.", shell(stage, "true"), tokens_out=1) if request.number == 1 else Hang()
    run_id = stage.start(script)
    stage.wait(lambda: stage.requests_of_model() >= 2, "the second request")
    wait_for_account(stage, run_id)
    stage.kill_processes_of(run_id)
    run = stage.end_of(run_id)
    check(run["status"] == "failed", run["status"])
    attempt = run["stations"][0]["attempts"][0]
    check(attempt["error"]["code"] == "JOB_LOST", f"{attempt}")
    check(run["used"]["tokens"] == stage.model.bill.tokens, f"{run['used']} and not {vars(stage.model.bill)}")
    check(attempt["metadata"]["usage_estimated"], f"{attempt}")


def canceled_in_a_turn(stage):  # A5
    """The run is canceled while codex works, which prints no figures then: those of its thread's file are counted."""
    def script(request):
        return Answer("I look.", shell(stage, "true")) if request.number == 1 else Hang()
    run_id = stage.start(script)
    stage.wait(lambda: stage.requests_of_model() >= 2, "the second request")
    stage.service.call("run.cancel", run_id=run_id)
    run = stage.end_of(run_id)
    check(run["status"] == "canceled", run["status"])
    billed(stage, run)


def server_killed(stage):  # A4
    """The server is killed with -9 while the agent works; the agent's result is taken, once."""
    go_on = threading.Event()

    def script(request):
        if request.number == 1:
            return Answer("I look.", shell(stage, "true"))
        go_on.wait(RUN_SECONDS)
        return Answer("It adds.")
    run_id = stage.start(script)
    try:
        stage.wait(lambda: stage.requests_of_model() >= 2, "the second request")
        stage.kill_server()
    finally:
        go_on.set()
    run = stage.end_of(run_id)
    succeeded(stage, run)
    check(len(run["stations"][0]["attempts"]) == 1, f"{run['stations'][0]['attempts']}")
    billed(stage, run)


def at_a_runner(stage):  # A4, A5, N1, N5
    """A runner is killed with -9 while its agent works, and follows it when it is back; later attempts resume there."""
    go_on = threading.Event()

    def script(request):
        if request.number == 1:
            return Answer("I write it.", shell(stage, "echo 4 > sum.txt"))
        go_on.wait(RUN_SECONDS)
        return Answer("It adds.")
    runner = Runner(stage)
    try:
        run_id = stage.start(script, labels=["agents"])
        stage.wait(lambda: stage.requests_of_model() >= 2, "the second request")
        runner.kill()
        runner.start()
        go_on.set()
        run = stage.end_of(run_id)
        succeeded(stage, run)
        attempts = run["stations"][0]["attempts"]
        check(len(attempts) == 1 and attempts[0]["worker"].startswith("runner:"), f"{attempts}")
        written = runner.work / "runs" / run_id / "workspace" / "sum.txt"
        check(written.read_text() == "4\n", "no file was written")
        check("It adds." in stage.command("run", "logs", run_id), "its output isn't here")
        billed(stage, run)
        resumes_are_billed_once(stage, labels=["agents"])
    finally:
        go_on.set()
        runner.kill()


def background_subagents(stage):  # A4, A5
    """A subagent works in the background after the turn's end; its tokens are counted."""
    def script(request):
        first = str(request.body["messages"][0])
        if "SUBTASK" in first and "make it work" not in first:
            return Answer("The part is done.", tokens_in=500_000, tokens_out=1000)
        if request.tool_results() == 0:
            return Answer("I share the work.", ("Agent", {
                "description": "a part", "prompt": "SUBTASK: do a part",
                "subagent_type": "general-purpose", "run_in_background": True}))
        return Answer("All parts are done.")
    run = stage.play(script)
    succeeded(stage, run)
    check(run["used"]["tokens"] > 500_000, f"{run['used']}")
    billed(stage, run)


def endless_loop_ends_with_its_budget(stage):  # A4, A5
    """A model that never ends is stopped at its turns, and the run waits for a larger budget."""
    run_id = stage.start(lambda _: Answer("Once more.", shell(stage, "true")), retries=3,
                         budget={"turns": 3})
    stage.wait(lambda: stage.run_of(run_id)["stations"][0].get("waiting_for") == "budget",
               f"a wait for the budget: {stage.run_of(run_id)}")
    run = stage.run_of(run_id)
    error = run["stations"][0]["attempts"][0]["error"]
    check(error["code"] == "AGENT_MAX_TURNS", f"{error}")
    billed(stage, run)
    stage.service.call("run.cancel", run_id=run_id)
    stage.end_of(run_id)


def endless_loop_ends_at_its_timeout(stage):  # A4, A5
    """codex knows no turns: its endless loop ends at the timeout, with what it has used by then."""
    succeeded(stage, stage.play(lambda _: Answer("It adds.")))
    enough = threading.Event()

    def script(_):
        return Answer("Enough.") if enough.is_set() else Answer("Once more.", shell(stage, "true"))
    run_id = stage.start(script, retries=1, timeout=stage.bound(LOOP_SECONDS, LOOP_TIMES))
    stage.wait(lambda: len(stage.attempts(run_id)) > 1, "the second attempt")
    enough.set()
    run = stage.end_of(run_id)
    succeeded(stage, run)
    attempts = run["stations"][0]["attempts"]
    check(attempts[0]["error"]["code"] == "TIMEOUT", f"{attempts[0]}")
    used, bill = run["used"], stage.model.bill
    check(bill.requests > 3, f"{vars(bill)}")
    check(attempts[0]["usage"]["tokens"] > Answer().tokens(), f"the first one has used {attempts[0]['usage']}")
    # codex may have been ended before it had counted its latest answer.
    check(bill.tokens - Answer().tokens() <= used["tokens"] <= bill.tokens, f"{used} and not {vars(bill)}")


SCENES = {
    "claude": [edits_and_tests, denials_are_named, garbage_in_the_answer, refusals_have_their_class,
               usage_limit_with_a_reset, usage_limit_without_a_reset, resumes_are_billed_once,
               shim_and_agent_killed, shim_killed, agent_killed, lost_for_good, server_killed,
               at_a_runner, background_subagents, endless_loop_ends_with_its_budget],
    "codex": [edits_and_tests, garbage_in_the_answer, refusals_have_their_class,
              usage_limit_without_a_reset, usage_limit_that_ends_this_minute, resumes_are_billed_once,
              shim_and_agent_killed, shim_killed, agent_killed, lost_for_good, canceled_in_a_turn,
              server_killed, at_a_runner, endless_loop_ends_at_its_timeout],
}
