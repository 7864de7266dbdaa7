#include "server/rpc/service_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/nanoseconds.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/followers/traces/trace_exporter.h"
#include "server/platform/program_version.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/enum_gauges.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/state_metrics.h"
#include "server/scheduler/file_retention.h"
#include "server/scheduler/retention_outcome.h"
#include "server/scheduler/service_loops.h"
#include "store/codec.h"

namespace signalbox {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

// From the sync of a fast disk to that of a stalled one.
const Histogram::BucketBoundaries seconds_buckets = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
const Histogram::BucketBoundaries events_buckets = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  file >> size_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  return error ? 0 : static_cast<double>(std::distance(begin(all), end(all)));
}

double processor_seconds() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

}  // namespace

struct ServiceMetrics::Families {
  Family<Gauge>& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  Family<Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Family<Histogram>& histogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
  static void set(Family<Gauge>& family, double value) { set_gauge(family, value); }

  void measure_process(const Sources& sources);
  void measure_cell(const std::optional<CellView>& cell);
  void measure_traces(const Sources& sources);
  void measure_loops(const ServiceLoops& loops);
  void measure_retention(const Sources& sources);
  void measure_files(const FileRetentionReport* report);
  void measure_settings(const Sources& sources);
  void measure_connections(const ConnectionFigures& figures);

  prometheus::Registry registry;
  StateMetrics state;
  Family<Counter>& events =
      counter("signalbox_events_total", "Events appended to the log, by type");
  // Caches: finding a counter by its labels would cost more than all other work for an event.
  boost::unordered_flat_map<std::uint16_t, Counter*> by_number;
  std::map<ErrorClass, Counter*> by_class;
  Family<Counter>& failures = counter("signalbox_attempt_failures_total",
                                      "Attempts of stations that failed, by class of the error");
  Histogram& commit_seconds =
      histogram("signalbox_commit_duration_seconds", "Writing and syncing a batch of commits")
          .Add({}, seconds_buckets);
  Histogram& commit_events =
      histogram("signalbox_commit_batch_events", "Events in a batch of commits")
          .Add({}, events_buckets);
  Family<Gauge>& build = gauge("signalbox_build_info", "1, with the version");
  Family<Gauge>& started = gauge("process_start_time_seconds", "Start of the process, UTC");
  Counter& processor =
      counter("process_cpu_seconds_total", "Processor time of the process").Add({});
  Family<Gauge>& memory =
      gauge("process_resident_memory_bytes", "Memory of the process that is in RAM");
  Family<Gauge>& descriptors = gauge("process_open_fds", "Open file descriptors");
  Family<Gauge>& position = gauge("signalbox_log_position", "Position of the last durable event");
  Family<Gauge>& lag = gauge("signalbox_read_model_lag_events",
                             "Durable events that the read models don't show yet");
  Family<Gauge>& full = gauge("signalbox_storage_full", "1 while writes are refused for space");
  Family<Gauge>& cell_active =
      gauge("signalbox_cell_active", "1 where this server takes the commands of its cell");
  Family<Gauge>& cell_epoch =
      gauge("signalbox_cell_epoch", "How often a server took the cell; 0: in no cell");
  Family<Gauge>& cell_level =
      gauge("signalbox_cell_feature_level", "Which events the cell may write; 0: in no cell");
  Family<Gauge>& cell_versions =
      gauge("signalbox_cell_versions", "Versions of the servers that report to the cell");
  Family<Gauge>& cell_failing =
      gauge("signalbox_cell_log_failing",
            "1 while this server can't use its cell's log, or wouldn't take the cell");
  Family<Gauge>& cell_waiting =
      gauge("signalbox_cell_append_waiting_seconds",
            "For how long an append has waited for the cell's log; 0: none waits");
  Family<Gauge>& cell_drop_failing =
      gauge("signalbox_cell_drop_failing", "1 while this server can't drop what its cell dropped");
  Family<Gauge>& cell_redactions =
      gauge("signalbox_cell_redactions_due", "Redactions of the cell that aren't finished here");
  Family<Gauge>& cell_log_begin =
      gauge("signalbox_cell_log_begin",
            "Position after which the log in the cell's database begins, at the active server");
  Family<Gauge>& held_rows = gauge("signalbox_read_model_disk_failing",
                                   "1 while the disk doesn't take the read models' rows");
  Family<Gauge>& log_damaged =
      gauge("signalbox_log_damaged", "1 while a file of the log is damaged or can't be read");
  Family<Gauge>& run_root_failures =
      gauge("signalbox_run_root_failures", "Files of run roots that can't be written at present");
  Family<Gauge>& rebuilding = gauge("signalbox_projection_rebuilding",
                                    "1 while damaged read models are computed from the log again");
  Counter& rebuilds = counter("signalbox_projection_rebuilds_total",
                              "Times that damaged read models were computed from the log again")
                          .Add({});
  Family<Gauge>& space =
      gauge("signalbox_data_disk_available_bytes", "Space left where the data directory is");
  Family<Gauge>& loops_overdue =
      gauge("signalbox_loop_overdue_seconds",
            "Time since a loop of the service was due for a tick that hasn't begun");
  Family<Gauge>& claims = gauge("signalbox_waiting_claims", "Workers that wait for a station");
  Counter& spans_exported =
      counter("signalbox_trace_spans_exported_total", "Spans that the collector took").Add({});
  Counter& spans_failed = counter("signalbox_trace_spans_failed_total",
                                  "Spans that were dropped, and runs that can't be read for one")
                              .Add({});
  Family<Gauge>& trace_lag =
      gauge("signalbox_trace_lag_events", "Durable events whose spans weren't sent yet");
  Family<Gauge>& retention_failed =
      gauge("signalbox_retention_failed", "1 where the latest retention failed");
  Family<Gauge>& retention_dropped = gauge("signalbox_retention_last_dropped_timestamp_seconds",
                                           "When records were dropped last, UTC; 0: never");
  Family<Gauge>& stored_files =
      gauge("signalbox_stored_files_bytes", "Files of runs in the data directory, by folder");
  Family<Gauge>& kept_files =
      gauge("signalbox_kept_files", "Files of old runs, and branches, that are still needed");
  Family<Gauge>& files_failed =
      gauge("signalbox_file_retention_failed", "1 where the latest file retention failed");
  Family<Gauge>& reload_refused =
      gauge("signalbox_reload_refused", "1 where the latest reload of the settings was refused");
  Family<Gauge>& certificate_end =
      gauge("signalbox_tls_certificate_not_after_timestamp_seconds",
            "End of the certificate that TLS uses, UTC; 0: there is no TLS");
  Family<Gauge>& conditions =
      gauge("signalbox_service_conditions", "What in the service itself needs a person, by kind");
  Family<Gauge>& subscriptions =
      gauge("signalbox_subscriptions", "Connections that follow the events");
  Family<Gauge>& connections =
      gauge("signalbox_connections", "Open connections, by whose they are");
  Family<Gauge>& buffered = gauge("signalbox_connection_buffered_bytes",
                                  "Incomplete requests and unread answers of all connections");
  Family<Counter>& dropped = counter("signalbox_connections_dropped_total",
                                     "Connections that the server refused or closed, by why");
};

ServiceMetrics::ServiceMetrics(Sources sources, std::int64_t started_at_ns)
    : sources_(std::move(sources)), families_(std::make_unique<Families>()) {
  families_->build.Add({{"version", program_version()}}).Set(1);
  Families::set(families_->started,
                static_cast<double>(started_at_ns) / static_cast<double>(ns_per_s));
  // A type that hasn't occurred is reported as 0: otherwise a rate would miss its first occurrence.
  for (const EventTag& tag : event_tags()) {
    families_->by_number[tag.number] = &families_->events.Add({{"type", std::string(tag.name)}});
  }
  for (const auto& [error_class, none] : zero_for_each<ErrorClass>()) {
    families_->by_class[error_class] =
        &families_->failures.Add({{"error_class", name_of_enumerator(error_class)}});
  }
}

ServiceMetrics::~ServiceMetrics() = default;

void ServiceMetrics::apply(const CommitOutcome& outcome) {
  std::size_t events = 0;
  for (const Commit& commit : outcome.batch) {
    events += commit.size();
    for (const Record& record : commit) {
      families_->by_number.at(tag_of(record.event).number)->Increment();
      const Failure* failure = nullptr;
      if (const auto* failed = event_as<StationAttemptFailed>(record.event)) {
        failure = &failed->failure;
      } else if (const auto* ended = event_as<StationFailed>(record.event)) {
        failure = &ended->failure;
      } else if (const auto* timed_out = event_as<StationTimedOut>(record.event)) {
        failure = &timed_out->failure;
      }
      if (failure == nullptr) continue;
      families_->by_class.at(failure->error_class)->Increment();
    }
  }
  families_->commit_events.Observe(static_cast<double>(events));
  families_->commit_seconds.Observe(static_cast<double>(outcome.took_ns) /
                                    static_cast<double>(ns_per_s));
}

// While the log is away and something waits for it, nobody knows yet what the state is.
std::string ServiceMetrics::text() {
  Families& families = *families_;
  families.measure_process(sources_);
  families.measure_cell(sources_.cell());
  families.measure_traces(sources_);
  families.measure_loops(sources_.loops);
  families.measure_retention(sources_);
  families.measure_files(sources_.files ? sources_.files() : nullptr);
  Families::set(families.files_failed, sources_.files_failed() ? 1 : 0);
  families.measure_settings(sources_);
  families.measure_connections(sources_.connections());
  auto conditions = zero_for_each<ServiceCondition>();
  for (const auto& [condition, count] : sources_.conditions()) conditions[condition] = count;
  set_gauges(families.conditions, "condition", conditions);
  Families::set(families.claims, static_cast<double>(sources_.claims.size()));
  Families::set(families.subscriptions, static_cast<double>(sources_.feed.size()));
  std::vector<prometheus::MetricFamily> metrics = families.registry.Collect();
  if (!sources_.engine.is_overdue()) {
    const auto state = families.state.measure(sources_.engine.world(), sources_.attention());
    metrics.insert(metrics.end(), state.begin(), state.end());
  }
  return prometheus::TextSerializer().Serialize(metrics);
}

void ServiceMetrics::Families::measure_process(const Sources& sources) {
  const Position durable = sources.engine.durable_position();
  set(position, static_cast<double>(durable));
  const Position applied = sources.projector.applied();
  set(lag, static_cast<double>(durable - std::min(applied, durable)));
  set(full, sources.engine.storage_full() ? 1 : 0);
  set(held_rows, sources.projector.held() ? 1 : 0);
  set(log_damaged, sources.log_damaged() ? 1 : 0);
  set(run_root_failures, static_cast<double>(sources.run_root_failures()));
  set(rebuilding, sources.projector.rebuilding() ? 1 : 0);
  rebuilds.Increment(static_cast<double>(sources.projector.rebuilds()) - rebuilds.Value());
  std::error_code error;
  const auto found = std::filesystem::space(sources.data_directory, error);
  if (!error) set(space, static_cast<double>(found.available));
  processor.Increment(processor_seconds() - processor.Value());
  set(memory, static_cast<double>(resident_bytes()));
  set(descriptors, open_descriptors());
}

void ServiceMetrics::Families::measure_cell(const std::optional<CellView>& cell) {
  set(cell_active, cell && cell->role == CellRole::active ? 1 : 0);
  set(cell_epoch, cell ? static_cast<double>(cell->epoch) : 0);
  set(cell_level, cell ? static_cast<double>(cell->feature_level) : 0);
  set(cell_versions, cell ? static_cast<double>(count_versions(cell->servers)) : 0);
  set(cell_failing, cell && !cell->trouble.empty() ? 1 : 0);
  set(cell_drop_failing, cell && !cell->undropped_because.empty() ? 1 : 0);
  set(cell_redactions, cell ? static_cast<double>(cell->redactions_due.size()) : 0);
  set(cell_log_begin, cell ? static_cast<double>(cell->log_begin.value_or(0)) : 0);
  set(cell_waiting, cell ? static_cast<double>(cell->append_waiting_ms) / 1000 : 0);
}

void ServiceMetrics::Families::measure_traces(const Sources& sources) {
  const bool active = sources.traces.active();
  const auto figures = active ? sources.traces.figures() : TraceExporter::Figures{};
  spans_exported.Increment(static_cast<double>(figures.exported) - spans_exported.Value());
  spans_failed.Increment(static_cast<double>(figures.failed) - spans_failed.Value());
  const Position durable = sources.engine.durable_position();
  set(trace_lag, active ? static_cast<double>(durable - std::min(figures.through, durable)) : 0);
}

void ServiceMetrics::Families::measure_loops(const ServiceLoops& loops) {
  for (const ScheduledLoop* loop : loops.all()) {
    loops_overdue.Add({{"loop", loop->name()}})
        .Set(static_cast<double>(loop->overdue_ns()) / static_cast<double>(ns_per_s));
  }
}

void ServiceMetrics::Families::measure_connections(const ConnectionFigures& figures) {
  auto open = zero_for_each<CallerKind>();
  for (const auto& [kind, count] : figures.open) open[kind] = static_cast<double>(count);
  set_gauges(connections, "caller", open);
  set(buffered, static_cast<double>(figures.buffered_bytes));
  auto totals = zero_for_each<DropReason>();
  for (const auto& [reason, total] : figures.dropped) totals[reason] = static_cast<double>(total);
  for (const auto& [reason, total] : totals) {
    Counter& counter_of_reason = dropped.Add({{"reason", name_of_enumerator(reason)}});
    counter_of_reason.Increment(total - counter_of_reason.Value());
  }
}

void ServiceMetrics::Families::measure_retention(const Sources& sources) {
  set(retention_failed, sources.retention_failed() ? 1 : 0);
  const auto latest = latest_retention(sources.log);
  set(retention_dropped,
      latest ? static_cast<double>(latest->at_ns) / static_cast<double>(ns_per_s) : 0);
}

void ServiceMetrics::Families::measure_files(const FileRetentionReport* report) {
  set(kept_files, report != nullptr ? static_cast<double>(report->kept_total) : 0);
  for (const char* folder : {"runs", "jobs", "workspaces", "artifacts"}) {
    double bytes = 0;
    if (report != nullptr) {
      for (const StoredFiles& each : report->stored) {
        if (each.name == folder) bytes = static_cast<double>(each.bytes);
      }
    }
    stored_files.Add({{"folder", folder}}).Set(bytes);
  }
}

void ServiceMetrics::Families::measure_settings(const Sources& sources) {
  set(reload_refused, sources.reload_refused() ? 1 : 0);
  set(certificate_end,
      static_cast<double>(sources.certificate_not_after_ns()) / static_cast<double>(ns_per_s));
}

}  // namespace signalbox
