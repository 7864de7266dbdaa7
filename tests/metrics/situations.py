"""What happens on servers, as the series that Prometheus has of it, and the alerts that are due.

A list of values has one sample a minute. Each series belongs to a box: `a` unless it says otherwise.
"""
from dataclasses import dataclass

MISSING = None      # a minute without a sample
FAILED = "stale"    # a scrape that failed: the series ends until the next one
HOUR = 60
GIGABYTE = 10**9


@dataclass
class Situation:
    text: str
    series: dict  # by name and labels
    alerts: dict  # by minute: what fires, as `SignalboxDown a`, in any order


def falling(start, by, minutes, floor=0):
    """Returns values that begin at `start` and lose `by` a minute."""
    return [max(floor, start - by * minute) for minute in range(minutes)]


def rising(by, minutes, start=0):
    return [start + by * minute for minute in range(minutes)]


def steps(values, minutes):
    """Returns values that are zero but from the minutes of `values` on."""
    return [max((value for minute, value in values.items() if minute <= now), default=0)
            for now in range(minutes)]


def healthy(box, minutes):
    """Returns all series of a box on which nothing is wrong."""
    def named(name, labels=""):
        return f"{name}{{box={box}{',' if labels else ''}{labels}}}"
    zeros = ("storage_full", "paused", "read_model_disk_failing", "read_model_lag_events", "trace_lag_events",
             "trace_spans_failed_total", "retention_failed", "file_retention_failed",
             "run_root_failures", "reload_refused", "cell_log_failing", "cell_drop_failing", "cell_versions",
             "cell_redactions_due",
             "tls_certificate_not_after_timestamp_seconds")
    series = {named(f"signalbox_{name}"): [0] * minutes for name in zeros}
    series[named("up")] = [1] * minutes
    series[named("signalbox_incarnation")] = [3] * minutes
    # A disk on which builds come and go.
    series[named("signalbox_data_disk_available_bytes")] = [
        (80 - minute % 50) * GIGABYTE for minute in range(minutes)]
    for reason in ("backoff", "deferred", "stalled", "quota", "approval", "budget"):
        series[named("signalbox_waiting_stations", f"reason={reason}")] = [
            0 if reason in ("approval", "budget") else 2] * minutes
    for kind in ("approval", "budget", "paused_run", "lost_job", "blocked_card", "failed_card", "halted_loop",
                 "refused_policy", "held_project"):
        series[named("signalbox_attention_items", f"kind={kind}")] = [
            1 if kind == "paused_run" else 0] * minutes
    for condition in ("artifact_store", "disk_failure", "listen", "read_models", "runners"):
        series[named("signalbox_service_conditions", f"condition={condition}")] = [0] * minutes
    for status in ("running", "timed_out", "halted"):
        series[named("signalbox_ticks", f"status={status}")] = [
            1 if status == "running" else 0] * minutes
    for loop in ("heartbeat", "synthesizer", "prune"):
        series[named("signalbox_loop_overdue_seconds", f"loop={loop}")] = [0, 1] * (minutes // 2)
    series[named("signalbox_events_total", "type=RunSucceeded")] = rising(2, minutes)
    series[named("signalbox_events_total", "type=RunFailed")] = rising(1, minutes)
    for bound, share in (("0.01", 90), ("0.5", 100), ("1", 100), ("+Inf", 100)):
        series[named("signalbox_commit_duration_seconds_bucket", f"le={bound}")] = rising(share, minutes)
    for reason in ("full", "evicted"):
        series[named("signalbox_connections_dropped_total", f"reason={reason}")] = rising(1, minutes)
    return series


def slow_commits(share_of_slow):
    """Returns the buckets of 100 commits a minute, of which so many take longer than half a second."""
    counts = {"0.25": 100 - share_of_slow, "0.5": 100 - share_of_slow, "1": 100, "+Inf": 100}
    return {f"signalbox_commit_duration_seconds_bucket{{le={bound}}}": rising(count, 30)
            for bound, count in counts.items()}


def runs(box, failed, succeeded, minutes=90):
    """Returns the counters of runs that ended, from the minutes and totals given."""
    return {f"signalbox_events_total{{box={box},type=RunFailed}}": steps(failed, minutes),
            f"signalbox_events_total{{box={box},type=RunSucceeded}}": steps(succeeded, minutes)}


SITUATIONS = [
    Situation("nothing is wrong on two boxes, from their first minute on",
              {**healthy("a", 14 * HOUR), **healthy("b", 14 * HOUR)},
              {minute: [] for minute in range(1, 14 * HOUR, 13)}),

    Situation("one of two boxes doesn't answer any more",
              {"up": [1] * 10 + [0] * 10, "up{box=b}": [1] * 20},
              {11: [], 13: ["SignalboxDown a"]}),
    Situation("a box misses one scrape", {"up": [1, 1, 0, 1, 1, 1]}, {2: [], 3: [], 5: []}),

    Situation("a crash loop between scrapes: two of them see the server",
              {"signalbox_incarnation": [4] * 10 + [FAILED, FAILED, 19, FAILED, FAILED, FAILED, 43]
               + [FAILED] * 3,
               "up": [1] * 10 + [0, 0, 1, 0, 0, 0, 1] + [0] * 3,
               "signalbox_incarnation{box=b}": [4] * 20},
              {9: [], 12: ["SignalboxRestarts a"], 14: ["SignalboxRestarts a"],
               19: ["SignalboxDown a", "SignalboxRestarts a"]}),
    Situation("a slow crash loop: each scrape sees another life",
              {"signalbox_incarnation": [1, 1, 2, 3, 4, 4, 4]}, {3: [], 4: ["SignalboxRestarts a"]}),
    Situation("two upgrades in half an hour, and one an hour later",
              {"signalbox_incarnation": [7] * 5 + [8] * 10 + [9] * 60 + [10] * 10},
              {minute: [] for minute in range(0, 80, 5)}),
    Situation("a box is scraped for the first time in its hundredth life",
              {"signalbox_incarnation": [100] * 10}, {0: [], 5: []}),
    Situation("the data directory is replaced by a new one",
              {"signalbox_incarnation": [40] * 10 + [1] * 30}, {10: [], 20: [], 35: []}),
    Situation("four boxes are upgraded once each",
              {f"signalbox_incarnation{{box={box}}}": [1] * 10 + [2] * 10 for box in "abcd"}, {15: []}),

    Situation("a service is paused for an upgrade, and another one is forgotten",
              {"signalbox_paused": [0] * 5 + [1] * 60 + [0] * 240,
               "signalbox_paused{box=b}": [0] * 5 + [1] * 300},
              {60: [], 240: [], 250: ["SignalboxPaused b"], 300: ["SignalboxPaused b"]}),

    Situation("there is no space left on one box",
              {"signalbox_storage_full": [0] * 5 + [1] * 5, "signalbox_storage_full{box=b}": [0] * 10},
              {4: [], 5: ["SignalboxStorageFull a"]}),

    Situation("the database of a cell fails over, and another one stays away",
              {"signalbox_cell_log_failing": [0] * 5 + [1] + [0] * 10,
               "signalbox_cell_log_failing{box=b}": [0] * 5 + [1] * 10},
              {6: [], 10: ["SignalboxCellLogFailing b"]}),

    Situation("a server of a cell can't drop what the cell dropped",
              {"signalbox_cell_drop_failing": [0] * 5 + [1] * 5, "signalbox_cell_drop_failing{box=b}": [0] * 10},
              {4: [], 5: ["SignalboxCellDropFailing a"]}),

    Situation("a redaction of a cell is finished in minutes, and another one isn't",
              {"signalbox_cell_redactions_due": [0] * 5 + [1] * 10 + [0] * 70,
               "signalbox_cell_redactions_due{box=b}": [0] * 5 + [1] * 80},
              {14: [], 60: [], 70: ["SignalboxCellRedactionUnfinished b"]}),

    Situation("a cell is upgraded in an hour, and another one stays with two versions",
              {"signalbox_cell_versions": [1] * 10 + [2] * HOUR + [1] * (25 * HOUR),
               "signalbox_cell_versions{box=b}": [1] * 10 + [2] * (26 * HOUR)},
              {5: [], 2 * HOUR: [], 24 * HOUR: [], 25 * HOUR: ["SignalboxCellVersionsDiffer b"]}),

    Situation("a young series in which a build takes 29 GB, and 71 GB stay free",
              {"signalbox_data_disk_available_bytes": falling(100 * GIGABYTE, GIGABYTE, 240, 71 * GIGABYTE)},
              {minute: [] for minute in range(1, 240, 7)}),
    Situation("a disk fills up slowly on one of two boxes",
              {"signalbox_data_disk_available_bytes": falling(150 * GIGABYTE, 150 * GIGABYTE / 1000, 480),
               "signalbox_data_disk_available_bytes{box=b}": [20 * GIGABYTE] * 480},
              {60: [], 240: [], 329: [], 400: ["SignalboxDiskFillsUp a"]}),
    Situation("a young disk is full in two hours",
              {"signalbox_data_disk_available_bytes": falling(60 * GIGABYTE, GIGABYTE / 2, 110)},
              {30: [], 60: [], 80: ["SignalboxDiskFillsUp a"], 105: ["SignalboxDiskFillsUp a"]}),
    Situation("much was written some hours ago, and nothing since",
              {"signalbox_data_disk_available_bytes":
               [300 * GIGABYTE] * 240 + falling(300 * GIGABYTE, 2 * GIGABYTE, 240, 120 * GIGABYTE)},
              {420: [], 450: [], 475: []}),
    Situation("a disk fills up, and somebody makes room",
              {"signalbox_data_disk_available_bytes":
               falling(150 * GIGABYTE, 150 * GIGABYTE / 1000, 420) + [200 * GIGABYTE] * 120},
              {400: ["SignalboxDiskFillsUp a"], 500: []}),

    Situation("the disk doesn't take the read models' rows",
              {"signalbox_read_model_disk_failing": [0] * 3 + [1] * 20,
               "signalbox_read_model_lag_events": [0] * 3 + [7] * 20},
              {7: [], 9: ["SignalboxReadModelsBehind a"]}),
    Situation("the read models are far behind on one box, a little on another",
              {"signalbox_read_model_lag_events": [200_000] * 10,
               "signalbox_read_model_lag_events{box=b}": [90_000] * 10},
              {4: [], 6: ["SignalboxReadModelsBehind a"]}),

    Situation("two commits in a hundred take longer than half a second",
              slow_commits(2), {9: [], 20: ["SignalboxSlowCommits a"]}),
    Situation("no commit in a hundred does", slow_commits(0), {20: [], 29: []}),

    Situation("a run has used up its budget and waits",
              {"signalbox_attention_items{kind=budget}": [0] * 5 + [1] * 90,
               "signalbox_waiting_stations{reason=backoff}": [9] * 95,
               "signalbox_attention_items{box=b,kind=budget}": [0] * 95},
              {30: [], 64: [], 66: ["SignalboxNeedsAnOperator a"]}),
    Situation("an approval is given within the hour, and the next one is asked for",
              {"signalbox_attention_items{kind=approval}": [1] * 50 + [0] + [1] * 50}, {60: [], 100: []}),
    *(Situation(f"an item of the kind {kind} waits for longer than an hour",
                {"signalbox_attention_items{kind=approval}": [0] * 90,
                 f"signalbox_attention_items{{kind={kind}}}": [2] * 90},
                {59: [], 61: ["SignalboxNeedsAnOperator a"]})
      for kind in ("approval", "lost_job", "blocked_card", "failed_card", "halted_loop", "refused_policy",
                   "held_project")),
    Situation("two kinds wait, one after the other, for longer than an hour: that is one alert",
              {"signalbox_attention_items{kind=approval}": [1] * 40 + [0] * 50,
               "signalbox_attention_items{kind=blocked_card}": [0] * 30 + [3] * 60},
              {59: [], 61: ["SignalboxNeedsAnOperator a"]}),
    Situation("somebody has paused a run",
              {"signalbox_attention_items{kind=paused_run}": [1] * 90}, {80: []}),
    Situation("cards are blocked that the service retries",
              {"signalbox_cards{status=blocked}": [4] * 90,
               "signalbox_attention_items{kind=blocked_card}": [0] * 90}, {80: []}),
    Situation("runs wait for what comes by itself",
              {f"signalbox_waiting_stations{{reason={reason}}}": [5] * 90
               for reason in ("backoff", "deferred", "stalled", "quota")}, {80: []}),

    Situation("most runs fail on one box, while another one does well",
              {**runs("a", {20: 2, 30: 3}, {25: 1}), **runs("b", {}, {10: 40, 20: 80, 40: 100})},
              {20: [], 34: [], 36: ["SignalboxFailures a"], 75: ["SignalboxFailures a"]}),
    Situation("two runs fail on each of three boxes",
              {name: values for box in "abc" for name, values in runs(box, {20: 1, 30: 2}, {}).items()},
              {minute: [] for minute in range(20, 80, 10)}),
    Situation("two runs fail in the first minute of a young series, which extrapolation makes three",
              {"signalbox_events_total{type=RunFailed}": [5] + [7] * 30,
               "signalbox_events_total{type=RunSucceeded}": [0] * 31},
              {minute: [] for minute in range(0, 30)}),
    Situation("half of the runs fail",
              runs("a", {20: 2, 30: 3}, {25: 1, 31: 3}), {minute: [] for minute in range(35, 80, 5)}),
    Situation("failures from before a restart count, too",
              {"signalbox_events_total{type=RunFailed}": [5] * 20 + [7] * 20 + [0] * 2 + [1] * 30,
               "signalbox_events_total{type=RunSucceeded}": [9] * 40 + [0] * 32},
              {35: [], 50: ["SignalboxFailures a"]}),

    Situation("the heartbeat of one box hangs, and clients' loops tick on",
              {"signalbox_loop_overdue_seconds{loop=heartbeat}": [0] * 20 + rising(60, 60),
               "signalbox_events_total{type=TickStarted}": rising(3, 80),
               "signalbox_loop_overdue_seconds{box=b,loop=heartbeat}": [0] * 80,
               "signalbox_events_total{box=b,type=TickStarted}": rising(1, 80)},
              {45: [], 52: [], 60: ["SignalboxHeartbeatStopped a"]}),
    Situation("loops with a schedule of six hours are in time",
              {"signalbox_loop_overdue_seconds{loop=heartbeat}": [0] * 360,
               "signalbox_events_total{type=TickStarted}": [0] * 360,
               "signalbox_events_total{type=TickSkipped}": [0] * 360},
              {minute: [] for minute in range(0, 360, 20)}),

    Situation("the collector refuses spans",
              {"signalbox_trace_spans_failed_total": [0] * 5 + [12] * 40,
               "signalbox_trace_spans_failed_total{box=b}": [12] * 45},
              {10: [], 20: ["SignalboxTracesLost a"]}),
    Situation("the collector is away", {"signalbox_trace_lag_events": [300_000] * 20},
              {9: [], 11: ["SignalboxTracesLost a"]}),

    Situation("a file of the log is damaged", {"signalbox_log_damaged": [0] * 5 + [1] * 10},
              {4: [], 5: [], 7: ["SignalboxLogDamaged a"]}),
    Situation("a retention failed", {"signalbox_retention_failed": [1] * 10},
              {4: [], 6: ["SignalboxRetentionFailed a"]}),
    Situation("a retention of files failed", {"signalbox_file_retention_failed": [1] * 10},
              {4: [], 6: ["SignalboxFileRetentionFailed a"]}),
    Situation("a run root can't be written", {"signalbox_run_root_failures": [2] * 20},
              {14: [], 16: ["SignalboxRunRootsFailing a"]}),
    Situation("a run root couldn't be written for some minutes",
              {"signalbox_run_root_failures": [2] * 10 + [0] * 20}, {12: [], 20: []}),

    Situation("snapshots can't be written, and the store of artifacts failed for some minutes",
              {"signalbox_service_conditions{condition=disk_failure}": [0] * 5 + [1] * 20,
               "signalbox_service_conditions{box=b,condition=artifact_store}": [1] * 10 + [0] * 15},
              {4: [], 12: [], 21: ["SignalboxServiceCondition a"]}),
    Situation("what has a rule of its own makes no second alert",
              {f"signalbox_service_conditions{{condition={each}}}": [1] * 40
               for each in ("certificate", "cell", "file_retention", "loop", "retention", "run_root", "settings",
                            "storage_full")}, {20: [], 39: []}),

    # Time begins at 0 in these tests.
    Situation("the certificate expires in half an hour",
              {"signalbox_tls_certificate_not_after_timestamp_seconds": [1800] * 60},
              {29: [], 31: ["SignalboxCertificateExpired a"]}),
    Situation("the certificate ends in ten days, on another box in thirty",
              {"signalbox_tls_certificate_not_after_timestamp_seconds": [10 * 86400] * 90,
               "signalbox_tls_certificate_not_after_timestamp_seconds{box=b}": [30 * 86400] * 90},
              {59: [], 61: ["SignalboxCertificateEnds a"]}),
    Situation("there is no certificate",
              {"signalbox_tls_certificate_not_after_timestamp_seconds": [0] * 90}, {1: [], 80: []}),

    Situation("a reload is refused", {"signalbox_reload_refused": [1] * 10},
              {4: [], 6: ["SignalboxReloadRefused a"]}),

    Situation("a client opens more connections than it may, for long",
              {"signalbox_connections_dropped_total{reason=caller_full}": rising(20, 60),
               "signalbox_connections_dropped_total{reason=full}": [0] * 60,
               "signalbox_connections_dropped_total{box=b,reason=caller_full}": rising(2, 60)},
              {15: [], 45: ["SignalboxConnectionsDropped a"]}),
    Situation("a burst of connections, once",
              {"signalbox_connections_dropped_total{reason=evicted}": [0] * 5 + [500] * 60},
              {minute: [] for minute in range(1, 60, 3)}),
]

# What an alert tells, of those whose texts have a value: minute, alert, series, labels, annotations.
TEXTS = [
    (14, "SignalboxRestarts", {"signalbox_incarnation": [4] * 10 + [11] * 10}, {},
     {"summary": "The service was started 7 times in half an hour"}),
    (50, "SignalboxHeartbeatStopped", {"signalbox_loop_overdue_seconds{loop=prune}": rising(60, 60)},
     {"loop": "prune"}, {"summary": "The loop prune was due 50m 0s ago and hasn't ticked since"}),
    # `prune` frees memory and no disk.
    (105, "SignalboxDiskFillsUp",
     {"signalbox_data_disk_available_bytes": falling(80 * GIGABYTE, GIGABYTE // 2, 110)}, {},
     {"summary": "The disk of the data directory is full in less than half a day",
      "next": "df -h; signalbox loop list; signalbox loop trigger file_retention or retention, if it is listed"}),
    (10, "SignalboxDown", {"up": [0] * 20}, {},
     {"summary": "box-a gives no metrics: it is down, or refuses the scraper's token"}),
]
