// What the service is made of, and what is connected with what. What happens then: server.cc.
#include <unistd.h>

#include <utility>

#include <boost/asio/post.hpp>

#include "domain/own_loops.h"
#include "server/board/git_board_files.h"
#include "server/limits.h"
#include "server/platform/service_manager.h"
#include "server/rpc/command_call.h"
#include "server/rpc/results.h"
#include "server/server.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!is_service_manager_variable(*each)) variables.emplace_back(*each);
  }
  return variables;
}

}  // namespace

Server::Server(const Config& config, Recovered& recovered, RunIndex& index, spdlog::logger& logger,
               Between before)
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
      before_(std::move(before.retention)),
      retention_(retention_loop()),
      feed_(
          log_,
          [this](const StoreError& error) {
            logger_.error("events can't be read for a subscriber: {}", error.message);
          },
          [this](std::function<void()> action) { asio::post(io_, std::move(action)); }),
      agent_logs_(agent_log_surroundings()),
      authentication_(engine_, clock_, config.access),
      metrics_(clock_.wall_ns()),
      api_(api()),
      dispatcher_(api_),
      listener_(io_, http_service(), std::move(before.sockets)),
      signals_(io_, SIGTERM, SIGINT),
      clock_timer_(io_),
      space_watch_(io_, config.data),
      agent_log_timer_(io_) {
  api_.board = &board_;
  api_.retention = retention_.get();
  api_.metrics = &metrics_;
  api_.traces = &traces_;
  api_.agent_logs = &agent_logs_;
  api_.trigger_heartbeat = [this](const std::string& reason) {
    board_.find(heartbeat_loop_name)->trigger(reason, /*again=*/true);
  };
}

Server::~Server() = default;

std::unique_ptr<RetentionLoop> Server::retention_loop() {
  if (!config_.retention) return nullptr;
  return std::make_unique<RetentionLoop>(
      RetentionLoop::Parts{engine_, clock_, log_,
                           [this](std::function<std::function<void()>()> work) {
                             run_on(blocking_, [this, work = std::move(work)] {
                               return [this, then = work()] {
                                 if (!stopping_) then();  // else the next start concludes it
                               };
                             });
                           },
                           [this] { go_away(); }},
      *config_.retention, before_);
}

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
          for (const Record& record : commit) event_lines_.apply(record);
        }
        metrics_.observe(outcome);
        projector_.notify();
        run_roots_.apply(engine_.world(), outcome.batch);
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

Clockwork::Reports Server::clockwork_reports() {
  return {
      [this](const ClockJump& jump) {
        logger_.warn(
            "{}: {} ms by the wall clock, {} ms by the monotonic one; all leases start "
            "anew",
            jump.cause, jump.wall_ms, jump.monotonic_ms);
        asio::post(io_, [this, cause = jump.cause] {
          if (stopping_) return;
          board_.clock_jumped(cause);
          if (retention_) retention_->loop().arm(missed_because(cause));
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

}  // namespace signalbox
