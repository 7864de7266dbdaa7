"""What runs promise, as sequential models: one run for each key, one attempt at a station or a step at a
time, each of them done once, and nothing taken from whoever holds an old token."""
import json
from typing import NamedTuple

from history import number_of
from leases import LeasedModel
from lock_model import NS_PER_MS, fits, until_ns


class KeyModel(LeasedModel):
    """An idempotency key. A state is None, or the run and the request that the key stands for."""

    def initial(self):
        return None

    def apply(self, state, operation, latest_ns):
        request = json.dumps({name: value for name, value in operation.params.items()
                              if name != "command_id"}, sort_keys=True)
        if operation.error == "IDEMPOTENCY_CONFLICT":
            if state and state[1] != request and operation.details.get("run_id") in (state[0], None):
                yield state
            elif state and state[1] != request and state[0].startswith("?"):
                yield (operation.details["run_id"], state[1])
        elif operation.is_open:
            if state is None:
                yield (f"?{operation.number}", request)
        elif not operation.error:
            run_id, replayed = operation.result["run_id"], operation.result["replayed"]
            if state is None and (not replayed or operation.merged):
                yield (run_id, request)
            elif (state and (replayed or operation.merged) and state[1] == request
                  and (state[0] == run_id or state[0].startswith("?"))):
                yield (run_id, request)


class Attempt(NamedTuple):
    """An attempt at a station or at a step."""
    token: int
    lease_ns: int
    from_ns: int
    until_ns: int


class Station(NamedTuple):
    """The turn of a run."""
    name: str           # "" before the first claim
    attempts: int       # at this station
    attempt: Attempt | None
    done: tuple         # names of the stations that succeeded
    ended: bool
    last: int
    paused: bool = False


LEASE_MS_DEFAULT = 300_000


class RunModel(LeasedModel):
    """The claims of one run's stations, its pauses and its cancellation."""

    def initial(self):
        return Station("", 0, None, (), False, 0)

    def moments(self, state, operation, latest_ns):
        held = state.attempt
        if held is None or self.leases.may_be_held(held, operation.call_ns):
            yield state
        if held is not None and self.leases.may_be_over(held, latest_ns):
            yield state._replace(attempt=None)
            yield state._replace(attempt=None, ended=True)  # it was the last attempt

    def apply(self, state, operation, latest_ns):
        judge = getattr(self, operation.method.split(".")[1])
        for before in self.moments(state, operation, latest_ns):
            yield from judge(before, operation, latest_ns)

    def cancel(self, state, operation, latest_ns):
        if operation.error:
            if operation.error == "RUN_TERMINAL" and state.ended:
                yield state
        elif not state.ended and (operation.outcome is None or operation.outcome["status"] == "canceled"):
            yield state._replace(attempt=None, ended=True)

    def pause(self, state, operation, _):
        yield from self.set_paused(state, operation, True)

    def resume(self, state, operation, _):
        yield from self.set_paused(state, operation, False)
        # A station that waits for its next attempt is tried now.
        waits = state.attempts > 0 and not (state.attempt or state.ended or state.paused)
        if waits and operation.outcome and operation.outcome["changed"]:
            yield state

    @staticmethod
    def set_paused(state, operation, paused):
        """Yields the state after a pause or its end. An attempt under way goes on."""
        if operation.error:
            if operation.error == "RUN_TERMINAL" and state.ended:
                yield state
        elif not state.ended and (operation.outcome is None
                                  or operation.outcome["changed"] == (state.paused != paused)):
            yield state._replace(paused=paused)

    @staticmethod
    def lease_ns(operation):
        return operation.params.get("lease_ms", LEASE_MS_DEFAULT) * NS_PER_MS

    def claim(self, state, operation, latest_ns):
        if operation.error:
            if operation.error == "RUN_TERMINAL" and state.ended:
                yield state
            return
        result = operation.outcome
        if result is not None and result["claim"] is None:
            # A station that nobody ever claimed is free, at once, unless the run is paused.
            if state.attempt or state.ended or state.paused or state.attempts > 0:
                yield state
            return
        if state.attempt or state.ended or state.paused:
            return
        if result is None:  # the station's name isn't known: a new one if the one before is done
            name = state.name if state.name and state.name not in state.done else f"?{len(state.done)}"
            yield state._replace(name=name, attempts=state.attempts + 1, attempt=Attempt(
                -operation.number, self.lease_ns(operation), operation.call_ns, until_ns(operation)))
            return
        claim = result["claim"]
        name, token = claim["station"], number_of(claim["token"])
        is_same = state.name == name or state.name.startswith("?")
        attempts = state.attempts if state.attempts and is_same else 0
        if state.attempts > 0 and not is_same:  # another station's turn comes only after a success
            return
        if name in state.done or token <= state.last or claim["attempt"] != attempts + 1:
            return
        yield state._replace(name=name, attempts=attempts + 1, last=token, attempt=Attempt(
            token, claim["lease_ms"] * NS_PER_MS, operation.call_ns, until_ns(operation)))

    def heartbeat(self, state, operation, latest_ns):
        if operation.error:
            yield from self.refused(state, operation)
        elif self.holds(state, operation):
            yield self.named(state, operation, latest_ns)

    def complete(self, state, operation, latest_ns):
        if operation.error:
            yield from self.refused(state, operation)
            return
        if not self.holds(state, operation):
            return
        after = self.named(state, operation, latest_ns)._replace(attempt=None)
        result, station = operation.outcome, operation.params["station"]
        if operation.params["outcome"] == "succeeded":
            for ended in (False, True):
                if result is None or (result["station_status"] == "succeeded"
                                      and (result["run_status"] == "succeeded") == ended):
                    yield after._replace(done=after.done + (station,), name="", attempts=0, ended=ended)
            return
        for ended in (False, True):
            if result is None or ((result["run_status"] == "failed") == ended
                                  and result["station_status"] == ("failed" if ended else "waiting")):
                yield after._replace(ended=ended)

    @staticmethod
    def holds(state, operation):
        token = number_of(operation.params["token"])
        return (state.attempt is not None and not state.ended
                and (state.name == operation.params["station"] or state.name.startswith("?"))
                and fits(state.attempt.token, token, state.last))

    @staticmethod
    def named(state, operation, latest_ns):
        """Returns the state with the attempt's token known and its lease extended."""
        token = number_of(operation.params["token"])
        lease_ns = operation.params.get("lease_ms")
        lease_ns = state.attempt.lease_ns if lease_ns is None else lease_ns * NS_PER_MS
        return state._replace(name=operation.params["station"], last=max(state.last, token),
                              attempt=Attempt(token, lease_ns, operation.call_ns, until_ns(operation)))

    def refused(self, state, operation):
        station = operation.params["station"]
        fitting = {
            "RUN_TERMINAL": state.ended,
            "STATION_ALREADY_SUCCEEDED": not state.ended and station in state.done,
            "STATION_NOT_CLAIMED": not state.ended and state.attempt is None and state.attempts == 0,
            "STALE_TOKEN": not state.ended and station not in state.done
                           and (not self.holds(state, operation) or state.attempt.token < 0),
        }
        if fitting.get(operation.error, False):
            yield state


class Step(NamedTuple):
    name: str
    attempts: int
    attempt: Attempt | None
    done: bool


class Steps(NamedTuple):
    steps: tuple  # of Step, by name; only those that were ever given to somebody
    last: int


class StepsModel(LeasedModel):
    """The steps of one run's plan. Which steps there are is known from what clients got."""

    def initial(self):
        return Steps((), 0)

    def apply(self, state, operation, latest_ns):
        judge = getattr(self, operation.method.removeprefix("step."))
        yield from judge(state, operation, latest_ns)

    def moments(self, step, operation, latest_ns):
        """Yields the step as it may be when the operation takes effect."""
        if step.attempt is None or self.leases.may_be_held(step.attempt, operation.call_ns):
            yield step
        if step.attempt is not None and self.leases.may_be_over(step.attempt, latest_ns):
            yield step._replace(attempt=None)

    @staticmethod
    def with_step(state, step, last):
        others = tuple(each for each in state.steps if each.name != step.name)
        return Steps(tuple(sorted(others + (step,), key=lambda each: each.name)), max(state.last, last))

    @staticmethod
    def find(state, name):
        return next((each for each in state.steps if each.name == name), Step(name, 0, None, False))

    def next(self, state, operation, latest_ns):
        result = operation.outcome
        if operation.error or (result is not None and result["step"] is None):
            yield state  # nothing is left, or the rest has to wait
            return
        if result is None:  # an unknown step: it keeps nobody from anything until its token is named
            return
        given = result["step"]
        token = number_of(given["token"])
        for step in self.moments(self.find(state, given["step"]), operation, latest_ns):
            if step.attempt or step.done or token <= state.last or given["attempt"] <= step.attempts:
                continue
            attempt = Attempt(token, given["lease_ms"] * NS_PER_MS, operation.call_ns, until_ns(operation))
            yield self.with_step(state, Step(step.name, given["attempt"], attempt, False), token)

    def by_holder(self, state, operation, latest_ns, after):
        """Yields the states after a request of the step's holder, which makes after(step) of the step."""
        token = number_of(operation.params["token"])
        for step in self.moments(self.find(state, operation.params["step"]), operation, latest_ns):
            holds = step.attempt is not None and step.attempt.token == token
            if holds != bool(operation.error):
                yield self.with_step(state, after(step) if holds else step, state.last)

    def complete(self, state, operation, latest_ns):
        yield from self.by_holder(state, operation, latest_ns,
                                  lambda step: step._replace(attempt=None, done=True))

    def fail(self, state, operation, latest_ns):
        yield from self.by_holder(state, operation, latest_ns,
                                  lambda step: step._replace(attempt=None, done=False))

    def heartbeat(self, state, operation, latest_ns):
        yield from self.by_holder(state, operation, latest_ns, lambda step: step._replace(
            attempt=step.attempt._replace(from_ns=operation.call_ns, until_ns=until_ns(operation))))
