"""Small histories written by hand, each with what the checker has to say of it. Times are milliseconds."""
from history import History, Mark, Operation

NS_PER_MS = 1_000_000


def op(client, call, end, method, answer, **params):
    """`end` and `answer` are None for an operation that wasn't answered."""
    return (client, call, end, method, answer, params)


def ok(**result):
    return {"result": result}


def no(code, **details):
    return {"error": {"code": code, "details": details}}


def acquire(client, call, end, token, lease_ms=1000, **more):
    answer = None if token is None else ok(owner=client, token=token, extended=more.pop("extended", False),
                                           **more.pop("also", {}))
    return op(client, call, end, "lock.acquire", answer, key="k", owner=client, lease_ms=lease_ms, **more)


def held(client, call, end, owner, token):
    return op(client, call, end, "lock.acquire", no("LOCK_HELD", owner=owner, token=token), key="k",
              owner=client)


def refresh(client, call, end, token, answer, **more):
    return op(client, call, end, "lock.refresh", answer, key="k", token=token, **more)


def release(client, call, end, token, released=True, **more):
    answer = None if end is None else ok(released=released, **more.pop("also", {}))
    return op(client, call, end, "lock.release", answer, key="k", token=token, **more)


def not_owned(owner="", token=0):
    return no("LOCK_NOT_OWNED", current_owner=owner, current_token=token)


def free(client, call, end, token, ended):
    return op(client, call, end, "lock.get", ok(lock=None, last={"token": token, "ended": ended}), key="k")


def begin(client, call, end, answer, lease_ms=1000, **more):
    return op(client, call, end, "tick.begin", answer, loop="l", lease_ms=lease_ms, **more)


def claim(client, call, end, station, attempt, token, lease_ms=1000):
    given = None if station is None else {"run_id": "r", "station": station, "attempt": attempt,
                                          "token": token, "lease_ms": lease_ms}
    return op(client, call, end, "station.claim", ok(claim=given), run_id="r", lease_ms=lease_ms)


def complete(client, call, end, station, token, answer):
    return op(client, call, end, "station.complete", answer, run_id="r", station=station, token=token,
              outcome="succeeded")


def cancel(client, call, end, **more):
    answer = None if end is None else ok(run_id="r", status="canceled", cancel_requested=False)
    return op(client, call, end, "run.cancel", answer, run_id="r", **more)


def pause(client, call, end, changed=True, verb="pause"):
    return op(client, call, end, f"run.{verb}", ok(run_id="r", changed=changed), run_id="r")


def resume(client, call, end, changed=True):
    return pause(client, call, end, changed, "resume")


def step(client, call, end, name, attempt, token, lease_ms=1000):
    given = {"run_id": "r", "step": name, "attempt": attempt, "token": token, "lease_ms": lease_ms}
    return op(client, call, end, "step.next", ok(step=given), run_id="r", lease_ms=lease_ms)


def step_done(client, call, end, name, token, answer):
    return op(client, call, end, "step.complete", answer, run_id="r", step=name, token=token)


def start(client, call, end, key, run_id, replayed, **more):
    return op(client, call, end, "run.start", ok(run_id=run_id, replayed=replayed), idempotency_key=key,
              goal="g", **more)


SUCCEEDED = ok(station_status="succeeded", run_status="running")
KILLED = [("killed", 40, 60), ("died", 40, 45)]

GOOD = {
    "one after the other": [acquire("a", 0, 1, 5), release("a", 2, 3, 5), acquire("b", 4, 5, 9)],
    "an overlap may have any order": [acquire("a", 0, 10, 9), release("b", 2, 20, 5),
                                      acquire("b", 0, 1, 5)],
    "held by whom was granted meanwhile": [acquire("a", 0, 10, 5), held("b", 1, 9, "a", 5)],
    "a lease ends": [acquire("a", 0, 1, 5, lease_ms=10), acquire("b", 11, 12, 9),
                     refresh("a", 13, 14, 5, not_owned("b", 9))],
    "a longer lease stays when a shorter one is asked for": [
        acquire("a", 0, 1, 5, lease_ms=100), acquire("a", 2, 3, 5, lease_ms=10, extended=True),
        held("b", 60, 61, "a", 5), acquire("b", 104, 105, 9)],
    "a lease may not have ended yet": [acquire("a", 0, 5, 5, lease_ms=10), held("b", 12, 14, "a", 5)],
    "an open call takes effect later": [acquire("a", 0, None, None), held("b", 2, 3, "a", 5),
                                        refresh("a", 4, 5, 5, ok())],
    "an open call takes effect much later": [acquire("a", 0, None, None), acquire("b", 2, 3, 5),
                                             release("b", 4, 5, 5), held("b", 90, 91, "a", 9)],
    "an open call never takes effect": [acquire("a", 0, None, None), acquire("b", 2, 3, 5),
                                        release("b", 4, 5, 5), acquire("c", 6, 7, 9)],
    "an open release frees the lock": [acquire("a", 0, 1, 5), release("a", 2, None, 5),
                                       acquire("b", 4, 5, 9), release("a", 6, 7, 9, command_id="x")],
    "a repetition gets the first result": [
        acquire("a", 0, None, None, command_id="x"), held("b", 2, 3, "a", 5),
        acquire("a", 4, 5, 5, command_id="x", also={"replayed": True})],
    "a refused command may be taken later": [
        acquire("b", 0, 1, 5), op("a", 2, 3, "lock.acquire", no("LOCK_HELD", owner="b", token=5),
                                  key="k", owner="a", command_id="x"),
        release("b", 4, 5, 5), acquire("a", 6, 7, 9, command_id="x")],
    "a lease starts anew after a kill": (
        [acquire("a", 0, 1, 5, lease_ms=30), held("b", 70, 71, "a", 5)], KILLED),
    "a tick without an end halts": (
        [begin("a", 0, 1, ok(token=5)),
         begin("b", 70, 71, no("PREVIOUS_TICK_INCOMPLETE", token=5, evidence="earlier_incarnation")),
         op("b", 72, 73, "tick.recover", ok(recovered=True, token=5), loop="l"),
         begin("b", 74, 75, ok(token=9))], KILLED),
    "an open begin notes a tick without an end, and is taken later": [
        begin("a", 0, 1, ok(token=5), lease_ms=10), begin("b", 12, None, None, command_id="x"),
        begin("c", 13, 14, no("PREVIOUS_TICK_INCOMPLETE", token=5, evidence="halted")),
        op("c", 15, 16, "tick.recover", ok(recovered=True, token=5), loop="l"),
        begin("b", 17, 18, ok(token=9), command_id="x")],
    "a run from station to station": [
        claim("a", 0, 1, "plan", 1, 5), claim("b", 2, 3, None, 0, 0),
        complete("a", 4, 5, "plan", 5, SUCCEEDED), claim("b", 6, 7, "implement", 1, 9),
        complete("a", 8, 9, "plan", 5, no("STATION_ALREADY_SUCCEEDED"))],
    "a claim with the completion before": [
        claim("a", 0, 1, "plan", 1, 5),
        complete("a", 2, 3, "plan", 5, ok(station_status="succeeded", run_status="running", claim={
            "run_id": "r", "station": "implement", "attempt": 1, "token": 8, "lease_ms": 1000})),
        complete("a", 4, 5, "implement", 8, ok(station_status="succeeded", run_status="succeeded"))],
    "a lost attempt is made again": [
        claim("a", 0, 1, "plan", 1, 5, lease_ms=10), claim("b", 20, 21, "plan", 2, 9),
        complete("a", 22, 23, "plan", 5, no("STALE_TOKEN"))],
    "a canceled run": [
        claim("a", 0, 1, "plan", 1, 5), cancel("b", 2, 3),
        complete("a", 4, 5, "plan", 5, no("RUN_TERMINAL")),
        op("b", 6, 7, "run.cancel", no("RUN_TERMINAL"), run_id="r")],
    "an open cancel, and a completion before it": [
        claim("a", 0, 1, "plan", 1, 5), cancel("b", 2, None), complete("a", 4, 5, "plan", 5, SUCCEEDED),
        op("a", 6, 7, "station.claim", no("RUN_TERMINAL"), run_id="r")],
    "a paused run": [
        pause("b", 0, 1), claim("a", 2, 3, None, 0, 0), pause("c", 4, 5, changed=False), resume("b", 6, 7),
        claim("a", 8, 9, "plan", 1, 5), pause("b", 10, 11), complete("a", 12, 13, "plan", 5, SUCCEEDED),
        claim("a", 14, 15, None, 0, 0)],
    "a wait that a resume ends": [
        claim("a", 0, 1, "plan", 1, 5, lease_ms=10), resume("b", 50, 51), claim("a", 52, 53, "plan", 2, 9)],
    "a step for each": [step("a", 0, 1, "s0", 1, 5), step("b", 0, 1, "s1", 1, 6),
                        step_done("a", 2, 3, "s0", 5, ok())],
    "one key, one run": [start("a", 0, 5, "k", "r", False), start("b", 0, 4, "k", "r", True)],
}

# Each is wrong in one way.
BAD = {
    "two holders": [acquire("a", 0, 1, 5), acquire("b", 2, 3, 9)],
    "a lease that ends too early": [acquire("a", 0, 1, 5, lease_ms=100), acquire("b", 50, 51, 9)],
    "a lease made shorter by another request of its owner": [
        acquire("a", 0, 1, 5, lease_ms=100), acquire("a", 2, 3, 5, lease_ms=10, extended=True),
        acquire("b", 60, 61, 9)],
    "a lease that never ends": [acquire("a", 0, 1, 5, lease_ms=10), held("b", 9000, 9001, "a", 5)],
    "a token that isn't higher": [acquire("a", 0, 1, 5), release("a", 2, 3, 5), acquire("b", 4, 5, 4)],
    "a release that is lost": [acquire("a", 0, 1, 5), release("a", 2, 3, 5), held("b", 4, 5, "a", 5)],
    "a grant that is lost": [acquire("a", 0, 1, 5), free("b", 2, 3, 5, "released")],
    "an old token": [acquire("a", 0, 1, 5, lease_ms=10), acquire("b", 20, 21, 9),
                     refresh("a", 22, 23, 5, ok())],
    "a token that came back": [acquire("a", 0, 1, 5, lease_ms=10),
                               refresh("a", 20, 21, 5, not_owned()), refresh("a", 22, 23, 5, ok())],
    "an acknowledged release undone by a kill": (
        [acquire("a", 0, 1, 5), release("a", 2, 3, 5), held("b", 70, 71, "a", 5)], KILLED),
    "an effect after its server's death": (
        [acquire("b", 0, 1, 5), acquire("a", 20, None, None), release("b", 62, 63, 5),
         held("c", 70, 71, "a", 9)], KILLED),
    "a repetition with a second effect": [
        acquire("a", 0, 1, 5, command_id="x"), release("a", 2, 3, 5),
        acquire("a", 4, 5, 9, command_id="x")],
    "replayed, and never done": [acquire("a", 0, 1, 5, also={"replayed": True})],
    "refused for space, and done": [
        acquire("b", 0, 1, 5), op("b", 2, 3, "lock.refresh", no("STORAGE_FULL"), key="k", token=5,
                                  command_id="x"),
        refresh("b", 4, 5, 5, ok(replayed=True), command_id="x")],
    "two ticks at a time": [begin("a", 0, 1, ok(token=5)), begin("b", 2, 3, ok(token=9))],
    "a tick after one without an end": ([begin("a", 0, 1, ok(token=5)), begin("b", 70, 71, ok(token=9))],
                                        KILLED),
    "in progress since before a kill": (
        [begin("a", 0, 1, ok(token=5)), begin("b", 70, 71, no("TICK_IN_PROGRESS", token=5))], KILLED),
    "two claims of one station": [claim("a", 0, 1, "plan", 1, 5), claim("b", 2, 3, "plan", 1, 9)],
    "a station done twice": [claim("a", 0, 1, "plan", 1, 5), complete("a", 2, 3, "plan", 5, SUCCEEDED),
                             claim("b", 4, 5, "plan", 2, 9)],
    "a claim with the completion before, given to another": [
        claim("a", 0, 1, "plan", 1, 5),
        complete("a", 2, 3, "plan", 5, ok(station_status="succeeded", run_status="running", claim={
            "run_id": "r", "station": "implement", "attempt": 1, "token": 8, "lease_ms": 1000})),
        claim("b", 4, 5, "implement", 2, 9)],
    "a completion after a cancel": [
        claim("a", 0, 1, "plan", 1, 5), cancel("b", 2, 3), complete("a", 4, 5, "plan", 5, SUCCEEDED)],
    "a cancel that is lost": ([claim("a", 0, 1, "plan", 1, 5, lease_ms=10), cancel("b", 2, 3),
                               claim("b", 70, 71, "plan", 2, 9)], KILLED),
    "a claim of a paused run": [pause("b", 0, 1), claim("a", 2, 3, "plan", 1, 5)],
    "a pause that is lost": ([pause("b", 0, 1), pause("c", 70, 71)], KILLED),
    "a resume of a run that is under way": [claim("a", 0, 1, "plan", 1, 5), resume("b", 2, 3)],
    "a run that nobody gets after its pause": [
        pause("b", 0, 1), resume("b", 2, 3), claim("a", 4, 5, None, 0, 0)],
    "a pause that only the second makes": [pause("b", 0, 1, changed=False), pause("c", 2, 3)],
    "a run that ends without a reason": [
        claim("a", 0, 1, "plan", 1, 5), complete("a", 2, 3, "plan", 5, SUCCEEDED),
        op("b", 4, 5, "run.cancel", no("RUN_TERMINAL"), run_id="r")],
    "a ready station that nobody gets": [claim("a", 0, 1, None, 0, 0)],
    "two claims of one step": [step("a", 0, 1, "s0", 1, 5), step("b", 2, 3, "s0", 2, 9)],
    "a step done twice": [step("a", 0, 1, "s0", 1, 5), step_done("a", 2, 3, "s0", 5, ok()),
                          step("b", 4, 5, "s0", 2, 9)],
    "one key, two runs": [start("a", 0, 1, "k", "r", False), start("b", 2, 3, "k", "q", False)],
    "two keys, one run": [start("a", 0, 1, "k", "r", False), start("b", 2, 3, "j", "r", False)],
    "one token, two grants": [
        acquire("a", 0, 1, 5), op("b", 2, 3, "tick.begin", ok(token=5), loop="l")],
    "a position that goes back": [acquire("a", 0, 1, 5, also={"position": 9}),
                                  op("b", 2, 3, "lock.list", ok(locks=[], position=8))],
    "a follower that misses a release": [op("f", 0, 9, "follow", ok(
        **{"from": 2, "until": 3, "before": [["k", 1]], "after": [],
           "events": [[2, "LockRefreshed", "k", 1], [3, "ServerStarted", None, None]]}))],
    "a follower with a gap": [op("f", 0, 9, "follow", ok(
        **{"from": 2, "until": 3, "before": [], "after": [],
           "events": [[2, "ServerStarted", None, None], [4, "ServerStarted", None, None]]}))],
}


def history_of(written):
    """Returns the history of an entry above: its operations, or these and the faults."""
    lines, marks = written if isinstance(written, tuple) else (written, [])
    operations = [Operation(number + 1, client, method, params, call * NS_PER_MS,
                            None if end is None else end * NS_PER_MS, answer)
                  for number, (client, call, end, method, answer, params) in enumerate(lines)]
    return History(operations, [Mark(name, begin_ms * NS_PER_MS, end_ms * NS_PER_MS)
                                for name, begin_ms, end_ms in marks])
