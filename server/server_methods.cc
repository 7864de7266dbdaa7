// What the methods of the protocol get of the service: the state, the queues in which their callers
// wait, the pools for what may block, and what queries show beside the state.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/followers/run_root/found_file.h"
#include "server/git/pinned_repository.h"
#include "server/limits.h"
#include "server/project_check.h"
#include "server/rpc/methods/families.h"
#include "server/server.h"
#include "store/log_tiles.h"

namespace signalbox {

Api Server::api() {
  return {engine_,
          log_,
          projector_,
          artifacts_,
          timer_loop_.timers(),
          clock_,
          ids_,
          {config_.data.string(), config_.socket.string(), clock_.wall_ns(), config_.jobs_max,
           config_.remote_jobs_max, config_.connections_max, config_.caller_connections_max},
          blocking_pool(lanes_.files, /*while_serving=*/false),
          blocking_pool(lanes_.repositories, /*while_serving=*/false),
          blocking_pool(lanes_.log_readers, /*while_serving=*/false),
          post_to_engine(),
          [this](Position position, RunRootWriter::Written written) {
            run_roots_.when_written(position, std::move(written));
          },
          found_file_reader(run_root_rule_),
          run_root_rule_,
          [this](const RunId& run_id) { return retention_ && retention_->has_dropped(run_id); },
          machine_ ? std::make_shared<const JobOwnership>(job_ownership()) : nullptr,
          [this](const RunId& run_id) { return file_markers_.has(run_id); },
          [this](const RunId& run_id) {
            return file_retention_ && file_retention_->is_removing(run_id);
          },
          [this](const std::string& job_id) { return job_troubles_.find(job_id); }};
}

ServiceSources Server::service_sources() {
  ServiceSources sources{{status_of(log_check_), status_of(snapshotter_), status_of(run_roots_),
                          status_of(settings_reload_), network_status(),
                          status_of(artifacts_, config_.artifact_texts.store),
                          status_of(api_, runners_), cell_status(), status_of(redactions_)},
                         loops_};
  if (retention_) sources.status_parts.push_back(status_of(*retention_));
  if (file_retention_) sources.status_parts.push_back(status_of(*file_retention_));
  return sources;
}

MethodParts Server::method_parts() {
  MethodParts parts{claims_,
                    locks_,
                    steps_,
                    feed_,
                    loops_,
                    [this] { return digest_.of(engine_.world()); },
                    traces_.resource(),
                    config_.coderunner_mode};
  parts.default_pipeline = config_.default_pipeline;
  parts.access = access_parts(authentication_);
  parts.status_parts = service_sources().status_parts;
  if (file_retention_) {
    parts.plan_files = [this](std::function<void(const FileRetentionReport&)> planned) {
      return file_retention_->plan(std::move(planned));
    };
  }
  parts.metrics_text = [this] { return metrics_.text(); };
  parts.subscribe_agent_logs = [this](std::shared_ptr<Peer> peer, std::string subscription,
                                      std::optional<RunId> run_id) {
    agent_logs_.subscribe(std::move(peer), std::move(subscription), run_id);
  };
  parts.rebuild_artifacts = rebuild_run_roots(run_roots_);
  parts.redact = redact_records(redactions_);
  parts.runners = runner_parts();
  parts.cell = cell_parts();
  parts.audit = {std::make_shared<LogTiles>(log_), config_.audit_key, &log_,
                 blocking_pool(lanes_.tiles, /*while_serving=*/false)};
  parts.check_project = project_check(config_.coderunner_mode, config_.data / pins_directory_name);
  parts.reports = {blocking_pool(lanes_.reports, /*while_serving=*/false), report_askers_};
  parts.forecasts = ForecastParts{blocking_pool(lanes_.what_ifs, /*while_serving=*/false),
                                  config_.board, [this] { return stopping_; }};
  parts.trigger_heartbeat = [this](const std::string& reason) { board_.trigger_heartbeat(reason); };
  return parts;
}

PresentFacts Server::present_facts() const {
  PresentFacts facts{api_.facts,
                     incarnation_,
                     AccessParts::RolesWithoutToken{authentication_.other_user_role(),
                                                    authentication_.loopback_role()},
                     api_.run_root_rule,
                     api_.ownership,
                     api_.are_files_removed};
  for (const ScheduledLoop* loop : loops_.all()) facts.server.loops.push_back(loop->name());
  return facts;
}

AgentLogs::Context Server::agent_log_context() {
  return {engine_,
          clock_,
          config_.data / "jobs",
          [this] { return jobs_->runs(); },
          [this](std::function<void()> work) {
            lanes_.agent_logs.run({.name = "logs of agents"}, std::move(work));
          },
          post_to_engine(),
          [this](std::function<void()> action) {
            agent_log_timer_.expires_after(
                std::chrono::milliseconds(limits::agent_log_interval_ms_min));
            agent_log_timer_.async_wait(
                [action = std::move(action)](const boost::system::error_code& error) {
                  if (!error) action();
                });
          }};
}

}  // namespace signalbox
