"""A stage for one agent: a server of the real binary, a model server, and the runs between them."""
import os
import pathlib
import signal
import subprocess
import time

import programs
from model_server import Bill, ModelServer
from service import Service, run_command

RUN_SECONDS = 180
SETTINGS = """
watchdog_interval = "500ms"
[board]
heartbeat = "1s"
synthesizer = "1s"
prune = "1s"
prune_after = "1s"
time_zone = "UTC"
"""
MODEL = {"claude": "claude-sonnet-4-5", "codex": ""}


class Failed(Exception):
    """A scene didn't go as it has to."""


def check(condition, what):
    if not condition:
        raise Failed(what)


class Stage:
    def __init__(self, binary, agents, name, directory):
        self.binary = binary
        self.name = name
        self.agent = programs.PROGRAMS[name][1]
        self.directory = pathlib.Path(directory)
        home = self.directory / "home"
        home.mkdir(parents=True)
        self.model = ModelServer(None)
        # The variables of the calling session's own agent have no say here.
        for variable in [each for each in os.environ
                         if each.startswith(("ANTHROPIC_", "CLAUDE", "CODEX_", "OPENAI_"))]:
            os.environ.pop(variable, None)  # or another stage was first
        self.environment = programs.environment(agents, name, home, self.model.url)
        data = self.directory / "data"
        data.mkdir()
        (data / "signalbox.toml").write_text(SETTINGS)
        self.serve = lambda: Service(binary, data, environment=self.environment)
        self.service = self.serve()
        self.scenes = 0
        self.latest_seconds = 0

    def __enter__(self):
        check(self.service.wait_until_ready(), f"the server ended: {self.service.log()}")
        return self

    def __exit__(self, *_):
        self.model.__exit__()
        self.service.__exit__()
        # Jobs outlive their server. A job's name begins with its run's id.
        for run_id in {job.name[:36] for job in (self.directory / "data" / "jobs").glob("*")}:
            self.kill_processes_of(run_id)

    def kill_server(self):
        """Kills the server with -9 and starts it again; the agents live on."""
        self.service.kill()
        self.service = self.serve()
        self.__enter__()

    def requests_of_model(self):
        """Returns how many requests for work the model server has had in this scene."""
        return sum(self.model.numbers.values())

    def set_scene(self, script):
        """Answers by this script from now on, with a new bill."""
        with self.model.lock:
            self.model.script = script
            self.model.bill = Bill()
            self.model.bills = {}
            self.model.numbers = {}
            self.model.requests = []

    def start(self, script, retries=0, command=(), budget=None, timeout=None,
              goal="make it work", labels=()):
        """Starts a run of one station with the agent, at a runner if there are labels. Returns its id."""
        self.set_scene(script)
        self.scenes += 1
        station = {"name": "implement", "executor": "coderunner", "cancel_grace": "5s",
                   "environment": programs.passed_on(self.name),
                   "retry": {"max_retries": retries, "backoff": "10ms"},
                   "coderunner": {"agent": self.agent, "mode": "process"}}
        if MODEL[self.agent]:
            station["coderunner"]["model"] = MODEL[self.agent]
        if timeout:
            station["timeout"] = timeout
        if command:
            station["command"] = list(command)
        more = {"budget": budget} if budget else {}
        started = self.service.call("run.start", goal=goal,
                                    idempotency_key=f"scene-{self.scenes}",
                                    pipeline={"name": "agents", "runs_on": list(labels), "station": [station]},
                                    **more)
        return started["run_id"]

    def run_of(self, run_id):
        return self.service.call("run.get", run_id=run_id)["run"]

    def attempts(self, run_id):
        return self.run_of(run_id)["stations"][0]["attempts"]

    def wait(self, condition, what, seconds=RUN_SECONDS):
        """Blocks until the condition holds; fails after that many seconds. `what` may be a function."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= deadline:
                raise Failed(f"not in {seconds} s: {what() if callable(what) else what}")
            time.sleep(0.05)

    def end_of(self, run_id):
        """Blocks until the run has ended and returns it."""
        self.wait(lambda: "ended_at" in self.run_of(run_id), lambda: f"the end of {self.run_of(run_id)}")
        return self.run_of(run_id)

    def play(self, script, **options):
        """Runs a scene to its end and returns the run."""
        began = time.monotonic()
        run = self.end_of(self.start(script, **options))
        self.latest_seconds = time.monotonic() - began
        return run

    def bound(self, seconds, times):
        """Returns a timeout of an agent as a setting: this one, or so many times what the latest scene took. A
        busy machine needs the longer one."""
        return f"{max(seconds, int(times * self.latest_seconds))}s"

    def command(self, *words):
        """Runs a command of the binary as a person does and returns its output."""
        end, out, err = run_command(self.binary, *words,
                                    environment={"SIGNALBOX_DATA": str(self.directory / "data")})
        check(end == "exit 0", f"signalbox {' '.join(words)}: {end}: {err or out}")
        return out

    def workspace(self, run):
        return pathlib.Path(run["run_root"]) / "workspace"

    def kill_processes_of(self, run_id, which=lambda words: True):
        """Kills shim, agent and all that they started, or those of them whose command line `which`
        takes, each by its id. Returns how many it has killed."""
        killed = 0
        for process in processes_of(run_id):
            try:
                if which((process / "cmdline").read_bytes().decode(errors="replace").split("\0")):
                    os.kill(int(process.name), signal.SIGKILL)
                    killed += 1
            except OSError:
                continue  # it has ended
        return killed


class Runner:
    """A runner of the stage's service, with the stage's agent."""

    def __init__(self, stage):
        self.stage = stage
        self.work = stage.directory / "runner"
        self.start()

    def start(self):
        with open(self.stage.directory / "runner.log", "ab") as log:
            self.process = subprocess.Popen(
                [self.stage.binary, "--data", self.stage.directory / "data", "runner", "--work", self.work,
                 "--labels", "agents"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **self.stage.environment})

    def kill(self):
        self.process.kill()
        self.process.wait()


def is_shim(words):
    return words[1:2] == ["shim"]


def is_agent(words):
    """Returns whether it is the agent's own process: the others are the service's."""
    return "--job-dir" not in words


def processes_of(run_id):
    """Returns the directories in /proc of all processes of a run."""
    entry = f"SIGNALBOX_RUN_ID={run_id}".encode()
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and entry in (process / "environ").read_bytes():
                found.append(process)
        except OSError:
            continue  # it has ended, or is somebody else's
    return found
