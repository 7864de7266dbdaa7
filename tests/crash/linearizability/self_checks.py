"""Checks that the checker can fail: on histories written by hand, and on what real clients saw of a server
that breaks a promise. Everything that it should accept, it has to accept."""
import pathlib
import tempfile
import threading

import clients
import drawing
import hand_written
import history
from fake_server import FAULTS, FakeServer
from judge import judge

CLIENTS = ("lock-1", "lock-2", "lock-3", "step-1", "step-2", "step-3")
OPERATIONS = 600


def check_hand_written():
    for name, written in hand_written.GOOD.items():
        judgement = judge(hand_written.history_of(written))
        if not judgement.is_good:
            yield f"it refuses `{name}`: {'; '.join(judgement.complaints())}"
    for name, written in hand_written.BAD.items():
        found = hand_written.history_of(written)
        judgement = judge(found)
        if judgement.is_good:
            yield f"it accepts `{name}`"
        elif not all(drawing.page(*each).endswith("</table>") for each in judgement.drawings(found)):
            yield f"it doesn't draw `{name}`"


def seen_of(fault, scratch):
    """Returns the history of real clients of a server with this fault."""
    path, file = scratch / "socket", scratch / "history.jsonl"
    server = FakeServer(path, fault)
    answered = threading.Semaphore(0)
    stop = threading.Event()
    running = threading.Thread(target=clients.run_clients, args=(
        CLIENTS, 1, path, file, 0, stop.is_set, answered.release))
    running.start()
    for _ in range(OPERATIONS):
        answered.acquire()
    stop.set()
    running.join()
    server.close()
    return history.read([file])


def check_fake_servers():
    for fault in FAULTS:
        with tempfile.TemporaryDirectory() as scratch:
            judgement = judge(seen_of(fault, pathlib.Path(scratch)))
        if judgement.is_good != (fault == "none"):
            yield (f"a server with the fault `{fault}` is taken for "
                   + (f"a bad one: {'; '.join(judgement.complaints())}" if fault == "none" else "a good one"))


def run():
    """Returns what the checker got wrong."""
    return [*check_hand_written(), *check_fake_servers()]
