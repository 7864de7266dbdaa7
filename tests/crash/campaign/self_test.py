"""Plants what the oracle must flag: an oracle that can't fail proves nothing."""
import copy
import shutil

import oracle

CHANGING_REFUSAL = """#!/bin/sh
[ "$1" = serve ] || exit 2
: > "$3/anchor"
exit 78
"""
SILENT_REFUSAL = """#!/bin/sh
exit 78
"""
CRASH = """#!/bin/sh
kill -SEGV $$
"""


def fake_binary(directory, name, text):
    path = directory / name
    path.write_text(text)
    path.chmod(0o700)
    return path


def judged(campaign, data_of, reference, binary=None, may_refuse=True):
    """Judges a copy of a directory by the facts of a reference."""
    directory = campaign.directory()
    data = directory / "data"
    data_of.copy_to(data)
    verdict = oracle.judge_start(binary or campaign.binary, data, reference, may_refuse)
    shutil.rmtree(directory, ignore_errors=True)
    return verdict


def altered(reference, **facts):
    other = copy.copy(reference)
    for name, value in facts.items():
        setattr(other, name, value)
    return other


def run(campaign):
    """Returns what the oracle judged otherwise than it must; prints a line for each plant."""
    stopped, killed = campaign.references["stopped"], campaign.references["killed"]
    tail = stopped.certain
    other_event = {**stopped.events, tail: {**stopped.events[tail], "actor": "somebody else"}}
    other_digest = {**stopped.digests, tail // 2: "0" * 64}
    place = campaign.directory()
    changing = fake_binary(place, "changing", CHANGING_REFUSAL)
    silent = fake_binary(place, "silent", SILENT_REFUSAL)
    crashing = fake_binary(place, "crashing", CRASH)
    plants = [
        ("nothing is damaged", oracle.UNAFFECTED, "", lambda: judged(campaign, stopped, stopped)),
        ("a crash and nothing else", oracle.UNAFFECTED, "", lambda: judged(campaign, killed, killed)),
        # A whole log, only shorter: the last life's acknowledged records are lost.
        ("lost records", oracle.WRONG, "is", lambda: judged(campaign, stopped, killed)),
        ("another record", oracle.WRONG, "isn't the one",
         lambda: judged(campaign, stopped, altered(stopped, events=other_event))),
        ("another digest", oracle.WRONG, "digest",
         lambda: judged(campaign, stopped, altered(stopped, digests=other_digest))),
        ("a run that isn't listed", oracle.WRONG, "run.list",
         lambda: judged(campaign, stopped, altered(stopped, runs=stopped.runs[1:]))),
        ("a refusal that changes a file", oracle.WRONG, "has changed anchor",
         lambda: judged(campaign, stopped, stopped, changing)),
        ("a refusal because of a cache", oracle.WRONG, "computed again",
         lambda: judged(campaign, stopped, stopped, silent, may_refuse=False)),
        ("a refusal", oracle.REFUSED, "", lambda: judged(campaign, stopped, stopped, silent)),
        ("a crash at the start", oracle.WRONG, "signal 11",
         lambda: judged(campaign, stopped, stopped, crashing)),
    ]
    missed = []
    for name, kind, reason, judge in plants:
        verdict = judge()
        if verdict.kind != kind or reason not in verdict.why:
            missed.append(f"{name}: judged {verdict.kind} {verdict.why}")
    print(f"self-test of the oracle: {len(plants) - len(missed)} of {len(plants)} judged rightly", flush=True)
    return missed
