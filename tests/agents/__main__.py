"""Runs real coding agents with the real server against a model server on loopback.

    python3 tests/agents --install build/agents                 installs them; what is there stays
    python3 tests/agents --binary build/signalbox --agents build/agents
    python3 tests/agents --agents build/agents --only codex-0.169.0 --scene edits_and_tests

The newest claude plays half of its scenes, others in each run, and codex those of its own that this claude
doesn't play; an older claude plays a third. With --only or --scene nothing is left out, nor with
SIGNALBOX_EVERY_FAULT=1. Exits 1 if a scene doesn't go as it has to.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import sys
import tempfile
import time

sys.dont_write_bytecode = True
# service.py
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "crash" / "campaign"))

import programs
import scenes
from night import night
from service import NoAnswer, Refused
from stage import Failed, Stage

# The newest claude plays half of all scenes, and a night; the others take turns beside it.
STAGES_AT_ONCE = 2
NEWEST_STRIDE = 2
# An older claude differs in few of its answers.
OLDER_STRIDE = 3


def parse():
    parser = argparse.ArgumentParser(prog="tests/agents",
                                     description="Runs real agents against a scripted model.")
    parser.add_argument("--install", type=pathlib.Path, metavar="DIRECTORY",
                        help="only install the agents there")
    parser.add_argument("--binary", type=pathlib.Path, default=pathlib.Path("build/signalbox"))
    parser.add_argument("--agents", type=pathlib.Path, default=pathlib.Path("build/agents"))
    parser.add_argument("--only", choices=sorted(programs.PROGRAMS), help="only this agent")
    parser.add_argument("--scene", help="only this scene")
    return parser.parse_args()


def scenes_of(stage, seed):
    """Returns the scenes of the stage's program whose turn it is with this seed.

    Without a seed it plays all. The night is played by one program, as the last.
    """
    own = scenes.SCENES[stage.agent]
    is_newest = stage.name == programs.NEWEST_CLAUDE
    if seed is None:
        return [*own, night] if is_newest else own
    newest = scenes.SCENES[programs.PROGRAMS[programs.NEWEST_CLAUDE][1]]
    in_turn = newest[seed % NEWEST_STRIDE::NEWEST_STRIDE]
    if is_newest:
        return [*in_turn, night]
    if own is newest:
        return own[seed % OLDER_STRIDE::OLDER_STRIDE]
    return [scene for scene in own if scene not in in_turn]


def seed_of(options):
    """Returns what decides whose turn it is, and prints it; None if all scenes are played."""
    if options.only or options.scene or int(os.environ.get("SIGNALBOX_EVERY_FAULT") or 0):
        return None
    seed = int(os.environ.get("SIGNALBOX_SEED") or random.randrange(1_000_000))
    print(f"again with: SIGNALBOX_SEED={seed}", flush=True)
    return seed


def play(stage, scene):
    """Plays a scene and prints what became of it. Returns whether it went as it has to."""
    began = time.monotonic()
    try:
        scene(stage)
        complaint = ""
    except (Failed, Refused, NoAnswer, KeyError, OSError) as error:
        complaint = f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - began
    lines = [f"{'FAILED' if complaint else 'ok':6} {stage.name} {scene.__name__} {seconds:.1f} s"]
    if complaint:
        lines += [scene.__doc__, complaint, f"requests: {stage.model.requests[-12:]}"]
    print("\n       ".join(lines), flush=True)  # in one piece, beside those of another stage
    return not complaint


def play_all(options, name, seed):
    """Plays the scenes of an agent on a stage of its own. Returns whether each went as it has to."""
    with tempfile.TemporaryDirectory(prefix="agents-", ignore_cleanup_errors=True) as directory:
        with Stage(options.binary.resolve(), options.agents, name, directory) as stage:
            wanted = [each for each in scenes_of(stage, seed) if options.scene in (None, each.__name__)]
            return all([play(stage, scene) for scene in wanted])


def main():
    options = parse()
    try:
        if options.install:
            programs.install(options.install)
            return 0
    except programs.NotInstalled as error:
        print(f"the agents can't be installed: {error}")
        return 1
    names = [options.only] if options.only else list(programs.PROGRAMS)
    seed = seed_of(options)
    with concurrent.futures.ThreadPoolExecutor(STAGES_AT_ONCE) as pool:
        good = list(pool.map(lambda name: play_all(options, name, seed), names))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
