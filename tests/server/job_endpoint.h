// A job endpoint on loopback (JOBS.md, "Remote jobs") whose faults a test chooses.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

namespace signalbox::test {

class JobEndpoint {
 public:
  // What happens to the next request of a method instead of its answer.
  struct Fault {
    std::string method;
    unsigned status = 0;                // answered with this
    std::string body = {};              // and this
    unsigned retry_after_s = 0;         // and this
    bool take_effect = false;           // after what was asked for was done
    bool cut = false;                   // no answer: the connection ends
    bool redirect = false;              // 303 to the same call with ?again=1
    std::chrono::milliseconds slow{0};  // the body's second half comes this much later
  };

  JobEndpoint() : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] { serve(); });
  }
  ~JobEndpoint() {
    stopping_ = true;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket last(io_);  // wakes accept()
    last.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
    for (std::thread& each : connections_) each.join();
  }
  JobEndpoint(const JobEndpoint&) = delete;
  JobEndpoint& operator=(const JobEndpoint&) = delete;

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + "/jobs";
  }
  void fail_next(Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(std::move(fault));
  }
  // Every call ends with this result, at once or when it is told.
  void result(std::string text) {
    const std::lock_guard lock(mutex_);
    result_ = std::move(text);
  }
  void hold() { holding_ = true; }
  void let_go() { holding_ = false; }
  void forget_all() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }
  // How often a job of this id was started.
  [[nodiscard]] int submissions(const std::string& job_id) {
    const std::lock_guard lock(mutex_);
    const auto place = submissions_.find(job_id);
    return place == submissions_.end() ? 0 : place->second;
  }
  [[nodiscard]] int submissions() {
    const std::lock_guard lock(mutex_);
    int sum = 0;
    for (const auto& [id, count] : submissions_) sum += count;
    return sum;
  }
  [[nodiscard]] int requests(const std::string& method) {
    const std::lock_guard lock(mutex_);
    return requests_[method];
  }
  [[nodiscard]] bool was_canceled(const std::string& call_id) {
    const std::lock_guard lock(mutex_);
    return canceled_.contains(call_id);
  }
  [[nodiscard]] boost::json::value last_task() {
    const std::lock_guard lock(mutex_);
    return last_task_;
  }
  [[nodiscard]] std::map<std::string, std::string> last_headers() {
    const std::lock_guard lock(mutex_);
    return last_headers_;
  }

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Socket = boost::asio::ip::tcp::socket;

  void serve() {
    while (!stopping_) {
      Socket socket(io_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (error || stopping_) continue;
      connections_.emplace_back([this, own = std::move(socket)]() mutable { answer(own); });
    }
  }

  void answer(Socket& socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    Request request;
    boost::system::error_code error;
    http::read(socket, buffer, request, error);
    if (error) return;
    const std::string method(request.method_string());
    const std::optional<Fault> fault = next_fault(method);
    Response response;
    if (!fault || fault->take_effect || fault->status == 0) response = handle(request, method);
    if (fault && fault->cut) return;
    if (fault && fault->redirect) {
      response.result(303);
      response.set(http::field::location, std::string(request.target()) + "?again=1");
      response.body().clear();
    }
    if (fault && fault->status != 0) {
      response.result(fault->status);
      response.body() = fault->body;
      if (fault->retry_after_s > 0) {
        response.set(http::field::retry_after, std::to_string(fault->retry_after_s));
      }
    }
    response.keep_alive(false);
    response.prepare_payload();
    if (!fault || fault->slow.count() == 0) {
      http::write(socket, response, error);
      return;
    }
    std::ostringstream text;
    text << response;
    const std::string whole = text.str();
    const std::size_t first = whole.size() - response.body().size() / 2;
    boost::asio::write(socket, boost::asio::buffer(whole.data(), first), error);
    std::this_thread::sleep_for(fault->slow);
    boost::asio::write(socket, boost::asio::buffer(whole.data() + first, whole.size() - first),
                       error);
  }

  std::optional<Fault> next_fault(const std::string& method) {
    const std::lock_guard lock(mutex_);
    ++requests_[method];
    if (faults_.empty() || faults_.front().method != method) return std::nullopt;
    Fault fault = faults_.front();
    faults_.pop_front();
    return fault;
  }

  Response handle(const Request& request, const std::string& method) {
    const std::lock_guard lock(mutex_);
    Response response;
    last_headers_.clear();
    for (const auto& field : request) {
      last_headers_[std::string(field.name_string())] = std::string(field.value());
    }
    const std::string target(request.target());
    if (method == "POST") return submit(request);
    const std::string path = target.substr(0, target.find('?'));
    if (path == "/jobs") {  // ?id=
      const auto place = call_of_.find(target.substr(target.find('=') + 1));
      if (place == call_of_.end()) return status(404);
      return call(place->second);
    }
    const std::string call_id = path.substr(std::string("/jobs/").size());
    if (!calls_.contains(call_id)) return status(404);
    if (method == "DELETE") {
      canceled_.insert(call_id);
      calls_.erase(call_id);
      return status(204);
    }
    if (holding_) return status(202);
    response.result(200);
    response.body() = result_;
    return response;
  }

  Response submit(const Request& request) {
    last_task_ = boost::json::parse(request.body());
    const std::string id(last_task_.at("id").as_string());
    const auto known = call_of_.find(id);
    if (known != call_of_.end()) return call(known->second);
    ++submissions_[id];
    const std::string call_id = "call-" + std::to_string(++calls_made_);
    calls_.insert(call_id);
    call_of_[id] = call_id;
    return call(call_id);
  }

  static Response status(unsigned code) {
    Response response;
    response.result(code);
    return response;
  }
  static Response call(const std::string& call_id) {
    Response response = status(200);
    response.body() = R"({"call_id":")" + call_id + "\"}";
    return response;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
  std::vector<std::thread> connections_;  // of serve()'s thread until it has ended
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> holding_ = false;
  std::mutex mutex_;
  std::deque<Fault> faults_;
  std::string result_ = R"({"outcome":"succeeded","summary":"done remotely"})";
  std::set<std::string> calls_;
  std::set<std::string> canceled_;
  std::map<std::string, std::string> call_of_;  // job id → call id
  std::map<std::string, int> submissions_;
  std::map<std::string, int> requests_;
  std::map<std::string, std::string> last_headers_;
  boost::json::value last_task_;
  int calls_made_ = 0;
};

}  // namespace signalbox::test
