#include "tools/bench/bench_worker.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <boost/json/parse.hpp>

#include "domain/try.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The id of a request encodes its method.
constexpr char start_id = '1';
constexpr char complete_id = '3';  // 2 is a claim

// A pipeline of five stations, all for external workers.
constexpr std::string_view start_request =
    R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"measure","pipeline":{"name":"bench","station":[)"
    R"({"name":"intake"},{"name":"plan"},{"name":"implement"},{"name":"verify"},{"name":"create_pr"}]}}})"
    "\n";

// Returns the text between `before` and the next character of `end`, searching from `at`, and
// moves `at` to its end.
std::string_view text_between(std::string_view text, std::size_t& at, std::string_view before,
                              std::string_view end) {
  const auto start = text.find(before, at);
  if (start == std::string_view::npos) return {};
  const auto first = start + before.size();
  const auto last = text.find_first_of(end, first);
  if (last == std::string_view::npos) return {};
  at = last;
  return text.substr(first, last - first);
}

// Returns the error of an answer that isn't a result.
CallError refusal_in(std::string_view line) {
  boost::json::error_code malformed;
  boost::json::value answer = boost::json::parse(line, malformed);
  if (!malformed && answer.is_object()) {
    boost::json::value* const error = answer.get_object().if_contains("error");
    if (error != nullptr && error->is_object()) {
      return refused_by_server(std::move(error->get_object()));
    }
  }
  return io_error("the server answered: " + std::string(line));
}

}  // namespace

Called<BenchWorker> BenchWorker::connect(const std::filesystem::path& socket, std::size_t number) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket.string();
  if (path.size() >= sizeof address.sun_path) {
    return tl::unexpected(usage_error("the path of the socket is too long: " + path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  BenchWorker worker(descriptor, "bench-" + std::to_string(number));
  if (descriptor < 0 ||
      ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return tl::unexpected(io_error("can't connect to " + path + ": " + std::strerror(errno)));
  }
  return worker;
}

BenchWorker::BenchWorker(BenchWorker&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)),
      outgoing_(std::move(other.outgoing_)),
      incoming_(std::move(other.incoming_)),
      unanswered_(other.unanswered_),
      completed_at_(other.completed_at_),
      run_id_(std::move(other.run_id_)),
      started_at_(std::move(other.started_at_)) {}

BenchWorker::~BenchWorker() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void BenchWorker::start_run(bool and_claim) {
  outgoing_ += start_request;
  started_at_.push_back(SteadyClock::now());
  ++unanswered_;
  if (and_claim) claim();
}

void BenchWorker::claim() {
  outgoing_ += R"({"jsonrpc":"2.0","id":2,"method":"station.claim","params":{"worker":")" + name_ +
               R"(","wait_ms":1000}})"
               "\n";
  ++unanswered_;
}

void BenchWorker::complete(std::string_view claim) {
  std::size_t at = 0;
  run_id_ = text_between(claim, at, R"("run_id":")", "\"");
  const auto station = text_between(claim, at, R"("station":")", "\"");
  const auto token = text_between(claim, at, R"("token":)", ",}");
  outgoing_ += R"({"jsonrpc":"2.0","id":3,"method":"station.complete","params":{"run_id":")";
  outgoing_ += run_id_;
  outgoing_ += R"(","station":")";
  outgoing_ += station;
  outgoing_ += R"(","token":)";
  outgoing_ += token;
  outgoing_ += R"(,"outcome":"succeeded","claim_next":true}})"
               "\n";
  ++unanswered_;
  completed_at_ = SteadyClock::now();
}

void BenchWorker::end_run(LoadCount& count) {
  const auto run = count.open_runs.find(run_id_);
  if (run == count.open_runs.end()) return;  // started before the load
  if (count.measuring) count.runs.add(SteadyClock::now() - run->second);
  count.open_runs.erase(run);
}

Called<void> BenchWorker::on_answer(std::string_view line, LoadCount& count) {
  constexpr std::size_t id_at = std::string_view(R"({"jsonrpc":"2.0","id":)").size();
  constexpr std::string_view result = R"(,"result":{)";
  if (line.size() < id_at + 1 || line.substr(id_at + 1, result.size()) != result) {
    return tl::unexpected(refusal_in(line));
  }
  --unanswered_;
  const char id = line[id_at];
  if (id == start_id) {
    std::size_t at = 0;
    count.open_runs.emplace(text_between(line, at, R"("run_id":")", "\""), started_at_.front());
    started_at_.pop_front();
    return {};
  }
  if (id == complete_id) {
    if (line.find(R"("station_status":"succeeded")") == std::string_view::npos) {
      return tl::unexpected(io_error("not completed: " + std::string(line)));
    }
    if (count.measuring) {
      ++count.stations;
      count.completes.add(SteadyClock::now() - completed_at_);
    }
    if (line.find(R"("run_status":"succeeded")") != std::string_view::npos) {
      end_run(count);
      start_run(false);
    }
  }
  const auto held = line.find(R"("claim":{)");
  if (held == std::string_view::npos) {
    claim();
  } else {
    complete(line.substr(held));
  }
  return {};
}

Called<void> BenchWorker::on_readable(LoadCount& count) {
  char buffer[64 * 1024];
  const ssize_t got = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (got <= 0) return tl::unexpected(io_error("the server closed a connection"));
  incoming_.append(buffer, static_cast<std::size_t>(got));
  std::size_t start = 0;
  for (std::size_t end = 0; (end = incoming_.find('\n', start)) != std::string::npos;
       start = end + 1) {
    const std::string_view line(incoming_.data() + start, end - start);
    TRY(on_answer(line, count));
  }
  incoming_.erase(0, start);
  return flush();
}

Called<void> BenchWorker::flush() {
  std::string_view left = outgoing_;
  while (!left.empty()) {
    const ssize_t sent = ::send(descriptor_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return tl::unexpected(io_error(std::string("send: ") + std::strerror(errno)));
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  outgoing_.clear();
  return {};
}

}  // namespace signalbox
