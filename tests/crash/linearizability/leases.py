"""What the times say about a lease: when it may be over, and when it can't be held any more.

A lease runs from a moment between the call and the return of the operation that gave or extended it.
It is never over earlier. It may last longer where leases start anew: the server was killed, stopped, or
its clock was set. All that is nondeterministic within these bounds, so a model may take either.
"""
from history import RENEWING

# How late the server may find that its clock was set or that it was stopped.
NOTICE_NS = 5_000_000_000
# How much older the time may be by which the server judges a request than the request.
LATE_NS = 1_000_000_000


class Leases:
    """The bounds of leases in one history."""

    def __init__(self, marks=(), bounds_are_known=True):
        self.bounds_are_known = bounds_are_known
        self.renewals = []
        self.restarts = []
        for mark in marks:
            if mark.name == "killed":
                self.renewals.append((mark.begin_ns, mark.end_ns))
                self.restarts.append((mark.begin_ns, mark.end_ns))
            elif mark.name in RENEWING:
                self.renewals.append((mark.begin_ns, mark.end_ns + NOTICE_NS))

    def may_be_over(self, hold, latest_ns):
        """Returns whether the lease may have ended by latest_ns."""
        return latest_ns >= hold.from_ns + hold.lease_ns

    def may_be_held(self, hold, earliest_ns):
        """Returns whether the lease may still last at earliest_ns."""
        if not self.bounds_are_known:
            return True
        if earliest_ns <= hold.until_ns + hold.lease_ns + LATE_NS:
            return True
        for begin_ns, end_ns in reversed(self.renewals):
            if begin_ns <= earliest_ns and earliest_ns <= end_ns + hold.lease_ns + LATE_NS:
                return True
        return False

    def may_have_restarted(self, since_ns, latest_ns):
        """Returns whether the server may have been started anew between two moments."""
        return any(begin <= latest_ns and end >= since_ns for begin, end in self.restarts)

    def must_have_restarted(self, since_ns, earliest_ns):
        return any(begin >= since_ns and end <= earliest_ns for begin, end in self.restarts)


class LeasedModel:
    """A sequential model. `apply(state, operation, latest_ns)` yields the states after an operation that
    takes effect at most at latest_ns: none if its answer doesn't fit, those with an effect if it is open."""

    def __init__(self, leases):
        self.leases = leases

    def is_note(self, operation, after):
        """Returns whether an open operation was refused, although it left `after` behind."""
        return False
