"""Decides whether a history is linearizable: whether each operation can have taken effect at one moment
between its call and its return, so that a sequential model gives the same answers.

After Wing and Gong, with the memoization of Lowe and his just-in-time order: the calls and returns are
walked in the order of time, with every configuration that is still possible, a state of the model and
the set of operations that took effect without having returned. At a return, a configuration lives on
if the operation could take effect by then. Equal configurations are one. An open operation may take
effect until its server's end or, if nothing is known of that, at any later moment; or never.

A key at a time: what happens to one lock says nothing about another (Herlihy and Wing, locality).
"""
import dataclasses

from history import is_remembered

CONFIGURATIONS_MAX = 2_000_000
STATES_SHOWN_MAX = 8


@dataclasses.dataclass
class Verdict:
    """The judgement about one key. `why` is "" if its history is linearizable."""
    key: tuple
    operations: list
    why: str = ""
    failed: object = None  # the operation that fits no order
    states: tuple = ()     # some states that were possible before it

    @property
    def is_good(self):
        return not self.why


def next_states(model, state, operation, latest_ns):
    """Yields the states after the operation, which takes effect at most at latest_ns. Repetitions of a
    command id take effect once: then the others get the same result, as `replayed`."""
    inner, done = state
    result = operation.result
    replayed = operation.method != "run.start" and bool(result and result.get("replayed"))
    if operation.group is None:
        if replayed and not operation.merged:
            return
        for after in model.apply(inner, operation, latest_ns):
            yield after, done
    elif operation.group in done:
        if replayed:
            yield state
    elif not replayed:
        remembered = operation.is_open or (result is not None
                                           and is_remembered(operation.method, result))
        for after in model.apply(inner, operation, latest_ns):
            is_note = operation.is_open and model.is_note(operation, after)
            yield after, done | {operation.group} if remembered and not is_note else done


def moments(operations):
    """Returns (time, kind, operation) in order: 0 a call, 1 a return, 2 the last moment of an open one."""
    found = []
    for operation in operations:
        found.append((operation.call_ns, 0, operation.number, operation))
        if not operation.is_open:
            found.append((operation.return_ns, 1, operation.number, operation))
        elif operation.effect_ns is not None:
            found.append((operation.effect_ns, 2, operation.number, operation))
    found.sort(key=lambda each: each[:3])
    return found


def with_pending(found):
    """Returns the moments that decide something, each with the operations that are pending then: those
    that end first before, open ones at the end."""
    pending, kept = {}, []
    for at_ns, kind, number, operation in found:
        if kind == 0:
            pending[number] = operation
            continue
        pending.pop(number)
        kept.append((at_ns, kind, operation, tuple(sorted(
            pending.values(), key=lambda each: (each.is_open, each.return_ns or each.number)))))
    return kept


def choices(model, moment, state, taken):
    """Yields what may come next of a configuration at this moment, the likeliest first: (True if the
    moment is over then, state, operations that took effect)."""
    at_ns, kind, operation, others = moment
    if operation.number in taken:
        yield True, state, taken - {operation.number}
        return
    if kind == 2:
        yield True, state, taken  # it never takes effect
    for after in next_states(model, state, operation, at_ns):
        yield True, after, taken
    for other in others:
        if other.number not in taken:
            for after in next_states(model, state, other, at_ns):
                if not (other.is_open and after == state):  # that is as if it never took effect
                    yield False, after, taken | {other.number}


def check(model, key, operations):
    """Returns the verdict about the operations of one key."""
    verdict = Verdict(key, operations)
    found = with_pending(moments(operations))
    if not found:
        return verdict
    # A configuration is (index of the moment, state, operations that took effect). Depth first, since
    # a history that is linearizable needs one way only.
    first = (0, (model.initial(), frozenset()), frozenset())
    seen, path = {first}, [(0, choices(model, found[0], *first[1:]))]
    deepest, states = 0, {first[1][0]: None}
    while path:
        index, following = path[-1]
        choice = next(following, None)
        if choice is None:
            path.pop()
            continue
        is_over, state, taken = choice
        configuration = (index + is_over, state, taken)
        if configuration in seen:
            continue
        seen.add(configuration)
        index += is_over
        if index == len(found):
            return verdict
        if index > deepest:
            deepest, states = index, {}
        if index == deepest and len(states) < STATES_SHOWN_MAX:
            states[state[0]] = None
        if len(seen) > CONFIGURATIONS_MAX:
            verdict.why = f"undecided after {CONFIGURATIONS_MAX} configurations"
            break
        path.append((index, choices(model, found[index], state, taken)))
    verdict.why = verdict.why or "no order of the operations explains this answer"
    verdict.failed, verdict.states = found[deepest][2], tuple(states)
    return verdict


def check_all(operations, models, key_of):
    """Returns a verdict for each key. `models` has a model for each kind of key."""
    by_key = {}
    for operation in operations:
        for key, part in key_of(operation):
            by_key.setdefault(key, []).append(part)
    return [check(models[key[0]], key, each) for key, each in sorted(by_key.items())]

