#include "server/server.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/recovery.h"
#include "server/rpc/command_call.h"
#include "server/rpc/results.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

const Origin by_the_service{"signalbox", {}, {}};
constexpr std::chrono::seconds space_pause{1};
// More than one batch of commits needs, so that leaving the state isn't followed by entering it.
constexpr std::uint64_t space_bytes_needed = 64 * 1024 * 1024;

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
  return variables;
}

std::string short_span(const Uuid& span) { return "[" + to_string(span).substr(0, 8) + "]"; }

}  // namespace

Server::Server(const Config& config, EventLog& log, RunIndex& index, World world,
               Position snapshot_position, spdlog::logger& logger)
    : config_(config),
      log_(log),
      logger_(logger),
      artifacts_(config.data / "artifacts"),
      executor_({config.data / "jobs", std::filesystem::read_symlink("/proc/self/exe"),
                 config.socket, own_environment()},
                artifacts_),
      engine_(std::move(world), clock_, hooks()),
      projector_(log, index, [this](const StoreError& error) { fail_from_thread(error); }),
      snapshotter_(log, snapshots_directory(config.data), config.snapshot_events, snapshot_position,
                   [this](bool ok, const std::string& text) {
                     logger_.log(ok ? spdlog::level::debug : spdlog::level::warn, text);
                   }),
      claims_(
          engine_, ids_,
          [this](std::span<const Record> records) { return claim_result(api_, records); },
          [this](const Origin& origin, const Responder& responder) {
            Call call{{}, origin, responder};
            answered_before(api_, call, claim_result);
          }),
      feed_(
          log, [this](const StoreError& error) { fail_from_thread(error); },
          [this](std::function<void()> action) { asio::post(io_, std::move(action)); }),
      api_(api()),
      dispatcher_(api_),
      listener_(
          io_,
          [this](std::string_view line, const std::string& actor,
                 const std::shared_ptr<Peer>& peer) { dispatcher_.handle(line, actor, peer); }),
      signals_(io_, SIGTERM, SIGINT),
      clock_timer_(io_),
      space_timer_(io_) {}

Server::~Server() = default;

Engine::Hooks Server::hooks() {
  return {
      [this](std::span<const Record> records) {
        timers_.observe(engine_.world(), records, clock_.wall_ns(), clock_.monotonic_ns());
        schedule_turn();
      },
      [this](const CommitOutcome& outcome) {
        for (const Commit& commit : outcome.batch) jobs_->observe(commit);
        projector_.notify();
        feed_.publish(outcome.batch);
        snapshotter_.offer(outcome.frontier);
        if (stopping_) stop_when_idle();
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
          feed_,
          artifacts_,
          clock_,
          ids_,
          {config_.data.string(), config_.socket.string(), clock_.wall_ns()},
          [this](std::function<std::function<void()>()> work) {
            asio::post(blocking_, [this, work = std::move(work)] { asio::post(io_, work()); });
          },
          [this](std::function<void()> action) { asio::post(io_, std::move(action)); },
          [this] { return digest_.of(engine_.world()); }};
}

bool Server::listen() {
  if (auto ok = listener_.listen_unix(config_.socket); !ok) {
    fail(78, ok.error());
    return false;
  }
  logger_.info("listening on {}", config_.socket.string());
  if (config_.listen.empty()) return true;
  const auto address = listener_.listen_tcp(config_.listen);
  if (!address) {
    fail(78, address.error());
    return false;
  }
  logger_.info("listening on {}", *address);
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
      engine_, ids_, executor_,
      [this](std::function<void()> action) {
        asio::post(io_, [this, action = std::move(action)] {
          if (!stopping_) action();
        });
      },
      [this](const Job& job, const std::string& text) {
        logger_.warn("{} job {}: {}", short_span(job.span_id), job.id, text);
      },
      StationJobs::Settings{config_.data / "runs", config_.jobs_max, 2});
  projector_.start();
  engine_.begin(by_the_service).apply(StartServer{SIGNALBOX_VERSION}).value();
  timers_.arm_all(engine_.world(), clock_.wall_ns(), clock_.monotonic_ns());
  jobs_->adopt();
  if (listen()) {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      stop(std::string("signal ") + strsignal(signal));
      signals_.async_wait([this](const boost::system::error_code& again, int) {
        if (!again) fail(74, "a second signal: stopping without a clean end");
      });
    });
    schedule_turn();
    io_.run();
  }
  // Threads that call back end before what they call.
  jobs_.reset();
  committer_.reset();
  blocking_.join();
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
  if (!stopping_) {
    jobs_->dispatch_ready();
    claims_.serve(clock_.monotonic_ns());
  }
  engine_.flush();
  wait_for_time();
}

void Server::wait_for_time() {
  auto next = timers_.next_due_ns();
  const auto claim = claims_.next_due_ns();
  if (claim && (!next || *claim < *next)) next = claim;
  if (!next || stopping_) return;
  const auto left = std::chrono::nanoseconds(*next - clock_.monotonic_ns());
  // At most a second: the machine may sleep, which this timer doesn't count and the clock does.
  clock_timer_.expires_after(
      std::clamp<std::chrono::nanoseconds>(left, {}, std::chrono::seconds(1)));
  clock_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) fire_timers();
  });
}

void Server::fire_timers() {
  if (stopping_ || engine_.storage_full()) return;
  for (const Command& command : timers_.take_due(engine_.world(), clock_.monotonic_ns())) {
    (void)engine_.begin(by_the_service).apply(command);
  }
  schedule_turn();
}

World Server::roll_back(const std::string& why) {
  logger_.error("no space for the log: {}; reads go on, writes are refused", why);
  auto world = fold_log(log_, config_.data);
  if (!world) {
    fail(78, world.error().message);
    std::_Exit(78);  // there is no state to go on with
  }
  digest_.forget();
  watch_for_space();
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
    timers_.arm_all(engine_.world(), clock_.wall_ns(), clock_.monotonic_ns());
    jobs_->adopt();
    schedule_turn();
  });
}

// Jobs go on: their shims hold them until the next start.
void Server::stop(const std::string& why) {
  if (std::exchange(stopping_, true)) return;
  logger_.info("stopping: {}", why);
  clock_timer_.cancel();
  space_timer_.cancel();
  const Rejection stopping{
      ErrorCode::SHUTTING_DOWN, "the server is stopping; connect again", {}, {"signalbox status"}};
  dispatcher_.refuse_all(stopping);
  claims_.refuse_all(stopping);
  listener_.finish();
  engine_.flush();
  stop_when_idle();
}

void Server::stop_when_idle() {
  if (!engine_.idle()) return engine_.flush();
  if (!stopped_ && !engine_.storage_full()) {
    stopped_ = true;
    (void)engine_.begin(by_the_service).apply(StopServer{});
    return engine_.flush();
  }
  // What was released with the last commit is on its way to the sockets; it goes first.
  asio::post(io_, [this] { asio::post(io_, [this] { io_.stop(); }); });
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
