"""Tests the alert rules and the scrape configuration with Prometheus' own promtool.

    python3 tests/metrics [--promtool PROGRAM] [--rules FILE] [--binary build/signalbox]

Each situation is a set of series with everything that has to fire, and nothing else may. Exits 1 if a
rule does otherwise, or if an alert fires in no situation. With a binary, promtool also reads its metrics.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
# service.py
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "crash" / "campaign"))

from service import Service
from situations import MISSING, SITUATIONS, TEXTS

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
METRICS = ROOT / "server" / "rpc" / "metrics"
PROMTOOL_SECONDS = 240
RULE = re.compile(r"- alert: (\w+)\n(.*?)(?=\n      - alert:|\Z)", re.DOTALL)


def labels_of(text):
    """Returns the labels of a series such as `signalbox_ticks{box=b,status=halted}`, as promtool has them."""
    name, _, rest = text.rstrip("}").partition("{")
    labels = dict(each.split("=") for each in rest.split(",") if each)
    box = labels.pop("box", "a")
    return name, {"job": "signalbox", "instance": f"box-{box}", **labels}


def series_of(situation_series):
    found = []
    for text, values in situation_series.items():
        name, labels = labels_of(text)
        listed = ",".join(f'{key}="{value}"' for key, value in labels.items())
        found.append({"series": f"{name}{{{listed}}}",
                      "values": " ".join("_" if each is MISSING else str(each) for each in values)})
    return found


def test_of(situation):
    """Returns the situation as a test of promtool: every alert that fires, at each of its minutes."""
    expected = []
    for minute, alerts in situation.alerts.items():
        samples = []
        for alert in alerts:
            name, box = alert.split()
            samples.append({"labels": f'{{alertname="{name}",instance="box-{box}"}}', "value": 1})
        expected.append({"expr": 'count by (alertname, instance) (ALERTS{alertstate="firing"})',
                         "eval_time": f"{minute}m", "exp_samples": samples})
    return {"interval": "1m", "name": situation.text, "input_series": series_of(situation.series),
            "promql_expr_test": expected}


def test_of_text(rules, minute, alert, series, labels, annotations):
    severity = re.search(r"severity: (\w+)", rules[alert])[1]
    next_step = re.search(r"next: (.*)", rules[alert])[1]
    expected = {"exp_labels": {"job": "signalbox", "instance": "box-a", "severity": severity, **labels},
                "exp_annotations": {"next": next_step, **annotations}}
    return {"interval": "1m", "name": f"the text of {alert}", "input_series": series_of(series),
            "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": [expected]}]}


def succeeds(*command, text=""):
    """Runs a command of promtool on the text. Returns whether it succeeded; prints what it says otherwise."""
    # In one stream, a failure follows the name of its file.
    done = subprocess.run([str(each) for each in command], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PROMTOOL_SECONDS)
    if done.returncode != 0:
        said = re.sub(r"Unit Testing: .*\n  SUCCESS\n\n?", "", done.stdout)
        print(f"FAILED promtool {' '.join(map(str, command[1:3]))}\n{said}")
    return done.returncode == 0


def metrics_of(binary, directory):
    """Returns the metrics of a new server of this binary. Raises RuntimeError if it doesn't start."""
    with Service(binary.resolve(), directory / "data") as service:
        if not service.wait_until_ready():
            raise RuntimeError(f"the server ended: {service.log()}")
        return service.call("server.metrics")["text"]


def main():
    parser = argparse.ArgumentParser(prog="tests/metrics", description="Tests the alert rules.")
    parser.add_argument("--promtool", default="promtool")
    parser.add_argument("--rules", type=pathlib.Path, default=METRICS / "alerts.yaml",
                        help="other rules to test")
    parser.add_argument("--binary", type=pathlib.Path, help="a server whose metrics are read, too")
    options = parser.parse_args()
    rules = dict(RULE.findall(options.rules.read_text()))
    fired = {alert.split()[0] for each in SITUATIONS for alerts in each.alerts.values() for alert in alerts}
    good = True
    for name in sorted(fired ^ set(rules)):
        good = False
        print(f"FAILED {name} " + ("is no rule" if name in fired else "fires in no situation"))
    with tempfile.TemporaryDirectory(prefix="metrics-") as directory:
        # As they lie beside each other where Prometheus reads them.
        place = pathlib.Path(directory)
        shutil.copy(METRICS / "prometheus.yaml", place)
        shutil.copy(options.rules, place / "alerts.yaml")
        (place / "signalbox.token").write_text("a token\n")
        good = succeeds(options.promtool, "check", "config", place / "prometheus.yaml") and good
        tests = [test_of(each) for each in SITUATIONS]
        tests += [test_of_text(rules, *each) for each in TEXTS if each[1] in rules]
        files = []
        for test in tests:
            # promtool names the file of what fails. JSON is YAML.
            files.append(place / f"{test['name']}.yaml")
            files[-1].write_text(json.dumps(
                {"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": [test]}))
        good = succeeds(options.promtool, "test", "rules", *files) and good
        if options.binary:
            text = metrics_of(options.binary, place)
            good = succeeds(options.promtool, "check", "metrics", text=text) and good
    if good:
        print(f"alerts: ok ({len(rules)} rules, {len(SITUATIONS)} situations)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
