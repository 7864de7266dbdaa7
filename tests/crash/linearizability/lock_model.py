"""What a lock promises, as a sequential model: one holder at a time, in the order of `server/PROTOCOL.md`."""
from typing import NamedTuple

from history import number_of
from leases import LeasedModel

NS_PER_MS = 1_000_000
LEASE_MS_DEFAULT = 60_000
NEVER_NS = 1 << 62


def until_ns(operation):
    """Returns the latest moment from which a lease that the operation gave may run."""
    return operation.return_ns or operation.effect_ns or NEVER_NS


class Hold(NamedTuple):
    """A token is negative while no answer has named it: it was given by an open operation."""
    owner: str
    token: int
    lease_ns: int
    from_ns: int   # the lease runs from a moment between these two
    until_ns: int


class Lock(NamedTuple):
    hold: Hold | None
    ended: tuple | None  # (token, "released" or "expired") of the hold before
    last: int            # the highest token that was named


def fits(token, named, last):
    """Returns whether a hold's token may be the one that an answer names."""
    return token == named or (token < 0 and named > last)


class LockModel(LeasedModel):
    def initial(self):
        return Lock(None, None, 0)

    def moments(self, state, operation, latest_ns):
        """Yields the state as it may be when the operation takes effect: its lease may have ended."""
        hold = state.hold
        if hold is None or self.leases.may_be_held(hold, operation.call_ns):
            yield state
        if hold is not None and self.leases.may_be_over(hold, latest_ns):
            yield Lock(None, (hold.token, "expired"), state.last)

    def apply(self, state, operation, latest_ns):
        judge = getattr(self, operation.method.removeprefix("lock."))
        for before in self.moments(state, operation, latest_ns):
            yield from judge(before, operation, latest_ns)

    @staticmethod
    def named(state, token):
        """Returns the state with the token of its hold known."""
        return Lock(state.hold._replace(token=token), state.ended, max(state.last, token))

    @staticmethod
    def renewed(state, operation, latest_ns, lease_ms):
        lease_ns = state.hold.lease_ns if lease_ms is None else lease_ms * NS_PER_MS
        return state._replace(hold=state.hold._replace(
            lease_ns=lease_ns, from_ns=operation.call_ns, until_ns=until_ns(operation)))

    def acquire(self, state, operation, latest_ns):
        params, result = operation.params, operation.outcome
        lease_ms = params.get("lease_ms", LEASE_MS_DEFAULT)
        if operation.error == "LOCK_HELD":
            token = number_of(operation.details["token"])
            renews = params.get("extend", True) and state.hold and state.hold.owner == params["owner"]
            if (state.hold and state.hold.owner == operation.details["owner"] and not renews
                    and fits(state.hold.token, token, state.last)):
                yield self.named(state, token)
            return
        if operation.error:
            return
        token = number_of(result["token"]) if result else -operation.number
        if state.hold is None:
            if not result or (token > state.last and not result["extended"]
                              and result["owner"] == params["owner"]):
                hold = Hold(params["owner"], token, lease_ms * NS_PER_MS, operation.call_ns, until_ns(operation))
                yield Lock(hold, state.ended, max(state.last, token))
            return
        if state.hold.owner != params["owner"] or not params.get("extend", True):
            return
        lease_ms = max(lease_ms, state.hold.lease_ns // NS_PER_MS)
        if not result:
            yield self.renewed(state, operation, latest_ns, lease_ms)
        elif result["extended"] and fits(state.hold.token, token, state.last):
            yield self.renewed(self.named(state, token), operation, latest_ns, lease_ms)

    def not_owned(self, state, operation):
        """Yields the state if the refusal LOCK_NOT_OWNED fits it."""
        asked = number_of(operation.params["token"])
        current = number_of(operation.details["current_token"])
        if state.hold is None:
            if current == 0 and operation.details["current_owner"] == "":
                yield state
        elif (current != asked and fits(state.hold.token, current, state.last)
              and state.hold.owner == operation.details["current_owner"]):
            yield self.named(state, current)

    def refresh(self, state, operation, latest_ns):
        token = number_of(operation.params["token"])
        if operation.error == "LOCK_NOT_OWNED":
            yield from self.not_owned(state, operation)
        elif not operation.error and state.hold and fits(state.hold.token, token, state.last):
            yield self.renewed(self.named(state, token), operation, latest_ns,
                               operation.params.get("lease_ms"))

    def release(self, state, operation, latest_ns):
        token = number_of(operation.params["token"])
        if operation.error == "LOCK_NOT_OWNED":
            yield from self.not_owned(state, operation)
        elif operation.error:
            return
        elif operation.result is not None and not operation.result["released"]:
            if state.hold is None and state.ended != (token, "expired"):
                yield state
        elif state.hold and fits(state.hold.token, token, state.last):
            yield Lock(None, (token, "released"), max(state.last, token))

    def get(self, state, operation, latest_ns):
        """The lease of a lock that is shown as expired is over, and nobody has taken it over."""
        if operation.is_open or operation.error:
            return
        shown, last = operation.result["lock"], operation.result["last"]
        if shown is None:
            if state.hold is not None:
                return
            if last is None:
                if state.ended is None:
                    yield state
            elif state.ended and state.ended[1] == last["ended"]:
                if state.ended[0] < 0 or state.ended[0] == number_of(last["token"]):
                    token = number_of(last["token"])
                    yield Lock(None, (token, last["ended"]), max(state.last, token))
            return
        hold, token = state.hold, number_of(shown["token"])
        if hold and hold.owner == shown["owner"] and fits(hold.token, token, state.last):
            if shown["status"] == "held" or self.leases.may_be_over(hold, latest_ns):
                yield self.named(state, token)
