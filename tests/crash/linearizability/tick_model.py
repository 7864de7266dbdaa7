"""What the ticks of a loop promise, as a sequential model: one at a time, and none after one without an end."""
from typing import NamedTuple

from history import number_of
from leases import LeasedModel
from lock_model import NS_PER_MS, fits, until_ns

LEASE_MS_DEFAULT = 600_000


class Tick(NamedTuple):
    token: int
    lease_ns: int
    from_ns: int
    until_ns: int
    status: str  # running, timed_out or halted


class Loop(NamedTuple):
    tick: Tick | None
    last: int


class TickModel(LeasedModel):
    def initial(self):
        return Loop(None, 0)

    def moments(self, state, operation, latest_ns):
        tick = state.tick
        if tick is None or tick.status != "running" or self.leases.may_be_held(tick, operation.call_ns):
            yield state
        if tick is not None and tick.status == "running" and self.leases.may_be_over(tick, latest_ns):
            yield Loop(tick._replace(status="timed_out"), state.last)

    def apply(self, state, operation, latest_ns):
        judge = getattr(self, operation.method.removeprefix("tick."))
        for before in self.moments(state, operation, latest_ns):
            yield from judge(before, operation, latest_ns)

    def is_note(self, operation, after):
        return after.tick is not None and after.tick.status == "halted"

    @staticmethod
    def named(state, token, **changes):
        return Loop(state.tick._replace(token=token, **changes), max(state.last, token))

    def begin(self, state, operation, latest_ns):
        tick, result = state.tick, operation.outcome
        if operation.error == "TICK_IN_PROGRESS":
            yield from self.in_progress(state, operation)
        elif operation.error == "PREVIOUS_TICK_INCOMPLETE":
            token = number_of(operation.details["token"])
            if tick and fits(tick.token, token, state.last):
                evidence = operation.details["evidence"]
                if (evidence == {"halted": "halted", "timed_out": "lease_over"}.get(tick.status)
                        or (evidence == "earlier_incarnation" and tick.status == "running"
                            and self.leases.may_have_restarted(tick.from_ns, latest_ns))):
                    yield self.named(state, token, status="halted")
        elif not operation.error and tick is None:
            token = number_of(result["token"]) if result else -operation.number
            if not result or token > state.last:
                lease_ns = operation.params.get("lease_ms", LEASE_MS_DEFAULT) * NS_PER_MS
                yield Loop(Tick(token, lease_ns, operation.call_ns, until_ns(operation), "running"),
                           max(state.last, token))
        elif operation.is_open and tick.status != "halted":
            # Refused, it may still have noted that the tick before has no end, even if a repetition of
            # it was taken later: a refusal isn't remembered.
            if tick.status == "timed_out" or self.leases.may_have_restarted(tick.from_ns, latest_ns):
                yield Loop(tick._replace(status="halted"), state.last)

    def in_progress(self, state, operation):
        tick, token = state.tick, number_of(operation.details["token"])
        if (tick and tick.status == "running" and fits(tick.token, token, state.last)
                and not self.leases.must_have_restarted(tick.until_ns, operation.call_ns)):
            yield self.named(state, token)

    def end(self, state, operation, latest_ns):
        token = number_of(operation.params["token"])
        holds = (state.tick is not None and state.tick.status == "running"
                 and fits(state.tick.token, token, state.last))
        if operation.error == "STALE_TOKEN":
            if not holds or state.tick.token < 0:
                yield state
        elif not operation.error and holds:
            yield Loop(None, max(state.last, token))

    def recover(self, state, operation, latest_ns):
        result, tick = operation.outcome, state.tick
        if operation.error == "TICK_IN_PROGRESS":
            yield from self.in_progress(state, operation)
        elif operation.error:
            return
        elif result is not None and not result["recovered"]:
            if tick is None:
                yield state
        elif tick is not None:
            token = tick.token if result is None else number_of(result["token"])
            restarted = self.leases.may_have_restarted(tick.from_ns, latest_ns)
            if tick.status == "running" and not restarted and not operation.params.get("force"):
                return
            if token < 0 or fits(tick.token, token, state.last):
                yield Loop(None, max(state.last, token))
