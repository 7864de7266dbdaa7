"""Faults in the files of a data directory that no server uses: cut, missing, with a flipped bit.

A fault's name says what was done, e.g. `stopped/log/MANIFEST-000013:cut:152`, and is enough to do it
again.
"""
import random

from oracle import judge_start

# Damage elsewhere is of what can be computed from these, or made anew.
OF_THE_LOG = ("log/", "anchor")
FLIPS_DEFAULT = 2000


def files_of(reference, prefix=""):
    """Returns the relative paths of the files whose name begins like this."""
    found = []
    for path in sorted(reference.data.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name.startswith(prefix):
            found.append(str(path.relative_to(reference.data)))
    return found


def cuts(references, prefix):
    """Every length of every file of this name."""
    return [f"{name}/{path}:cut:{length}"
            for name, reference in references.items()
            for path in files_of(reference, prefix)
            for length in range((reference.data / path).stat().st_size)]


def missing(references, _random):
    return [f"{name}/{path}:missing:0"
            for name, reference in references.items()
            for path in files_of(reference) if path != "server.lock"]


def flips(references, seeded):
    """Bits all over the directory, each file as often as any other."""
    names = []
    for _ in range(FLIPS_DEFAULT):
        name = seeded.choice(sorted(references))
        path = seeded.choice(files_of(references[name]))
        size = (references[name].data / path).stat().st_size
        if size > 0:
            names.append(f"{name}/{path}:bit:{seeded.randrange(size * 8)}")
    return names


CLASSES = {
    "manifests": lambda references, _: cuts(references, "MANIFEST-"),
    "currents": lambda references, _: cuts(references, "CURRENT"),
    "options": lambda references, _: cuts(references, "OPTIONS-"),
    "missing": missing,
    "flips": flips,
}


def trials(name, references, seed):
    """Returns the names of the faults of a class, in an order that the seed decides, so that a budget
    of time that ends early has seen all kinds of them.
    """
    seeded = random.Random(f"{name} {seed}")
    names = CLASSES[name](references, seeded)
    seeded.shuffle(names)
    return names


def apply(trial, references, directory):
    """Makes a copy of the reference with the fault in it. Returns the copy's data directory, its
    reference, and the path of the damaged file.
    """
    place, what, number = trial.rsplit(":", 2)
    name, path = place.split("/", 1)
    reference = references[name]
    data = directory / "data"
    reference.copy_to(data)
    file = data / path
    if what == "missing":
        file.unlink()
    elif what == "cut":
        with open(file, "r+b") as stream:
            stream.truncate(int(number))
    elif what == "bit":
        content = bytearray(file.read_bytes())
        bit = int(number) % (8 * len(content))  # a copy's machine_id may be shorter
        content[bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
    else:
        raise ValueError(f"{trial}: no such fault")
    return data, reference, path


def run_trial(binary, trial, references, directory):
    data, reference, path = apply(trial, references, directory)
    return judge_start(binary, data, reference, may_refuse=path.startswith(OF_THE_LOG),
                       damaged=path)
