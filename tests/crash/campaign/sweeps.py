"""The classes whose faults other programs make, by the ten thousand: kills, simulated nights, bits.

Each runs in batches, some at a time, until its number is reached or the time is over.
"""
import concurrent.futures
import os
import re
import subprocess
import time

from oracle import REFUSED, UNAFFECTED, WRONG

# The class, how many faults it has, and how many make a batch.
CLASSES = {"kills": (1000, 50), "seeds": (100_000, 500), "bits": (None, 20_000)}

BATCH_SECONDS = 3600


def run_batch(command, environment):
    """Returns whether the program ended well, and what it wrote."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=BATCH_SECONDS,
                              env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        return False, f"no end in {BATCH_SECONDS} s"
    return done.returncode == 0, done.stdout.decode(errors="replace")


def count(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def kills(campaign, first, size):
    """Kills under load: what isn't lost is unaffected. The batch's own seed repeats it."""
    seed = str(campaign.options.seed * 1_000_000 + first)
    environment = {"SIGNALBOX_KILLS": str(size), "SIGNALBOX_SEED": seed}
    command = [campaign.build / "test_crash", "--gtest_filter=KillSweep.*"]
    good, text = run_batch(command, environment)
    again = f"SIGNALBOX_SEED={seed} SIGNALBOX_KILLS={size} {command[0]} {command[1]}"
    return good, text, {UNAFFECTED: count(r"(\d+) kills", text)}, again


def seeds(campaign, first, size):
    seed = str(campaign.options.seed * 1_000_000 + first)
    command = [str(campaign.build / "simulate"), "--seed", seed, "--seeds", str(size)]
    good, text = run_batch(command, {})
    return good, text, {UNAFFECTED: count(r"(?m)^seeds +(\d+)", text)}, " ".join(command)


def bits(campaign, first, size):
    environment = {"SIGNALBOX_FIRST_BIT": str(first), "SIGNALBOX_BITS": str(size)}
    command = [campaign.build / "test_store", "--gtest_filter=FlippedBits.*"]
    good, text = run_batch(command, environment)
    counts = {
        "of": count(r"(?m)^bits (\d+) ", text),
        REFUSED: count(r"(?m)^bits .* refused (\d+) ", text),
        UNAFFECTED: count(r"(?m)^bits .* unaffected (\d+) ", text),
        WRONG: count(r"(?m)^bits .* wrong (\d+)", text),
    }
    again = f"SIGNALBOX_FIRST_BIT={first} SIGNALBOX_BITS={size} {command[0]} {command[1]}"
    return good, text, counts, again


class Sweep:
    """A class under way: what was tried, and where it goes on."""

    def __init__(self, campaign, name, result):
        self.campaign = campaign
        self.batch = {"kills": kills, "seeds": seeds, "bits": bits}[name]
        self.result = result
        self.number, self.size = CLASSES[name]
        self.first = campaign.options.first
        self.under_way = {}

    def begin(self, pool):
        size = self.size if self.number is None else min(self.size, self.number - self.first)
        self.under_way[pool.submit(self.batch, self.campaign, self.first, size)] = self.first
        self.first += size

    def end(self, done):
        first = self.under_way.pop(done)
        good, text, counts, again = done.result()
        number = counts.pop("of", self.number)
        self.number = self.number or number
        self.result.counts.update(counts)
        if good and sum(counts.values()) == 0 and first < number:  # each batch makes a log of its own
            good, text = False, f"nothing was tried: {text[-400:]}"
        if good:
            return
        if counts.get(WRONG, 0) == 0:
            self.result.counts[WRONG] += 1
        self.result.wrongs.append(again)
        print(f"  wrong: {text[-2000:]}\n    again: {again}", flush=True)

    def has_more(self):
        """How many there are is known after the first batch."""
        return not self.under_way if self.number is None else self.first < self.number


def run(campaign, name, deadline, result):
    """Adds to `result` what came of the class."""
    sweep = Sweep(campaign, name, result)
    with concurrent.futures.ThreadPoolExecutor(campaign.options.jobs) as pool:
        while True:
            while (sweep.has_more() and len(sweep.under_way) < campaign.options.jobs
                   and time.monotonic() < deadline):
                sweep.begin(pool)
            if not sweep.under_way:
                break
            for done in concurrent.futures.wait(sweep.under_way, return_when="FIRST_COMPLETED").done:
                sweep.end(done)
            if sweep.number == 0:  # the batch that counts them failed
                break
            print(f"  {result.tried} tried, {sweep.first} begun", flush=True)
    result.planned = sweep.number or 0
    return result
