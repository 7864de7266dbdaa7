// Wires what rewrites the past of the log while the service serves: the retention and redactions.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include <boost/asio/post.hpp>

#include "domain/try.h"
#include "projections/retention_on_disk.h"
#include "server/followers/fresh_rows.h"
#include "server/followers/run_root/run_root_state.h"
#include "server/server.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds stop_check_interval{100};
// A rebuild of damaged read models may be under way, or a run root may hang.
constexpr std::chrono::minutes renewal_wait_max{10};

// Blocks until `done` is ready. Fails after renewal_wait_max, and soon after `stopped` is set: then
// it may never be.
template <class Value>
Stored<void> await_done(const std::future<Value>& done, const std::atomic<bool>& stopped) {
  const auto deadline = std::chrono::steady_clock::now() + renewal_wait_max;
  while (done.wait_for(stop_check_interval) != std::future_status::ready) {
    if (stopped) return store_failure(StoreError::Kind::io, "the service stops");
    if (std::chrono::steady_clock::now() < deadline) continue;
    return store_failure(StoreError::Kind::io, "what is derived from the log stays behind");
  }
  return {};
}

void log_retention(const RetentionOutcome& outcome, spdlog::logger& logger) {
  if (outcome.failed()) {
    std::string next;
    for (const std::string& command : outcome.next_commands) next += "; try: " + command;
    logger.error("retention: {}; the service continues, and tries again when it is next due{}",
                 outcome.error, next);
  } else if (outcome.dropped_at == 0) {
    logger.info("retention: every old record is still needed");
  } else {
    logger.info("retention: moved {} records up to {} into {}, verified", outcome.records_dropped,
                outcome.horizon, outcome.archive);
  }
}

}  // namespace

std::unique_ptr<RetentionLoop> Server::retention_loop(const StageRetention& stage) {
  if (!config_.retention) return nullptr;
  RetentionSettings settings = *config_.retention;
  if (cell_ != nullptr) settings.archive_mark = cell_->settings.server.name;
  return std::make_unique<RetentionLoop>(
      RetentionLoop::Parts{
          engine_, clock_, cell_ != nullptr ? static_cast<DroppableLog&>(cell_->log) : log_,
          rewriting_turn_, config_.data, blocking_pool(lanes_.retentions, /*while_serving=*/false),
          stage, [this](std::function<void()> step) { committer_->run_between(std::move(step)); },
          [this](Position position) { return projector_.follow_to(position); },
          [this](const std::atomic<bool>& stopped) { return renew_dropped_rows(stopped); },
          [this](const RetentionOutcome& outcome) { log_retention(outcome, logger_); },
          [this] { return retention_obstacle(); },
          [this](const std::atomic<bool>& stopped) { await_peers_known(stopped); }},
      std::move(settings));
}

Stored<void> Server::renew_dropped_rows(const std::atomic<bool>& stopped) {
  past_worlds_.forget();
  auto rows = TRY(compute_rows(log_, config_.data / "projections" / "read_models.next", stopped));
  projector_.replace_rows(std::move(rows));
  return {};
}

Position Server::latest_dropped_at() const {
  const auto due = log_.due_drops();
  return due.empty() ? log_.horizon().dropped_at : due.back();
}

Redactions::Parts Server::redaction_parts(const Redactions::Plan& plan) {
  const auto run_roots = std::make_shared<RunRootProgress>();
  return {engine_,
          cell_ != nullptr ? static_cast<RedactableLog&>(cell_->log) : log_,
          rewriting_turn_,
          blocking_pool(lanes_.retentions, /*while_serving=*/false),
          [this, plan](const RedactionRequest& request, const std::atomic<bool>& stopped) {
            return plan(log_, config_.data, request, /*may_renew_base=*/cell_ != nullptr, stopped);
          },
          secure_random(),
          [this](std::function<void()> step) { committer_->run_between(std::move(step)); },
          [this] { return snapshotter_.suspend(); },
          [this] { snapshotter_.resume(); },
          [this, run_roots](const std::atomic<bool>& stopped) {
            return renew_derived(*run_roots, stopped);
          },
          [this, run_roots] {
            digest_.forget();
            run_roots->position = engine_.world().position;
            run_roots->state = run_root_state_of(engine_.world(), run_roots_.run_files().runs());
          },
          [this](const std::string& why) {
            logger_.error(
                "a text was redacted, but files may have it until the command is repeated, or the "
                "next start finishes that: {}",
                why);
          },
          [this](const RedactionRequest& request) { return redaction_obstacle(request); },
          cell_ == nullptr ? std::function<void(RedactionOutcome,
                                                std::function<void(RedactionOutcome)>)>()
                           : [this](RedactionOutcome outcome,
                                    std::function<void(RedactionOutcome)> done) {
                               followed_redactions_->await_others(std::move(outcome),
                                                                  std::move(done));
                             }};
}

// On the lane; the log and the engine's world have the redaction already.
Stored<void> Server::renew_derived(const RunRootProgress& run_roots,
                                   const std::atomic<bool>& stopped) {
  traces_.forget_runs();
  past_worlds_.forget();
  auto removed = remove_left_plans(config_.data);
  if (auto renewed = renew_rows(stopped); !renewed) {
    if (!stopped) {
      projector_.recompute_rows("a text of them was redacted, and they couldn't be renewed: " +
                                renewed.error().message);
    }
    return renewed;
  }
  const auto saved = std::make_shared<std::promise<bool>>();
  std::future<bool> done = saved->get_future();
  asio::post(io_, [this, saved, run_roots] {
    feed_.renew_facts();
    // A standby writes no run roots, and has the progress of before.
    if (stands_by_) return saved->set_value(run_roots_.forget_progress().has_value());
    run_roots_.renew_texts(run_roots.state, run_roots.position,
                           [saved](bool is_saved) { saved->set_value(is_saved); });
  });
  TRY(await_done(done, stopped));
  if (done.get()) return removed;
  return store_failure(StoreError::Kind::io,
                       "the progress of run roots can't be saved in projections/");
}

Stored<void> Server::renew_rows(const std::atomic<bool>& stopped) {
  auto rows = TRY(compute_rows(log_, config_.data / "projections" / "read_models.next", stopped));
  const auto replaced = std::make_shared<std::promise<void>>();
  const std::future<void> done = replaced->get_future();
  projector_.replace_rows(std::move(rows), [replaced] { replaced->set_value(); });
  return await_done(done, stopped);
}

}  // namespace signalbox
