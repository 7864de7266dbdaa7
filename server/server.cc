#include "server/server.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/access/access_settings.h"
#include "server/board/git_board_files.h"
#include "server/engine/engine.h"
#include "server/follow/agent_log_limits.h"
#include "server/logs/logging.h"
#include "server/loops/own_loops.h"
#include "server/recovery/incarnation.h"
#include "server/rpc/command_call.h"
#include "server/rpc/results.h"
#include "server/systemd/service_manager.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds space_pause{1};
// More than one batch of commits needs, so that leaving the state isn't followed by entering it.
constexpr std::uint64_t space_bytes_needed = 64 * 1024 * 1024;

const Rejection stopping{
    ErrorCode::SHUTTING_DOWN, "the server is stopping; connect again", {}, {"signalbox status"}};

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!is_service_manager_variable(*each)) variables.emplace_back(*each);
  }
  return variables;
}

}  // namespace

Server::Server(const Config& config, Recovered& recovered, RunIndex& index, spdlog::logger& logger)
    : config_(config),
      torn_bytes_(recovered.torn_bytes),
      log_(*recovered.log),
      logger_(logger),
      artifacts_(config.data / "artifacts"),
      processes_({config.data / "jobs", std::filesystem::read_symlink("/proc/self/exe"),
                  config.socket, own_environment()},
                 artifacts_),
      modal_({config.data / "jobs", own_environment()}, artifacts_),
      executor_(processes_, modal_),
      engine_(std::move(recovered.world), clock_, hooks()),
      projector_(
          log_, index, [this](const StoreError& error) { fail_from_thread(error); },
          [this](bool ok, const std::string& text) {
            logger_.log(ok ? spdlog::level::info : spdlog::level::warn, text);
          }),
      snapshotter_(log_, snapshots_directory(config.data), config.snapshot_events,
                   recovered.snapshot_position,
                   [this](bool ok, const std::string& text) {
                     logger_.log(ok ? spdlog::level::debug : spdlog::level::warn, text);
                   }),
      run_roots_(log_, projector_, config.data,
                 [this](bool ok, const std::string& text) {
                   logger_.log(ok ? spdlog::level::info : spdlog::level::warn, text);
                 }),
      traces_(log_, projector_, config.traces, config.data,
              [this](bool ok, const std::string& text) {
                logger_.log(ok ? spdlog::level::info : spdlog::level::warn, text);
              }),
      claims_(
          engine_, ids_,
          [this](std::span<const Record> records) { return claim_result(api_, records); },
          [this](const Origin& origin, const Responder& responder) {
            Call call{{}, origin, responder};
            answered_before(api_, call, claim_result);
          },
          [this] { schedule_turn(); }),
      locks_(api_, [this] { schedule_turn(); }),
      steps_(api_, [this] { schedule_turn(); }),
      clockwork_({engine_, clock_, claims_, locks_, steps_}, config.watchdog_interval_ms,
                 clockwork_reports()),
      board_({engine_, clock_, ids_,
              [this](std::function<std::function<void()>()> work) {
                run_on(board_files_, [this, work = std::move(work)]() -> std::function<void()> {
                  return [this, then = work()] {
                    if (!stopping_) then();  // else the next start does it
                  };
                });
              },
              std::make_shared<GitBoardFiles>(config.data / "runs"),
              [this](bool ok, const std::string& text) {
                logger_.log(ok ? spdlog::level::info : spdlog::level::warn, text);
              }},
             read_board_settings(config.board).value(), config.coderunner_mode),
      feed_(
          log_, [this](const StoreError& error) { fail_from_thread(error); },
          [this](std::function<void()> action) { asio::post(io_, std::move(action)); }),
      agent_logs_(agent_log_surroundings()),
      authentication_(engine_, clock_, config.access),
      metrics_(clock_.wall_ns()),
      api_(api()),
      dispatcher_(api_),
      listener_(io_, http_service()),
      signals_(io_, SIGTERM, SIGINT),
      clock_timer_(io_),
      space_timer_(io_),
      agent_log_timer_(io_) {
  api_.board = &board_;
  api_.metrics = &metrics_;
  api_.traces = &traces_;
  api_.agent_logs = &agent_logs_;
  api_.trigger_heartbeat = [this](const std::string& reason) {
    board_.find(heartbeat_loop_name)->trigger(reason, /*again=*/true);
  };
}

Server::~Server() = default;

Engine::Hooks Server::hooks() {
  return {
      [this](std::span<const Record> records) {
        clockwork_.observe(records);
        schedule_turn();
      },
      [this](const CommitOutcome& outcome) {
        for (const Commit& commit : outcome.batch) {
          jobs_->observe(commit);
          set_job_pauses(job_pauses_of(engine_.world(), commit));
          if (!stopping_) board_.observe(commit);
          for (const Record& record : commit) event_lines_.observe(record);
        }
        metrics_.observe(outcome);
        projector_.notify();
        run_roots_.observe(engine_.world(), outcome.batch);
        feed_.publish(outcome.batch);
        snapshotter_.offer(outcome.frontier);
        // Later: what is released with this commit may have a last word for the log.
        if (stopping_) asio::post(io_, [this] { stop_when_idle(); });
      },
      [this](const std::string& why) { fail(74, "the log can't be written: " + why); },
      [this](const std::string& why) { return roll_back(why); },
  };
}

Api Server::api() {
  return {engine_,
          log_,
          projector_,
          claims_,
          locks_,
          feed_,
          artifacts_,
          clock_,
          ids_,
          {config_.data.string(), config_.socket.string(), clock_.wall_ns(), config_.jobs_max,
           config_.remote_jobs_max},
          [this](std::function<std::function<void()>()> work) { run_blocking(std::move(work)); },
          [this](std::function<void()> action) { asio::post(io_, std::move(action)); },
          clockwork_.timers(),
          [this] { return digest_.of(engine_.world()); },
          &run_roots_,
          [this](Position position, RunRootWriter::Written written) {
            run_roots_.when_written(position, std::move(written));
          },
          look_at_file,
          KnownPipeline(config_.coderunner_mode),
          &authentication_,
          secure_random(),
          &steps_,
          &snapshotter_};
}

AgentLogs::Surroundings Server::agent_log_surroundings() {
  return {engine_,
          clock_,
          config_.data / "jobs",
          [this] { return jobs_->runs(); },
          [this](std::function<void()> work) { asio::post(agent_log_files_, std::move(work)); },
          [this](std::function<void()> action) { asio::post(io_, std::move(action)); },
          [this](std::function<void()> action) {
            agent_log_timer_.expires_after(
                std::chrono::milliseconds(limits::agent_log_interval_ms_min));
            agent_log_timer_.async_wait(
                [action = std::move(action)](const boost::system::error_code& error) {
                  if (!error) action();
                });
          }};
}

HttpService Server::http_service() {
  return {[this](std::string_view line, const Caller& caller, const std::shared_ptr<Peer>& peer) {
            handle(line, caller, authentication_.of(caller), peer);
          },
          [this](std::string_view line, const Caller& caller,
                 std::optional<std::string_view> secret, const std::shared_ptr<Peer>& peer) {
            const auto principal =
                caller.uid ? authentication_.unix_peer(*caller.uid, secret)
                           : authentication_.tcp_peer(caller.address, caller.loopback, secret);
            handle(line, caller, principal, peer);
          },
          [this] { return not_ready(); },
          [this](std::function<std::function<void()>()> work) { run_blocking(std::move(work)); },
          HostRule(config_.http_hosts)};
}

void Server::handle(std::string_view line, const Caller& caller,
                    const Decided<Principal>& principal, const std::shared_ptr<Peer>& peer) {
  // Before anything judges a lease: we may have been stopped ourselves.
  clockwork_.look_at_clock(stopping_);
  if (principal) {
    dispatcher_.handle(line, *principal, peer);
  } else {
    dispatcher_.handle_unknown(line, caller.actor(), principal.error(), peer);
  }
}

std::optional<Rejection> Server::not_ready() const {
  if (stopping_) return stopping;
  if (engine_.storage_full()) return not_durable(engine_, Durability::storage_full);
  return std::nullopt;
}

void Server::run_blocking(std::function<std::function<void()>()> work) {
  run_on(blocking_, std::move(work));
}

void Server::run_on(asio::thread_pool& threads, std::function<std::function<void()>()> work) {
  asio::post(threads, [this, work = std::move(work)] {
    asio::post(io_, [this, then = work()] {
      clockwork_.look_at_clock(stopping_);  // likewise
      then();
    });
  });
}

bool Server::listen() {
  if (auto ok = listener_.listen_unix(config_.socket); !ok) {
    fail(78, ok.error());
    return false;
  }
  logger_.info("listening on {}", config_.socket.string());
  if (config_.listen.empty()) return true;
  TlsContext tls;
  if (!config_.tls_key.empty()) {
    auto made = make_tls_context(config_.tls_certificate, config_.tls_key);
    if (!made) {
      fail(78, made.error());
      return false;
    }
    tls = std::move(*made);
  }
  const auto address = listener_.listen_tcp(config_.listen, tls);
  if (!address) {
    fail(78, address.error());
    return false;
  }
  logger_.info("listening on {}{}", *address, tls ? " with TLS" : "");
  logger_.info("{}", who_may_over_tcp(authentication_, engine_.world().access));
  return true;
}

Clockwork::Reports Server::clockwork_reports() {
  return {
      [this](const ClockJump& jump) {
        logger_.warn(
            "{}: {} ms by the wall clock, {} ms by the monotonic one; all leases start "
            "anew",
            jump.cause, jump.wall_ms, jump.monotonic_ms);
        asio::post(io_, [this, cause = jump.cause] {
          if (!stopping_) board_.clock_jumped(cause);
        });
      },
      [this](const OverdueItem& item) {
        logger_.warn("watchdog: {}", item.what);
        if (!item.job_id.empty()) jobs_->end_overdue(item.job_id);
      },
      // Again: a job may have got its directory only after its run was paused.
      [this] { set_job_pauses(all_job_pauses(engine_.world())); },
  };
}

bool Server::begin_incarnation() {
  const auto begun = signalbox::begin_incarnation(
      engine_, {SIGNALBOX_VERSION, clock_.wall_ns(), torn_bytes_},
      {[this](const Run& run) { return executor_.poll(job_of(run, config_.data / "runs")); },
       [this](const std::string& report) {
         return artifacts_.put("crash_report.json", "application/json", report);
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
                 verdict.next_commands.back());
  }
  logger_.info("the crash left {} in flight at position {}; report: {}", begun->verdicts.size(),
               begun->last_durable, artifacts_.path_of(begun->report).string());
  return true;
}

int Server::run() {
  committer_ = std::make_unique<CommitThread>(log_, [this](CommitOutcome outcome) {
    asio::post(io_, [this, outcome = std::move(outcome)]() mutable {
      engine_.on_committed(std::move(outcome));
    });
  });
  engine_.set_committer(*committer_);
  jobs_ = std::make_unique<StationJobs>(
      engine_, ids_,
      [this](JobReports reports) {
        // What a job printed last is told before its end is.
        reports.finished = [this, finished = std::move(reports.finished)](const Job& job,
                                                                          const JobResult& result) {
          agent_logs_.finish(job);
          finished(job, result);
        };
        return std::make_unique<JobThreads>(executor_, std::move(reports), JobLanes{});
      },
      [this](std::function<void()> action) {
        asio::post(io_, [this, action = std::move(action)] {
          if (!stopping_) action();
        });
      },
      [this](const Job& job, const std::string& text) {
        log_about(logger_, spdlog::level::warn,
                  {job.run_id, job.definition.name, job.span_id, job.token},
                  "job " + job.id + ": " + text);
      },
      StationJobs::Settings{config_.data / "runs", config_.jobs_max, config_.remote_jobs_max});
  projector_.start();
  run_roots_.start(engine_.world());
  traces_.start();
  const bool begun = begin_incarnation();
  clockwork_.arm();
  set_job_pauses(all_job_pauses(engine_.world()));
  jobs_->adopt();
  board_.arm();
  if (begun && listen()) {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      stop(std::string("signal ") + strsignal(signal));
      signals_.async_wait([this](const boost::system::error_code& again, int) {
        if (!again) fail(74, "a second signal: stopping without a clean end");
      });
    });
    schedule_turn();
    watchdog_pings_.start(*committer_, [this] {
      return "serving; position " + std::to_string(engine_.durable_position()) + ", " +
             std::to_string(engine_.world().runs.size()) + " open runs";
    });
    tell_ready("serving");
    io_.run();
    watchdog_pings_.stop();
  }
  // Threads that call back end before what they call.
  traces_.stop();
  jobs_.reset();
  committer_.reset();
  blocking_.join();
  agent_log_files_.join();
  board_files_.stop();  // what has not begun is done at the next start
  board_files_.join();
  run_roots_.stop();
  listener_.close();
  return exit_code_;
}

void Server::schedule_turn() {
  if (std::exchange(turn_scheduled_, true)) return;
  asio::post(io_, [this] {
    turn_scheduled_ = false;
    turn();
  });
}

void Server::turn() {
  if (!stopping_) clockwork_.turn(*jobs_);
  engine_.flush();
  wait_for_time();
}

void Server::wait_for_time() {
  if (stopping_) return;
  std::int64_t due_ns = clockwork_.next_due_ns();
  if (!engine_.storage_full()) due_ns = std::min(due_ns, board_.next_due_ns());
  // Called after every turn; most leave the soonest time as it was, and one that was put off is
  // looked at again when it has come.
  if (clock_timer_due_ns_ <= due_ns) return;
  clock_timer_due_ns_ = due_ns;
  const std::chrono::nanoseconds left(due_ns - clock_.monotonic_ns());
  clock_timer_.expires_after(std::max<std::chrono::nanoseconds>(left, {}));
  clock_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    clock_timer_due_ns_ = no_time;
    if (stopping_) return;
    clockwork_.fire();
    if (!engine_.storage_full()) board_.fire();
    schedule_turn();
  });
}

void Server::set_job_pauses(std::vector<JobPause> pauses) {
  if (pauses.empty()) return;
  asio::post(blocking_, [jobs = config_.data / "jobs", pauses = std::move(pauses)] {
    for (const JobPause& pause : pauses) set_job_pause(jobs, pause);
  });
}

World Server::roll_back(const std::string& why) {
  logger_.error("no space for the log: {}; reads go on, writes are refused", why);
  auto world = fold_log(log_, config_.data);
  if (!world) {
    fail(78, world.error().message);
    std::_Exit(78);  // there is no state to go on with
  }
  digest_.forget();
  projector_.roll_back(world->position);
  if (stopping_) {
    asio::post(io_, [this] { stop_when_idle(); });  // there is nothing left to wait for
  } else {
    watch_for_space();
  }
  return std::move(*world);
}

void Server::watch_for_space() {
  space_timer_.expires_after(space_pause);
  space_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    struct statvfs space {};
    const bool enough = statvfs(config_.data.c_str(), &space) == 0 &&
                        std::uint64_t{space.f_bavail} * space.f_frsize >= space_bytes_needed;
    if (!enough) return watch_for_space();
    logger_.info("there is space again; taking up what was left");
    engine_.leave_storage_full();
    // The start itself may be among what was rolled back, and all that follows is of this life.
    if (engine_.world().server.incarnation != incarnation_ && !begin_incarnation()) return;
    clockwork_.arm();
    jobs_->adopt();
    board_.arm();
    schedule_turn();
  });
}

// Jobs go on: their shims hold them until the next start.
void Server::stop(const std::string& why) {
  if (std::exchange(stopping_, true)) return;
  logger_.info("stopping: {}", why);
  tell_stopping();
  clock_timer_.cancel();
  space_timer_.cancel();
  agent_log_timer_.cancel();
  dispatcher_.refuse_all(stopping);
  claims_.refuse_all(stopping);
  locks_.refuse_all(stopping);
  steps_.refuse_all(stopping);
  listener_.finish();
  engine_.flush();
  stop_when_idle();
}

void Server::stop_when_idle() {
  if (!engine_.idle()) return engine_.flush();
  if (!stopped_ && !engine_.storage_full()) {
    stopped_ = true;
    (void)engine_.begin(by_the_service).apply(StopServer{});
    // What threads are still busy with comes back to a service that has stopped.
    engine_.close(stopping);
    return engine_.flush();
  }
  // What was released with the last commit, or waits for files of it, is on its way to the sockets;
  // it goes first.
  run_roots_.when_written(engine_.durable_position(), [this](const std::string&) {
    asio::post(io_, [this] { asio::post(io_, [this] { io_.stop(); }); });
  });
}

void Server::fail(int exit_code, const std::string& why) {
  logger_.error("{}", why);
  if (exit_code_ == 0) exit_code_ = exit_code;
  asio::post(io_, [this] { asio::post(io_, [this] { io_.stop(); }); });
}

void Server::fail_from_thread(const StoreError& error) {
  asio::post(io_, [this, error] {
    fail(error.kind == StoreError::Kind::damaged ? 78 : 74, error.message);
  });
}

}  // namespace signalbox
