"""The coding agents that the scenes run: real programs of pinned versions, installed by npm.

They are installed into a directory of the build and stay there, so that they are downloaded once.
"""
import os
import pathlib
import shutil
import subprocess

INSTALL_SECONDS = 180

# Name of its directory: package and version, and the program's name.
PROGRAMS = {
    "claude-2.1.330": ("@anthropic-ai/claude-code@2.1.330", "claude"),
    "claude-2.1.197": ("@anthropic-ai/claude-code@2.1.197", "claude"),
    "codex-0.169.0": ("@openai/codex@0.169.0", "codex"),
}
NEWEST_CLAUDE = "claude-2.1.330"


class NotInstalled(Exception):
    """An agent can't be installed."""


def folder_of(directory, name):
    """Returns the folder in which the agent's program lies."""
    return pathlib.Path(directory).resolve() / name / "node_modules" / ".bin"


def install(directory):
    """Installs what is missing. Raises NotInstalled, for the tests of agents are never skipped."""
    if shutil.which("npm") is None:
        raise NotInstalled("npm isn't there; on Debian: apt-get install npm")
    directory = pathlib.Path(directory).resolve()
    for name, (package, program) in PROGRAMS.items():
        mark = directory / name / "installed"
        if mark.exists():
            continue
        shutil.rmtree(directory / name, ignore_errors=True)
        (directory / name).mkdir(parents=True)
        command = ["npm", "install", "--prefix", directory / name, "--no-audit", "--no-fund",
                   "--no-update-notifier", "--loglevel=error", package]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=INSTALL_SECONDS, cwd=directory / name)
        except subprocess.TimeoutExpired as error:
            raise NotInstalled(f"{package}: not installed in {INSTALL_SECONDS} s") from error
        if done.returncode != 0 or not (folder_of(directory, name) / program).exists():
            raise NotInstalled(f"{package}: {done.stderr.decode(errors='replace').strip()}")
        mark.touch()
    (directory / "installed").touch()


def environment(directory, name, home, url):
    """Returns the variables with which a server's jobs run the agent against the model server.

    A dummy key, a home of its own, and neither telemetry nor updates. What wants to leave the machine
    all the same meets a proxy that isn't there.
    """
    path = f"{folder_of(directory, name)}{os.pathsep}{os.environ['PATH']}"
    variables = {"PATH": path, "HOME": str(home), **PROXY_VARIABLES}
    if PROGRAMS[name][1] == "claude":
        return {**variables, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-dummy",
                "CLAUDE_CONFIG_DIR": str(home / ".claude"), **CLAUDE_VARIABLES,
                TEMPORARY_VARIABLE: str(home)}
    configuration = home / ".codex"
    configuration.mkdir(parents=True, exist_ok=True)
    (configuration / "config.toml").write_text(
        "check_for_update_on_startup = false\n[analytics]\nenabled = false\n")
    return {**variables, "OPENAI_BASE_URL": f"{url}/v1", "CODEX_API_KEY": "sk-dummy",
            "CODEX_HOME": str(configuration)}


# Names claude's directory for the output of tasks in the background.
TEMPORARY_VARIABLE = "CLAUDE_CODE_TMPDIR"
PROXY_VARIABLES = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
CLAUDE_VARIABLES = {"DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
                    "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                    "CLAUDE_CODE_MAX_RETRIES": "1"}


def passed_on(name):
    """Returns the names of the variables that the agent's jobs get beside its own."""
    is_claude = PROGRAMS[name][1] == "claude"
    return sorted([*PROXY_VARIABLES, *([TEMPORARY_VARIABLE, *CLAUDE_VARIABLES] if is_claude else [])])
