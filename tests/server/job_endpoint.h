// A job endpoint on loopback (JOBS.md, "Remote jobs") with faults chosen by a test.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>

#include <boost/json.hpp>

#include "tests/server/faulty_endpoint.h"

namespace signalbox::test {

class JobEndpoint final : public FaultyEndpoint {
 public:
  JobEndpoint() { begin(); }
  ~JobEndpoint() override { end(); }

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port()) + "/jobs";
  }
  // Sets the result of every call. Calls end at once, or after hold() only once release_held() is
  // called.
  void result(std::string text) {
    const std::lock_guard lock(mutex_);
    result_ = std::move(text);
  }
  void hold() { holding_ = true; }
  void release_held() { holding_ = false; }
  void forget_all() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }
  // Returns how often a job with this id was started.
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
  Response handle(const Request& request, const std::string& method) override {
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

  std::atomic<bool> holding_ = false;
  std::string result_ = R"({"outcome":"succeeded","summary":"done remotely"})";
  std::set<std::string> calls_;
  std::set<std::string> canceled_;
  std::map<std::string, std::string> call_of_;  // job id → call id
  std::map<std::string, int> submissions_;
  std::map<std::string, std::string> last_headers_;
  boost::json::value last_task_;
  int calls_made_ = 0;
};

}  // namespace signalbox::test
