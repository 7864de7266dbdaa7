#include "tools/runner/job_relay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/access/caller.h"
#include "server/executors/process/job_processes.h"
#include "server/rpc/responder.h"

namespace signalbox {
namespace {

using std::chrono::milliseconds;

// Connections of all jobs together, of one job, and of processes that can't be told to be of a job,
// such as those in containers.
constexpr std::size_t relayed_max = 256;
constexpr std::size_t relayed_of_job_max = 32;
constexpr std::size_t relayed_of_others_max = 128;
// Connections that were refused and are kept until their peers have had time to read that.
constexpr std::size_t refused_max = 16;
constexpr milliseconds accept_pause{100};  // after a failure
constexpr std::size_t passed_bytes = 16 * 1024;

// Returns false at the end of the connection.
bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool is_own_user(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
         is_owner(credentials.uid, ::geteuid());
}

// Returns the job to which the other end belongs; "" if that isn't known.
std::string job_id_of(int socket, const std::filesystem::path& jobs) {
  const auto no_secret = [](std::string_view) -> std::optional<std::string> { return {}; };
  return job_of_peer(socket, jobs, no_secret).job_id.value_or("");
}

// How long the service may be silent after the job's end of its output: then it has answered all.
constexpr int half_closed_ms_max = 5'000;

// Passes what the service has sent on to the job. Returns false at the end of either.
bool pass_answers(int job, ServerConnection& server) {
  std::array<char, passed_bytes> bytes{};
  for (;;) {
    const auto has_some = server.await(milliseconds(0));
    if (!has_some) return false;
    if (!*has_some) return true;
    const auto got = server.receive(bytes);
    if (!got || *got == 0 || !send_all(job, {bytes.data(), *got})) return false;
  }
}

// Passes what has come from one end on to the other, until either ends. A job may end its output
// before it has its answers.
void pass_all(int job, ServerConnection& server) {
  bool is_half_closed = false;
  for (;;) {
    std::array<pollfd, 2> ends{pollfd{is_half_closed ? -1 : job, POLLIN, 0},
                               pollfd{server.descriptor(), POLLIN, 0}};
    const int ready = ::poll(ends.data(), ends.size(), is_half_closed ? half_closed_ms_max : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    if (ends[0].revents != 0) {
      std::array<char, passed_bytes> bytes{};
      const ssize_t got = ::recv(job, bytes.data(), bytes.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return;
      is_half_closed = got == 0;
      if (got > 0 && !server.send({bytes.data(), static_cast<std::size_t>(got)})) return;
    }
    if (!pass_answers(job, server)) return;
  }
}

}  // namespace

struct JobRelay::Connection {
  FileDescriptor job;
  std::string job_id;
  std::optional<ServerConnection> server;
  std::thread thread;
  bool is_over = false;
};

Called<std::unique_ptr<JobRelay>> JobRelay::listen(const std::filesystem::path& path,
                                                   ServerAddress server,
                                                   std::filesystem::path jobs) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) {
    return tl::unexpected(usage_error("the work directory's path is too long for its socket, " +
                                      text + ": at most " +
                                      std::to_string(sizeof address.sun_path - 1) + " bytes"));
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::unlink(text.c_str());
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(text.c_str(), 0600) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
    return tl::unexpected(io_error("can't listen on " + text + ": " + std::strerror(errno)));
  }
  return std::unique_ptr<JobRelay>(
      new JobRelay(std::move(socket), std::move(server), std::move(jobs)));
}

JobRelay::JobRelay(FileDescriptor socket, ServerAddress server, std::filesystem::path jobs)
    : socket_(std::move(socket)),
      jobs_(std::move(jobs)),
      server_(std::move(server)),
      thread_([this] { accept_all(); }) {}

JobRelay::~JobRelay() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ended_.notify_all();
    ::shutdown(socket_.get(), SHUT_RDWR);
    for (Connection& each : connections_) {
      ::shutdown(each.job.get(), SHUT_RDWR);
      if (each.server) each.server->interrupt();
    }
  }
  thread_.join();
  for (Connection& each : connections_) each.thread.join();
}

void JobRelay::accept_all() {
  for (;;) {
    FileDescriptor job(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (job && !is_own_user(job.get())) continue;
    std::string job_id = job ? job_id_of(job.get(), jobs_) : std::string();
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    std::erase_if(connections_, [](Connection& each) {
      if (each.is_over) each.thread.join();
      return each.is_over;
    });
    if (!job) {
      (void)ended_.wait_for(lock, accept_pause);
      continue;
    }
    if (!has_place_for(job_id)) {
      lock.unlock();
      refuse(std::move(job));
      continue;
    }
    Connection& connection = connections_.emplace_back();
    connection.job = std::move(job);
    connection.job_id = std::move(job_id);
    connection.thread = std::thread([this, &connection] { pass(connection); });
  }
}

bool JobRelay::has_place_for(const std::string& job_id) const {
  const auto own = std::count_if(connections_.begin(), connections_.end(),
                                 [&](const Connection& each) { return each.job_id == job_id; });
  const std::size_t own_max = job_id.empty() ? relayed_of_others_max : relayed_of_job_max;
  return connections_.size() < relayed_max && static_cast<std::size_t>(own) < own_max;
}

// Closed at once, it would lose the answer for a peer that has yet to send its request.
void JobRelay::refuse(FileDescriptor job) {
  const Rejection why{
      ErrorCode::OVERLOADED,
      "too many connections of this job, or of its runner's jobs, are open; end some first",
      {{"relayed_of_job_max", static_cast<std::int64_t>(relayed_of_job_max)},
       {"relayed_max", static_cast<std::int64_t>(relayed_max)}},
      {}};
  const std::string answer = error_line("", why) + "\n";
  (void)::send(job.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(job.get(), SHUT_WR);
  if (refused_.size() >= refused_max) refused_.pop_front();
  refused_.push_back(std::move(job));
}

void JobRelay::put_first(const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  server_ = server_.from(endpoint);
}

void JobRelay::pass(Connection& connection) {
  const ServerAddress server = [this] {
    const std::lock_guard lock(mutex_);
    return server_;
  }();
  for (const Endpoint& endpoint : server.endpoints) {
    auto opened = ServerConnection::open(server, endpoint, connect_time_max, milliseconds(0));
    if (!opened) continue;
    const std::lock_guard lock(mutex_);
    if (!stopping_) connection.server.emplace(std::move(*opened));
    break;
  }
  if (connection.server) pass_all(connection.job.get(), *connection.server);
  const std::lock_guard lock(mutex_);
  ::shutdown(connection.job.get(), SHUT_RDWR);
  connection.server.reset();
  connection.is_over = true;
  ended_.notify_all();
}

}  // namespace signalbox
