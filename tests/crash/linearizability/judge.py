"""The judgement about a whole history: each key by its model, and what holds across keys."""
import dataclasses
import time

from checker import check_all
from history import WITHOUT_EFFECT
from leases import Leases
from lock_model import LockModel
from run_models import KeyModel, RunModel, StepsModel
from tick_model import TickModel
from whole_checks import check_whole, keys_of


@dataclasses.dataclass
class Judgement:
    operations: int
    unanswered: int
    repeated: int
    verdicts: list
    whole: list
    seconds: float

    @property
    def bad(self):
        return [verdict for verdict in self.verdicts if not verdict.is_good]

    @property
    def is_good(self):
        return not self.bad and not self.whole

    def summary(self):
        return (f"{self.operations} operations, {self.unanswered} of them unanswered and {self.repeated} "
                f"repeated, on {len(self.verdicts)} keys: "
                + ("linearizable" if self.is_good else
                   f"NOT LINEARIZABLE: {len(self.bad)} keys, {len(self.whole)} across keys")
                + f" (judged in {self.seconds:.1f} s)")

    def complaints(self):
        for verdict in self.bad:
            failed = verdict.failed
            yield (f"{' '.join(map(str, verdict.key))}: {verdict.why}: {failed.client} {failed.method} "
                   f"{failed.params} -> {failed.answer}")
            for state in verdict.states:
                yield f"  possible before: {state}"
        for why, operations in self.whole:
            yield f"{why}: " + "; ".join(f"{each.client} {each.method} {each.params}" for each in operations)

    def drawings(self, history):
        """Yields what drawing.page() takes, for each key that is bad and each complaint across keys."""
        for verdict in self.bad:
            # Refusals for lack of space as well, which the checker leaves out.
            refused = [each for each in history.operations if each.error in WITHOUT_EFFECT
                       and any(key == verdict.key for key, _ in keys_of(each))]
            yield (" ".join(map(str, verdict.key)), verdict.why, verdict.operations + refused,
                   [verdict.failed], history.marks)
        for why, operations in self.whole:
            yield "across keys", why, operations, operations[-1:], history.marks


def judge(history):
    begun = time.monotonic()
    operations = history.prepared()
    leases = Leases(history.marks, history.bounds_are_known)
    models = {"lock": LockModel(leases), "loop": TickModel(leases), "key": KeyModel(leases),
              "run": RunModel(leases), "steps": StepsModel(leases)}
    verdicts = check_all(operations, models, keys_of)
    return Judgement(len(operations), sum(each.is_open for each in operations),
                     sum(each.group is not None for each in operations), verdicts,
                     check_whole(operations), time.monotonic() - begun)
