"""What has to hold across all keys: positions never go back, a token is given once, a key's run is one
run, and whoever lists and then follows the events knows the same as whoever lists again."""
import dataclasses
import json

from history import number_of

GRANTS = {"lock.acquire": lambda result: result, "tick.begin": lambda result: result,
          "station.claim": lambda result: result["claim"], "step.next": lambda result: result["step"]}


def keys_of(operation):
    """Returns the keys that the operation belongs to, each with the part of it that belongs there."""
    method, params = operation.method, operation.params
    if method in ("lock.acquire", "lock.refresh", "lock.release", "lock.get"):
        return [(("lock", params["key"]), operation)]
    if method in ("tick.begin", "tick.end", "tick.recover"):
        return [(("loop", params["loop"]), operation)]
    if method == "run.start":
        key = params.get("idempotency_key")
        return [(("key", key), operation)] if key else []
    if method.startswith("step."):
        run_id = params.get("run_id") or ((operation.outcome or {}).get("step") or {}).get("run_id")
        return [(("steps", run_id), operation)] if run_id else []
    if method == "station.claim":
        run_id = params.get("run_id") or ((operation.outcome or {}).get("claim") or {}).get("run_id")
        return [(("run", run_id), operation)] if run_id else []
    if method in ("run.cancel", "run.pause", "run.resume"):
        return [(("run", params["run_id"]), operation)]
    if method in ("station.heartbeat", "station.complete"):
        found = [(("run", params["run_id"]), operation)]
        claim = (operation.outcome or {}).get("claim")
        if claim:  # the same moment claimed another station, maybe of another run
            found.append((("run", claim["run_id"]), dataclasses.replace(
                operation, number=-operation.number, method="station.claim", group=None, merged=True)))
        return found
    return []


def check_tokens(operations):
    """Yields what is wrong with the tokens that were granted: two grants with one token."""
    granted = {}
    for operation in operations:
        grant = GRANTS.get(operation.method)
        given = grant(operation.result) if grant and operation.result else None
        if not given or given.get("extended"):
            continue
        by = operation.params.get("command_id", operation.number)
        first = granted.setdefault(number_of(given["token"]), (by, operation))
        if first[0] != by:
            yield f"token {given['token']} was granted twice", [first[1], operation]


def check_runs(operations):
    """Yields two idempotency keys that stand for one run."""
    keys = {}
    for operation in operations:
        key = operation.params.get("idempotency_key")
        if operation.method != "run.start" or not operation.result or not key:
            continue
        first = keys.setdefault(operation.result["run_id"], operation)
        if first.params["idempotency_key"] != key:
            yield f"run {operation.result['run_id']} is that of two keys", [first, operation]


def check_positions(operations):
    """Yields answers that are older than one that had returned before they were asked for. An answer to a
    repeated command is its first one, of its own time."""
    answered = [each for each in operations if each.result and "position" in each.result
                and not each.result.get("replayed")]
    by_return = sorted(answered, key=lambda each: each.return_ns)
    newest, index = None, 0
    for operation in sorted(answered, key=lambda each: each.call_ns):
        while index < len(by_return) and by_return[index].return_ns < operation.call_ns:
            if newest is None or position_of(by_return[index]) > position_of(newest):
                newest = by_return[index]
            index += 1
        if newest is not None and position_of(operation) < position_of(newest):
            yield (f"answered as of position {position_of(operation)}, after {position_of(newest)} had been "
                   "seen"), [newest, operation]


def position_of(operation):
    return number_of(operation.result["position"])


def check_follows(operations):
    """Yields what a follower saw otherwise than it is: a gap, another event than somebody else saw at the
    same position, or a list that isn't the list before with the events since."""
    seen = {}
    for operation in operations:
        if operation.method != "follow" or not operation.result:
            continue
        result = operation.result
        expected = result["from"]
        held = dict(map(tuple, result["before"]))
        for position, kind, key, value in result["events"]:
            if position != expected:
                yield f"event {expected} is missing: {position} came after it", [operation]
                break
            expected += 1
            event = json.dumps([kind, key, value])
            if seen.setdefault(position, event) != event:
                yield f"two events at {position}: {event} and {seen[position]}", [operation]
            if position > result["until"]:
                continue
            if kind == "LockAcquired":
                held[key] = position
            elif kind in ("LockReleased", "LockExpired"):
                held.pop(key, None)
        else:
            if held != dict(map(tuple, result["after"])):
                yield (f"the locks at {result['until']} are {result['after']}, and by the events "
                       f"{sorted(held.items())}"), [operation]


def check_whole(operations):
    """Returns (what is wrong, the operations that show it), for everything that isn't about one key."""
    found = []
    for check in (check_tokens, check_runs, check_positions, check_follows):
        found += list(check(operations))
    return found
