"""The commands that write while no server has the directory: retention, export, redaction.

With a failing disk each ends with an error and leaves a whole log; repeated on a well disk it reaches the
end that it would have reached at once.
"""
import copy

from oracle import REFUSED, UNAFFECTED, Verdict, difference, fingerprint, lost_records, wrong
from reference import SECRET
from service import Service, all_events, json_of, run_command

OFFLINE = ["writes_retention", "writes_export", "writes_redaction"]

# Done, refused, and a failing disk. Damaged (78) would be a lie.
ENDS = ("exit 0", "exit 1", "exit 74")


def secret_position(reference):
    return next(position for position, event in reference.events.items()
                if event["data"].get("goal") == SECRET)


def arguments_of(name, reference, directory):
    """Returns the command and the paths whose writes fail."""
    key = reference.directory / "audit.key"
    data, output = directory / "data", directory / "output"
    if name == "writes_retention":
        command = ["audit", "retain", "--older-than", "0s", "--archive", output]
        return [*command, "--signing-key", key], [data, output]
    if name == "writes_export":
        return ["audit", "export", "--signing-key", key, "-o", output], [output]
    position = secret_position(reference)
    return ["audit", "redact", position, "--reason", "the campaign"], [data]


def verified_export(binary, reference, export):
    """Returns what is wrong with an export, or ""."""
    end, out, err = run_command(binary, "audit", "verify", export, "--key",
                                f"@{reference.directory / 'audit.vkey'}")
    return "" if end == "exit 0" else f"audit verify {export.name}: {end}: {(err or out)[-300:]}"


def judge_whole(binary, data, reference):
    """Returns what is wrong with the log up to the reference's tail, or ""."""
    try:
        to = reference.tail
        replayed = json_of(binary, "replay", "--verify", "--to", to, "--data", data)
    except AssertionError as error:
        return str(error)
    if replayed["state_digest"] != reference.digests[to]:
        return f"the state after record {to} has another digest"
    return ""


def judge_retention(binary, data, reference, output):
    with Service(binary, data) as service:
        if not service.wait_until_ready():
            return f"afterwards: {service.ended()}: {service.log()[-400:]}"
        kept = all_events(service)
        end = service.stop()
    if end != "exit 0":
        return f"stopped with {end}"
    archived = set()
    for archive in sorted(output.iterdir()):
        if archive.is_dir() and archive.name.count("-") == 1:
            if problem := verified_export(binary, reference, archive):
                return problem
            first, last = map(int, archive.name.split("-"))
            archived.update(range(first, last + 1))
    for position, event in reference.events.items():
        if position in kept and kept[position] != event:
            return f"record {position} isn't the one that was acknowledged"
        if position not in kept and position not in archived:
            return f"record {position} is neither in the log nor in an archive"
    return judge_whole(binary, data, reference)


def judge_redaction(binary, data, reference):
    for path in data.rglob("*"):
        if path.is_file() and SECRET.encode() in path.read_bytes():
            return f"{path.relative_to(data)} still holds the text"
    other = copy.copy(reference)
    other.events = dict(reference.events)
    del other.events[secret_position(reference)]
    with Service(binary, data) as service:
        if not service.wait_until_ready():
            return f"afterwards: {service.ended()}: {service.log()[-400:]}"
        _, lost = lost_records(other, all_events(service))
        end = service.stop()
    if lost or end != "exit 0":
        return lost or f"stopped with {end}"
    json_of(binary, "replay", "--verify", "--data", data)
    return ""


def run_offline(binary, name, reference, directory, environment, report):
    """Judges one fault. Returns None if it is beyond the last call."""
    data, output = directory / "data", directory / "output"
    reference.copy_to(data)
    before = fingerprint(data)
    command, under = arguments_of(name, reference, directory)
    command += ["--data", data]
    first, out, err = run_command(binary, *command, environment=environment(under))
    fell = report.read_text().splitlines()[0] if report.exists() and report.stat().st_size else ""
    if not fell:
        return None if first == "exit 0" else wrong(f"fails by itself: {first}: {err or out}")
    if first not in ENDS:
        return wrong(f"{fell}: {first}: {(err or out)[-400:]}")
    if first != "exit 0" and not (err or out).strip():
        return wrong(f"{fell}: {first} without a message")

    problem = ""
    if name != "writes_redaction":
        problem = judge_whole(binary, data, reference)
    elif json_of(binary, "replay", "--verify", "--data", data)["verified"] is not True:
        problem = "replay --verify didn't verify"
    if not problem and name == "writes_export":
        if changed := difference(before, fingerprint(data)):
            problem = f"the export has changed {changed}"
    if not problem and first != "exit 0":
        again, out, err = run_command(binary, *command)
        # A redaction may have been complete but for its end.
        if again != "exit 0" and not (name == "writes_redaction" and again == "exit 1"):
            problem = f"repeated on a well disk: {again}: {(err or out)[-400:]}"
    if not problem:
        if name == "writes_retention":
            problem = judge_retention(binary, data, reference, output)
        elif name == "writes_redaction":
            problem = judge_redaction(binary, data, reference)
        else:
            problem = verified_export(binary, reference, output)
    if problem:
        return wrong(f"{fell}: {first}: {problem}")
    return Verdict(UNAFFECTED if first == "exit 0" else REFUSED)
