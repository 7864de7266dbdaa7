// What a server of a cell does to the past of its log: it drops and redacts what others have, and
// knows when it must not do so itself.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "projections/base_redaction.h"
#include "server/limits.h"
#include "server/platform/program_version.h"
#include "server/server.h"
#include "store/chain_erasure.h"

namespace signalbox {
namespace {

constexpr std::chrono::milliseconds report_look{100};

// Returns whether the server has told of itself and read that lately. Otherwise those of the others
// aren't known to be new either.
bool has_new_reports(const CellView& view, std::int64_t age_ms_max) {
  return std::ranges::any_of(view.servers, [&](const ReplicaReport& each) {
    return each.server.name == view.server.name && each.silent_ms <= age_ms_max;
  });
}

}  // namespace

void Server::wire_cell() {
  cell_->log.set_redact_base(redacted_base);
  api_.refuses_commands = [this] { return cell_refusal(); };
  api_.holds_retry = [this](Position failed_at) { return due_drop_refusal(failed_at); };
  followed_drops_ = std::make_unique<FollowedDrops>(FollowedDrops::Parts{
      cell_->log, clock_, rewriting_turn_, config_.data,
      blocking_pool(lanes_.retentions, /*while_serving=*/false),
      [this](Position position) { return projector_.follow_to(position); },
      [this](const std::atomic<bool>& stopped) { return renew_dropped_rows(stopped); },
      [this](Position dropped_at) {
        if (retention_) retention_->note_dropped();
        logger_.info("dropped the records up to {}, as the cell did at {}", log_.horizon().position,
                     dropped_at);
      },
      [this](const std::string& why) { logger_.warn("{}", why); }});
  wire_followed_redactions();
}

std::optional<Rejection> Server::due_drop_refusal(Position failed_at) {
  if (failed_at == 0 || failed_at > followed_drops_->due_horizon()) return std::nullopt;
  if (const std::string& why = followed_drops_->trouble(); !why.empty()) {
    return Rejection{ErrorCode::NOT_ALLOWED,
                     "what failed before can't be retried at this server: " + why,
                     {{"cell", cell_->settings.name}},
                     {"signalbox cell status", "signalbox cell switch"}};
  }
  return Rejection{ErrorCode::OVERLOADED,
                   "the cell has archived old records, which this server is about to drop: what "
                   "failed before can't be retried until that is done; try again",
                   {{"cell", cell_->settings.name}, {"retry_after_ms", std::int64_t{1000}}},
                   {"signalbox cell status"}};
}

// Newer than what a retention needs when it looks at them, which it does after its plan.
void Server::await_peers_known(const std::atomic<bool>& stopped) const {
  if (cell_ == nullptr) return;
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(limits::cell_upgrade_report_ms_max);
  while (!stopped && std::chrono::steady_clock::now() < until &&
         !has_new_reports(member_->view(), limits::cell_report_ms_default)) {
    std::this_thread::sleep_for(report_look);
  }
}

// A replica computes for itself what a drop leaves, which has the formats of its version.
std::optional<RetentionObstacle> Server::retention_obstacle() const {
  if (cell_ == nullptr) return std::nullopt;
  if (!log_.due_drops().empty()) {
    const std::string& why = followed_drops_->trouble();
    return RetentionObstacle{
        why.empty() ? "what another server of the cell has dropped isn't dropped here yet" : why,
        {"signalbox cell status"}};
  }
  if (engine_.feature_level() < feature_level_of(HistoryDropped::tag)) {
    Rejection refusal = feature_level_refusal(HistoryDropped::tag, engine_.feature_level());
    return RetentionObstacle{std::move(refusal.message), std::move(refusal.next_commands)};
  }
  return base_obstacle();
}

std::optional<RetentionObstacle> Server::base_obstacle() const {
  const CellView view = member_->view();
  if (!has_new_reports(view, limits::cell_gone_ms_max)) {
    return RetentionObstacle{
        "which servers the cell has, and of which versions, couldn't be read lately: nothing is "
        "dropped until that can be",
        {"signalbox cell status"}};
  }
  for (const ReplicaReport& each : view.servers) {
    const bool is_gone = each.silent_ms > limits::cell_upgrade_report_ms_max;
    if (is_gone || each.version == program_version()) continue;
    return RetentionObstacle{"the server " + each.server.name + " has version " + each.version +
                                 ", and this one " + program_version() +
                                 ": each keeps the state of what is dropped in the same bytes, so "
                                 "nothing is dropped until all have one version",
                             {"signalbox cell status"}};
  }
  return std::nullopt;
}

void Server::wire_followed_redactions() {
  followed_redactions_ = std::make_unique<FollowedRedactions>(FollowedRedactions::Parts{
      cell_->log, redactions_, clock_, blocking_pool(lanes_.retentions, /*while_serving=*/false),
      cell_->settings.server.name, [this] { return member_ != nullptr && acts(); },
      [this](Position redacted_at) -> Stored<void> {
        const auto shared = open_shared_log(cell_->settings);
        return signalbox::erase_from_chain(*shared, log_, member_->view().epoch, redacted_at);
      },
      [this] { return member_ ? member_->view().servers : std::vector<ReplicaReport>(); },
      [this] {
        if (member_) member_->report_soon();
      },
      log_outcome()});
}

void Server::do_what_is_due() {
  followed_drops_->look();
  followed_redactions_->look();
}

// What was kept before the horizon is in the base, too, which each server renews for itself.
std::optional<Rejection> Server::redaction_obstacle(const RedactionRequest& request) const {
  if (cell_ == nullptr) return std::nullopt;
  if (engine_.feature_level() < feature_level_of_redactions) {
    return redaction_level_refusal(engine_.feature_level());
  }
  if (!log_.due_drops().empty()) {
    const std::string& why = followed_drops_->trouble();
    if (!why.empty()) {
      return Rejection{ErrorCode::NOT_ALLOWED,
                       "nothing can be redacted at this server: " + why,
                       {{"cell", cell_->settings.name}},
                       {"signalbox cell status", "signalbox cell switch"}};
    }
    return Rejection{ErrorCode::OVERLOADED,
                     "the cell has archived old records, which this server is about to drop: "
                     "nothing can be redacted until that is done; try again",
                     {{"cell", cell_->settings.name}, {"retry_after_ms", std::int64_t{1000}}},
                     {"signalbox cell status"}};
  }
  const Horizon horizon = log_.horizon();
  const Position position = request.position;
  if (position == 0 || position > horizon.position || horizon.first_dropped(position, position)) {
    return std::nullopt;
  }
  auto obstacle = base_obstacle();
  if (!obstacle) return std::nullopt;
  return Rejection{ErrorCode::NOT_ALLOWED,
                   "record " + std::to_string(position) +
                       " stayed when a retention dropped others, so the state that each server's "
                       "log begins with may have its texts, too, and can't be changed now: " +
                       obstacle->why,
                   {{"position", static_cast<std::int64_t>(position)},
                    {"horizon", static_cast<std::int64_t>(horizon.position)}},
                   std::move(obstacle->next_commands)};
}

}  // namespace signalbox
