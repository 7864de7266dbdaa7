// The file retention as clients see it: its part of `server.status`, and `loop.plan_files`.
#include "server/rpc/methods/file_retention_views.h"

#include "server/rpc/responder.h"
#include "server/scheduler/file_retention.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The names of files, which reasons have, are any bytes.
json::array kept_json(const FileRetentionReport& report) {
  json::array kept;
  for (const KeptFiles& each : report.kept) {
    kept.push_back({{"run_id", to_string(each.run_id)},
                    {"what", with_replacements(each.what)},
                    {"reason", with_replacements(each.reason)}});
  }
  return kept;
}

json::array stored_json(const FileRetentionReport& report) {
  json::array stored;
  for (const StoredFiles& each : report.stored) {
    stored.push_back({{"folder", each.name}, {"bytes", each.bytes}, {"entries", each.entries}});
  }
  return stored;
}

json::array refs_json(const FileRetentionReport& report) {
  json::array repositories;
  for (const StoredRefs& each : report.refs) {
    json::object row{{"repository", each.repository},
                     {"branches", each.branches},
                     {"rescue_refs", each.rescue_refs},
                     {"remote_branches", each.remote_branches}};
    if (each.oldest_ns != 0) row["oldest_at"] = format_time(each.oldest_ns);
    if (!each.trouble.empty()) row["trouble"] = each.trouble;
    repositories.push_back(std::move(row));
  }
  return repositories;
}

json::object counts_json(const FileRetentionReport& report) {
  json::object counts;
  counts["at"] = format_time(report.at_ns);
  counts["runs_removed"] = report.runs_removed;
  counts["artifacts_removed"] = report.artifacts_removed;
  counts["bytes_removed"] = report.bytes_removed;
  counts["refs_removed"] = report.refs_removed;
  if (report.is_partial) counts["is_partial"] = true;
  if (!report.error.empty()) counts["error"] = report.error;
  return counts;
}

json::object plan_json(const FileRetentionReport& report) {
  json::object plan = counts_json(report);
  json::array runs;
  for (const ExpiredFiles& each : report.removed) {
    runs.push_back(
        {{"run_id", to_string(each.run_id)}, {"run_root", each.root}, {"bytes", each.bytes}});
  }
  plan["runs"] = std::move(runs);
  json::array refs;
  for (const RemovedRef& each : report.removed_refs) {
    json::object row{{"repository", each.repository}, {"ref", each.name}, {"commit", each.commit}};
    if (!each.remote.empty()) row["remote"] = each.remote;
    refs.push_back(std::move(row));
  }
  plan["removed_refs"] = std::move(refs);
  plan["refs"] = refs_json(report);
  plan["kept_total"] = report.kept_total;
  plan["kept"] = kept_json(report);
  plan["stored"] = stored_json(report);
  return plan;
}

json::object file_retention_status(const FileRetention& retention) {
  json::object object;
  object["files_older_than_ms"] = retention.settings().older_than_ms;
  object["files_failed_runs_ms"] = retention.settings().failed_runs_ms;
  const auto& branches_ms = retention.settings().branches_ms;
  object["files_branches_ms"] = branches_ms ? json::value(*branches_ms) : json::value(nullptr);
  const auto due_ns = retention.loop().due_ns();
  object["next_due_at"] = due_ns ? json::value(format_time(*due_ns)) : json::value(nullptr);
  json::value& last = object["last"];
  if (retention.latest()) last = counts_json(*retention.latest());
  json::value& measured = object["measured"];
  if (retention.measured()) {
    const FileRetentionReport& report = *retention.measured();
    measured = {{"at", format_time(report.at_ns)},
                {"kept_total", report.kept_total},
                {"kept", kept_json(report)},
                {"stored", stored_json(report)},
                {"refs", refs_json(report)}};
  }
  return object;
}

}  // namespace

StatusPart status_of(const FileRetention& retention) {
  return [&retention](json::object& status) {
    status["file_retention"] = file_retention_status(retention);
  };
}

Method plan_files_method(const PlanFiles& plan_files) {
  return {"loop.plan_files", false, Role::operator_, params_of<NoParams>(),
          [plan_files](Api&, Call& call) {
            if (!plan_files) {
              return call.responder.reject(
                  {ErrorCode::LOOP_NOT_FOUND,
                   "files aren't removed here: the setting retention.files_older_than is missing",
                   {{"loop", std::string("file_retention")}},
                   {"signalbox loop list"}});
            }
            const bool accepted =
                plan_files([responder = call.responder](const FileRetentionReport& report) {
                  responder.result(plan_json(report), report.position);
                });
            if (accepted) return;
            call.responder.reject({ErrorCode::OVERLOADED,
                                   "others wait for a plan already",
                                   {{"file_retention_rounds_max",
                                     static_cast<std::int64_t>(limits::file_retention_rounds_max)}},
                                   {"signalbox loop plan"}});
          }};
}

}  // namespace signalbox
