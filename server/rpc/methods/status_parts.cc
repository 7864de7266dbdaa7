// What the followers and the retention of records add to the answer of `server.status`.
#include "domain/nanoseconds.h"
#include "server/engine/engine.h"
#include "server/followers/log_check.h"
#include "server/followers/projector.h"
#include "server/followers/run_root/run_root_writer.h"
#include "server/followers/snapshotter.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/platform/service_artifacts.h"
#include "server/rpc/api.h"
#include "server/rpc/methods/families.h"
#include "server/runners/runner_registry.h"
#include "server/runners/runner_shortage.h"
#include "server/scheduler/redactions.h"
#include "server/scheduler/retention_loop.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t run_root_failures_shown = 16;

json::object retention_status(const RetentionLoop& retention) {
  json::object object;
  object["older_than_ms"] = retention.settings().older_than_ms;
  object["failed_runs_ms"] = retention.settings().failed_runs_ms;
  object["archive"] = retention.settings().archives.string();
  const auto due_ns = retention.loop().due_ns();
  object["next_due_at"] = due_ns ? json::value(format_time(*due_ns)) : json::value(nullptr);
  json::value& last = object["last"];
  const auto& latest = retention.latest();
  if (!latest) return object;
  json::object& outcome = last.emplace_object();
  outcome["at"] = format_time(latest->at_ns);
  if (latest->failed()) {
    outcome["error"] = latest->error;
    outcome["next_commands"] =
        json::array(latest->next_commands.begin(), latest->next_commands.end());
    return object;
  }
  outcome["dropped_at"] = latest->dropped_at;
  outcome["horizon"] = latest->horizon;
  outcome["records_dropped"] = latest->records_dropped;
  outcome["archive"] = latest->archive;
  return object;
}

}  // namespace

void add_disk_sources(const Api& api, json::object& status) {
  json::object& failures = status["disk_failures"].emplace_object();
  if (const auto held = api.projector.held()) failures["read_models"] = *held;
}

StatusPart status_of(const LogCheck& log_check) {
  return [&log_check](json::object& status) {
    const auto trouble = log_check.trouble();
    if (trouble) status.at("disk_failures").as_object()["log"] = *trouble;
  };
}

StatusPart status_of(const Snapshotter& snapshotter) {
  return [&snapshotter](json::object& status) {
    const auto failure = snapshotter.failure();
    if (failure) status.at("disk_failures").as_object()["snapshots"] = *failure;
  };
}

StatusPart status_of(const RunRootWriter& run_roots) {
  return [&run_roots](json::object& status) {
    const auto failures = run_roots.failures(run_root_failures_shown);
    status["run_roots_position"] = run_roots.written();
    status["run_root_failures"] = json::array(failures.begin(), failures.end());
  };
}

StatusPart status_of(const ServiceArtifacts& artifacts, const std::string& store) {
  return [&artifacts, store](json::object& status) {
    if (artifacts.objects() == nullptr) return;
    json::object& shown = status["artifact_store"].emplace_object();
    shown["store"] = store;
    json::value& trouble = shown["trouble"];
    if (const auto found = artifacts.objects()->trouble()) {
      trouble = {{"since", format_time(found->since_ns)}, {"message", found->error.message}};
    }
  };
}

// For as long as a lease after the start, runners may be there that haven't reported yet. What
// waits isn't known while the log is away, and runners report to the active server of a cell.
StatusPart status_of(const Api& api, const RunnerRegistry& runners) {
  return [&api, &runners](json::object& status) {
    if (api.engine.is_overdue() || (api.refuses_commands && api.refuses_commands())) return;
    json::value& trouble = status["runners"].emplace_object()["trouble"];
    const std::int64_t now_ns = api.clock.wall_ns();
    if (now_ns - api.facts.started_at_ns < limits::runner_lease_ms_default * ns_per_ms) return;
    const auto found = find_runner_shortage(api.engine.world(), api.log,
                                            runners.list(api.clock.monotonic_ns()), now_ns);
    if (!found) return;
    json::object& shown = trouble.emplace_object();
    if (found->since_ns != 0) shown["since"] = format_time(found->since_ns);
    shown["message"] = found->message;
    shown["next_commands"] = json::array(found->next_commands.begin(), found->next_commands.end());
  };
}

StatusPart status_of(const RetentionLoop& retention) {
  return [&retention](json::object& status) { status["retention"] = retention_status(retention); };
}

StatusPart status_of(const Redactions& redactions) {
  return [&redactions](json::object& status) {
    const auto& unfinished = redactions.unfinished();
    if (!unfinished) return;
    // Its repetition writes nothing, so it doesn't need the first one's reason.
    const std::string next = unfinished->position == 0 ? "signalbox cell status"
                                                       : "signalbox audit redact " +
                                                             std::to_string(unfinished->position) +
                                                             " --reason 'finish its files'";
    status["redaction"] = {
        {"unfinished", {{"error", unfinished->error}, {"next_commands", json::array{next}}}}};
  };
}

}  // namespace signalbox
