// The service as one of a cell: it follows the log while another server writes it, takes over, and
// steps down. Everything between is as without a cell.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "domain/nanoseconds.h"
#include "server/cell/cell_mark.h"
#include "server/limits.h"
#include "server/platform/exit_code.h"
#include "server/platform/program_version.h"
#include "server/platform/space_watch.h"
#include "server/rpc/methods/families.h"
#include "server/server.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds cell_look{100};

// Returns when the log's last record was written (UTC, ns); 0 for an empty log.
Stored<std::int64_t> last_recorded_at(const EventLog& log) {
  const Position tail = log.tail();
  return tail == 0 ? Stored<std::int64_t>(0) : recorded_at(log, tail);
}

// Returns when the newest of these records was written (UTC, ns); 0 for none.
std::int64_t last_recorded_at(const std::vector<Commit>& commits) {
  return commits.empty() || commits.back().empty() ? 0 : commits.back().back().recorded_at_ns;
}

}  // namespace

void Server::stand_by() {
  stands_by_ = true;
  engine_.close(not_active());
  engine_.show_as_of(last_recorded_at(log_).value_or(0));
  member_ = std::make_unique<CellMember>(cell_->settings, program_version(), cell_->log,
                                         std::move(cell_->connections), cell_hooks());
  engine_.set_present_proof({[this] { return member_->proved_at_ns(); },
                             [this] { member_->ask_proof(); }, CellMember::proof_ms_max});
  logger_.info("standing by in the cell {} as {}", cell_->settings.name,
               cell_->settings.server.name);
  member_->start();
}

CellMember::Hooks Server::cell_hooks() {
  return {
      [this](FollowedLink link) {
        asio::post(io_, [this, link = std::move(link)]() mutable {
          const std::int64_t recorded_at_ns = last_recorded_at(link.commits);
          CommitOutcome outcome;
          outcome.result = {AppendStatus::ok, link.tail, {}};
          outcome.batch = std::move(link.commits);
          outcome.frontier = std::move(link.frontier);
          engine_.follow(std::move(outcome));
          show_followed(recorded_at_ns);
          member_->note_applied();
          do_what_is_due();
        });
      },
      [this](std::int64_t utc_ns) {
        asio::post(io_, [this, utc_ns] {
          if (stands_by_) engine_.show_as_of(utc_ns);
          do_what_is_due();
        });
      },
      [this] { asio::post(io_, [this] { take_over(); }); },
      [this](const std::string& why) { asio::post(io_, [this, why] { step_down(why); }); },
      [this](const StoreError& error) { fail_from_thread(error); },
      log_outcome(),
      [this](Position acked) {
        if (auto noted = note_seen(config_.data, cell_->settings.name, acked); !noted) {
          logger_.warn("{}", noted.error().message);
        }
      },
      [this]() -> std::string {
        if (SpaceWatch::has_space(config_.data)) return {};
        return "less than " + std::to_string(SpaceWatch::mebibytes_needed) +
               " MiB are left where its data directory is: free some";
      },
      [this] { asio::post(io_, [this] { engine_.release_proved(); }); },
  };
}

// Of a server that is far behind, which may have had nothing at all. One that is in step is told
// the time at which it was.
void Server::show_followed(std::int64_t recorded_at_ns) {
  const std::int64_t of_ns = std::min(recorded_at_ns, clock_.wall_ns());
  const std::int64_t shown_ns = engine_.as_of_ns().value_or(of_ns);
  if (of_ns - shown_ns > limits::cell_lease_ms_max * ns_per_ms) engine_.show_as_of(of_ns);
}

void Server::take_over() {
  if (stopping_) return;
  stands_by_ = false;
  const auto recorded_ns = last_recorded_at(log_);
  if (!recorded_ns) return fail(78, recorded_ns.error().message);
  // They may have been put right since the start.
  former_decisions_.retry();
  if (const StoreError* const error = former_decisions_.error()) {
    member_->ask_to_stop(/*lets_go=*/true, {});  // nothing was written
    return fail(exit_code_of(*error), former_decisions_.advice());
  }
  const CellView view = member_->view();
  engine_.set_feature_level(view.feature_level);
  engine_.lead(*recorded_ns);
  const bool begun = begin_serving();
  (void)engine_.begin(by_the_service)
      .apply(NoteCellTaken{view.cell, view.server.name, view.epoch, view.taken_because});
  if (!begun) return;
  former_decisions_.record();
  schedule_turn();
  sweep_runners();
  watch_cell();
  logger_.info("{} takes commands for the cell {}, in epoch {}", view.server.name, view.cell,
               view.epoch);
  if (view.feature_level < feature_level_newest) {
    logger_.info(
        "the cell is at feature level {}, and this version knows {}: once all its servers do, "
        "`signalbox cell upgrade` raises it",
        view.feature_level, feature_level_newest);
  }
}

void Server::step_down(const std::string& why) {
  if (cell_ == nullptr) return fail(74, "the log can't be written: " + why);
  if (end_ == ServerEnd::deposed) return;
  logger_.warn("no longer the writer of the cell {}: {}", cell_->settings.name, why);
  if (!stopping_) end_ = ServerEnd::deposed;
  stopping_ = true;
  stands_by_ = true;
  // Queries that still wait are answered with what it has.
  engine_.show_as_of(clock_.wall_ns() - member_->unproved_ms() * ns_per_ms);
  engine_.close(not_active());
  engine_.release_proved();
  cell_->log.interrupt();
  // Those who wait for a commit are told by the engine once the append was given up.
  end_serving(not_active());
  asio::post(io_, [this] { stop_when_answered(); });
}

Decided<void> Server::switch_over(const std::string& successor) {
  successor_ = successor;
  end_ = ServerEnd::switched;
  // Posted, so that the caller is answered before.
  asio::post(io_, [this] {
    stop("the cell is switched to " + (successor_.empty() ? "another server" : successor_));
  });
  return {};
}

// No event says so: a server of before couldn't read it.
void Server::upgrade_cell(const CellUpgraded& then) {
  member_->upgrade([this, then](const Decided<CellUpgrade>& outcome) {
    asio::post(io_, [this, then, outcome] {
      if (stands_by_) return then(tl::unexpected(not_active()));
      if (outcome) {
        engine_.set_feature_level(outcome->to);
        logger_.info("the cell {} is at feature level {} now; it was at {}", cell_->settings.name,
                     outcome->to, outcome->from);
        if (!stopping_) former_decisions_.record();
      }
      then(outcome);
    });
  });
}

void Server::watch_cell() {
  look_at_cell();
  do_what_is_due();
  cell_timer_.expires_after(cell_look);
  cell_timer_.async_wait([this](const boost::system::error_code& replaced) {
    if (!replaced) watch_cell();
  });
}

// Whoever asks how the service is just then hears of it long before the lease is over.
void Server::look_at_append() {
  const std::int64_t waiting_ms =
      (clock_.monotonic_ns() - cell_->log.waiting_since_ns()) / ns_per_ms;
  if (waiting_ms <= limits::cell_append_wait_ms_max) return;
  engine_.note_overdue(clock_.wall_ns() - member_->unproved_ms() * ns_per_ms);
}

void Server::look_at_cell() {
  if (!member_ || !acts()) return;
  look_at_append();
  const bool is_away = !member_->is_current();
  if (is_away == is_cell_away_) return;
  const std::int64_t unproved_ms = member_->unproved_ms();
  if (is_away) {
    is_cell_away_ = true;
    cell_away_since_ns_ = clock_.monotonic_ns() - unproved_ms * ns_per_ms;
    engine_.hold(log_away());
    engine_.show_as_of(clock_.wall_ns() - unproved_ms * ns_per_ms);
    engine_.release_proved();
    // Nobody who only asked waits for what the log may never have.
    engine_.release_queries();
    if (engine_.is_stuck()) projector_.roll_back(engine_.durable_position());
    std::string why = member_->view().trouble;
    if (why.empty()) why = cell_->log.waiting_because();
    logger_.error(
        "the cell's log hasn't acknowledged anything for {} ms{}: commands are refused; queries "
        "show the state of then, or are refused while a command that was taken waits for the log",
        unproved_ms, why.empty() ? "" : " (" + why + ")");
    return;
  }
  is_cell_away_ = false;
  const std::int64_t away_ms = (clock_.monotonic_ns() - cell_away_since_ns_) / ns_per_ms;
  engine_.go_on();
  engine_.show_present();
  logger_.info("the cell's log is back after {} ms; all leases restart", away_ms);
  timer_loop_.restart_leases(away_ms, "log was away");
  arm();  // also the jobs that ended meanwhile
  schedule_turn();
}

Rejection Server::not_active() const {
  const CellView view = member_ ? member_->view() : CellView{};
  const bool is_known = !view.holder.name.empty() && view.holder.name != view.server.name;
  const std::string& cell = cell_->settings.name;
  Rejection refusal{
      ErrorCode::NOT_ACTIVE,
      is_known ? cell_->settings.server.name + " stands by in the cell " + cell + "; " +
                     view.holder.name + " takes commands, at " + view.holder.address
               : "no server of the cell " + cell + " takes commands at the moment; try again",
      {{"cell", cell}, {"retry_after_ms", std::int64_t{100}}},
      {"signalbox cell status"}};
  if (!is_known) return refusal;
  refusal.details.push_back({"server", view.holder.name});
  refusal.details.push_back({"address", view.holder.address});
  refusal.details.push_back({"url", url_of(view.holder.address)});
  refusal.details.push_back({"epoch", static_cast<std::int64_t>(view.epoch)});
  return refusal;
}

Rejection Server::log_away() const {
  const std::string trouble = member_->view().trouble;
  return {ErrorCode::STORAGE_AWAY,
          "the cell's log takes nothing" + (trouble.empty() ? "" : ": " + trouble) +
              "; commands are refused until it does",
          {{"cell", cell_->settings.name},
           {"durable_position", static_cast<std::int64_t>(engine_.durable_position())},
           {"retry_after_ms", std::int64_t{1000}}},
          {"signalbox cell status"}};
}

std::optional<Rejection> Server::cell_refusal() const {
  if (!member_) return std::nullopt;
  if (stands_by_) return not_active();
  return is_cell_away_ ? std::optional(log_away()) : std::nullopt;
}

std::optional<CellView> Server::cell_view() const {
  if (!member_) return std::nullopt;
  CellView view = member_->view();
  if ((is_cell_away_ || engine_.is_overdue()) && cell_->log.is_appending()) {
    view.append_waiting_ms = std::max<std::int64_t>(
        (clock_.monotonic_ns() - cell_->log.waiting_since_ns()) / ns_per_ms, 1);
    view.append_waiting_since_ns = clock_.wall_ns() - view.append_waiting_ms * ns_per_ms;
    view.acknowledged = engine_.durable_position();
    view.append_waiting_because = cell_->log.waiting_because();
  }
  view.undropped_because = followed_drops_->undropped_because();
  view.redactions_due = cell_->log.pending_redactions().due;
  view.unerased_because = followed_redactions_->trouble();
  return view;
}

StatusPart Server::cell_status() const {
  return [this](boost::json::object& status) {
    if (!member_) return;
    const CellView view = *cell_view();
    boost::json::object& shown = status["cell"].emplace_object();
    shown = to_json(view);
    for (const char* part : {"servers", "servers_at", "servers_trouble"}) shown.erase(part);
  };
}

CellParts Server::cell_parts() {
  CellParts parts;
  if (cell_ == nullptr) return parts;
  parts.view = [this]() -> std::optional<CellView> { return cell_view(); };
  parts.switch_over = [this](const std::string& successor) { return switch_over(successor); };
  parts.upgrade = [this](const CellUpgraded& then) { upgrade_cell(then); };
  return parts;
}

}  // namespace signalbox
