#include "server/server.h"

#include <sysexits.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/access/access_settings.h"
#include "server/engine/engine.h"
#include "server/limits.h"
#include "server/platform/exit_code.h"
#include "server/platform/logging.h"
#include "server/platform/program_version.h"
#include "server/platform/service_manager.h"
#include "server/rpc/responder.h"
#include "server/scheduler/incarnation.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

}  // namespace

std::optional<Rejection> Server::not_ready() const {
  if (stopping_) return stopping_refusal();
  if (engine_.storage_full()) return not_durable(engine_, Durability::storage_full);
  return cell_refusal();
}

bool Server::listen() {
  if (auto ok = listener_.listen_unix(config_.socket); !ok) {
    fail(78, ok.error());
    return false;
  }
  logger_.info("listening on {}", config_.socket.string());
  if (config_.listen.empty()) return true;
  if (!config_.tls_key.empty() && !tls_) {
    auto read = read_tls_identity(config_.tls_certificate, config_.tls_key);
    if (!read) {
      fail(78, read.error());
      return false;
    }
    tls_ = std::move(*read);
  }
  return listen_over_tcp();
}

// Whatever keeps it from the address may go at any moment: a tunnel may not be up yet, and a
// process may end. Those on this machine are served meanwhile.
bool Server::listen_over_tcp() {
  const auto address = listener_.listen_tcp(config_.listen, tls_ ? tls_->context : nullptr);
  // Once it has served, nothing but a signal ends it here: for want of a descriptor, too, it tries
  // again.
  if (!address && !address.error().may_pass && listen_trouble_.empty()) {
    fail(EX_CONFIG, address.error().message);
    return false;
  }
  if (!address) {
    if (std::exchange(listen_trouble_, address.error().message).empty()) {
      logger_.error("{}; it is tried again every second, and {} is served meanwhile",
                    listen_trouble_, config_.socket.string());
    }
    listen_timer_.expires_after(std::chrono::seconds(1));
    listen_timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error && !stopping_) listen_over_tcp();
    });
    return true;
  }
  listen_trouble_.clear();
  logger_.info("listening on {}{}", *address, tls_ ? " with TLS" : "");
  if (tls_) certificate_watch_.watch(tls_->certificate);
  const bool is_open = authentication_.loopback_role().has_value();
  logger_.log(is_open ? spdlog::level::warn : spdlog::level::info, "{}",
              tcp_access_text(authentication_));
  return true;
}

void Server::use_tls(TlsIdentity identity) {
  listener_.use_tls(identity.context);
  certificate_watch_.watch(identity.certificate);
  tls_ = std::move(identity);
}

StatusPart Server::network_status() const {
  return [this](boost::json::object& status) {
    if (!config_.listen.empty()) {
      status["listen"] = {{"address", config_.listen}, {"trouble", nullptr}};
      if (!listen_trouble_.empty()) status["listen"].as_object()["trouble"] = listen_trouble_;
    }
    boost::json::value& shown = status["certificate"];
    if (!tls_) return;
    const Certificate& certificate = tls_->certificate;
    shown = {{"file", certificate.file.string()},
             {"subject", certificate.subject},
             {"not_before", format_time(certificate.not_before_ns)},
             {"not_after", format_time(certificate.not_after_ns)},
             {"state", name_of(state_of(certificate, clock_.wall_ns()))}};
  };
}

bool Server::begin_incarnation() {
  const auto begun = signalbox::begin_incarnation(
      engine_, {program_version(), clock_.wall_ns(), torn_bytes_},
      {[this](const Run& run) { return executor_.poll(job_of(run, config_.data / "runs")); },
       [ownership = job_ownership()](const Run& run) { return ownership.is_elsewhere(run); },
       [this](const std::string& report) {
         return artifacts_.put_here("crash_report.json", "application/json", report);
       }});
  incarnation_ = engine_.world().server.incarnation;
  if (!begun) {
    fail(74, "the crash report can't be written: " + begun.error().message);
    return false;
  }
  if (!begun->after_crash) return true;
  for (const CrashVerdict& verdict : begun->verdicts) {
    if (verdict.item.verdict != Verdict::needs_operator) continue;
    logger_.warn("after the crash: {}: {}; {}", verdict.item.name, verdict.item.evidence,
                 fmt::join(verdict.next_commands, "; or "));
  }
  logger_.info("the crash left {} in flight at position {}; report: {}", begun->verdicts.size(),
               begun->last_durable, artifacts_.location_of(begun->report));
  return true;
}

int Server::run() {
  if (!machine_) {
    logger_.error("{}", machine_.error().message);
    return 74;
  }
  if (const StoreError* const error = former_decisions_.error()) {
    if (cell_ == nullptr) {
      logger_.error("{}", former_decisions_.advice());
      return exit_code_of(*error);
    }
    logger_.warn("{}; this server can't take the cell until then", former_decisions_.advice());
  }
  if (!machine_->copied_from.empty()) {
    logger_.warn(
        "{} was copied: jobs that the log has in progress were given to machine {}, and "
        "need your decision",
        config_.data.string(), machine_->copied_from);
  }
  note_artifacts();
  EventLog& written = cell_ != nullptr ? static_cast<EventLog&>(cell_->log) : log_;
  committer_ = std::make_unique<CommitThread>(written, [this](CommitOutcome outcome) {
    asio::post(io_, [this, outcome = std::move(outcome)]() mutable {
      engine_.on_committed(std::move(outcome));
    });
  });
  engine_.set_committer(*committer_);
  jobs_ = station_jobs();
  projector_.start();
  log_check_.start();
  // Before the leases: they don't count while nobody is answered.
  projector_.wait_for_rebuild(std::chrono::milliseconds(limits::read_models_start_wait_ms_max));
  const bool begun = cell_ != nullptr || begin_serving();
  const auto roots_until = std::chrono::steady_clock::now() +
                           std::chrono::milliseconds(limits::run_roots_start_wait_ms_max);
  for (const auto& root : resolve_run_roots()) (void)root.wait_until(roots_until);
  if (begun && listen()) {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      stop_on_signal(strsignal(signal));
      signals_.async_wait([this](const boost::system::error_code& again, int) {
        if (!again) fail(74, "a second signal: stopping without a clean end");
      });
    });
    if (cell_ != nullptr) {
      stand_by();
    } else {
      former_decisions_.record();
      schedule_turn();
      sweep_runners();
    }
    watch_tokens();
    const char* const state = cell_ != nullptr ? "standing by" : "serving";
    watchdog_pings_.start(
        *committer_,
        [this] {
          return (stands_by_ ? "standing by; position " : "serving; position ") +
                 std::to_string(engine_.durable_position()) + ", " +
                 std::to_string(engine_.world().runs.size()) + " open runs";
        },
        [this] { return is_cell_away_; });
    notify_ready(state);
    settings_reload_.start(post_to_engine());
    if (cell_ != nullptr) stop_if_told_before();
    io_.run();
    settings_reload_.stop();
    watchdog_pings_.stop();
  }
  if (member_ && !engine_.idle()) cell_->log.interrupt();
  stop_threads();
  if (member_) member_->stop(/*lets_go=*/stopped_ && engine_.idle() && exit_code_ == 0, successor_);
  return exit_code_;
}

bool Server::begin_serving() {
  run_roots_.start(engine_.world());
  traces_.start();
  const bool begun = begin_incarnation();
  set_job_pauses(all_job_pauses(engine_.world()));
  conclude_retention(engine_, latest_dropped_at());
  conclude_file_retention(engine_);
  arm();
  return begun;
}

// Deadlines count from now, for their full length, and jobs that run are tracked again.
void Server::arm() {
  timer_loop_.arm(engine_.world());
  jobs_->adopt();
  loops_.arm();
}

void Server::schedule_turn() {
  if (std::exchange(turn_scheduled_, true)) return;
  asio::post(io_, [this] {
    turn_scheduled_ = false;
    turn();
  });
}

void Server::turn() {
  if (std::exchange(jobs_have_ended_, false) && !stopping_) end_jobs();
  if (acts()) timer_loop_.turn(*jobs_);
  engine_.flush();
  arm_clock_timer();
}

void Server::arm_clock_timer() {
  if (!acts()) return;
  const std::int64_t due_ns = std::min(timer_loop_.next_due_ns(), loops_.next_due_ns());
  // This is called after every turn, and most turns leave the earliest deadline as it was. If it
  // moved to a later time, the timer fires early once and is armed again.
  if (clock_timer_due_ns_ <= due_ns) return;
  clock_timer_due_ns_ = due_ns;
  const std::chrono::nanoseconds left(due_ns - clock_.monotonic_ns());
  clock_timer_.expires_after(std::max<std::chrono::nanoseconds>(left, {}));
  clock_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    clock_timer_due_ns_ = no_time;
    if (stopping_) return;
    timer_loop_.fire();
    loops_.run_due();
    schedule_turn();
  });
}

World Server::roll_back(const std::string& why) {
  logger_.error("no space for the log: {}; reads continue, writes are refused", why);
  auto world = fold_log(log_, config_.data);
  if (!world) {
    const int exit_code = exit_code_of(world.error());
    fail(exit_code, world.error().message);
    std::_Exit(exit_code);  // there is no state to continue with
  }
  digest_.forget();
  redactions_.note_rolled_back();
  projector_.roll_back(world->position);
  timer_loop_.arm(*world);
  if (stopping_) {
    asio::post(io_, [this] { stop_when_idle(); });  // the roll-back dropped all pending commits
  } else {
    space_watch_.wait([this] { resume_writes(); });
  }
  return std::move(*world);
}

void Server::resume_writes() {
  logger_.info("there is space again; resuming what was left");
  engine_.leave_storage_full();
  // The roll-back may have dropped ServerStarted itself, and all further events belong to this
  // incarnation.
  if (engine_.world().server.incarnation != incarnation_ && !begin_incarnation()) return;
  former_decisions_.record();
  arm();
  locks_.note_rolled_back();
  schedule_turn();
}

std::function<void(bool ok, const std::string& text)> Server::log_outcome() {
  return [this](bool ok, const std::string& text) {
    logger_.log(ok ? spdlog::level::info : spdlog::level::warn, text);
  };
}

void Server::note_rebuild(const Rebuild& rebuild) {
  logger_.info("the read models are complete again, up to position {}, after {} ms",
               rebuild.through, rebuild.took_ms);
  asio::post(io_, [this, rebuild] {
    // Without space for the event only the line above tells.
    if (!acts() || engine_.storage_full()) return;
    (void)engine_.begin(by_the_service)
        .apply(NoteProjectionRebuilt{"read_models",
                                     shortened(rebuild.reason, limits::reason_bytes_max),
                                     rebuild.through, rebuild.took_ms});
    schedule_turn();
  });
}

}  // namespace signalbox
