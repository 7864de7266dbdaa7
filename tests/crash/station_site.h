// A station for each executor that does the same work, and an external worker for the one without
// an executor: for tests of what holds for every executor.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/object.hpp>

#include "tests/crash/connection.h"
#include "tests/crash/server_process.h"
#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/job_endpoint.h"

namespace signalbox::test {

inline const std::vector<std::string> every_executor = {
    "process", "builtin", "coderunner", "checks", "deep_work", "modal", "worker"};

enum class Work {
  until_let_go,  // begins, and ends with success after release_held()
  flooding,      // outputs 300,000 useless bytes if the executor has output, and ends with success
};

class StationSite {
 public:
  StationSite(std::filesystem::path directory, std::string executor)
      : directory_(std::move(directory)), executor_(std::move(executor)) {
    ::setenv("MODAL_TOKEN_ID", "ak-1", 1);
    ::setenv("MODAL_TOKEN_SECRET", "as-2", 1);
    ::unsetenv("CODERUNNER_MODE");
    endpoint_.hold();
  }
  StationSite(const StationSite&) = delete;
  StationSite& operator=(const StationSite&) = delete;
  // Ends work that still runs.
  ~StationSite() { release_held(); }

  [[nodiscard]] bool is_worker() const { return executor_ == "worker"; }
  [[nodiscard]] bool is_remote() const { return executor_ == "modal"; }
  JobEndpoint& endpoint() { return endpoint_; }

  // Returns the params of run.start for one station, with the members of `more` added to it.
  [[nodiscard]] boost::json::object run_of(Work work, const boost::json::object& more = {}) {
    boost::json::object station = station_of(script_of(work));
    station["cancel_grace"] = "200ms";
    station["retry"] = {{"backoff", "10ms"}, {"max_retries", 0}};
    for (const auto& each : more) station[each.key()] = each.value();
    boost::json::object run{
        {"goal", "the same work"},
        {"pipeline", {{"name", "one"}, {"station", boost::json::array{std::move(station)}}}}};
    if (executor_ == "builtin") run["repository"] = repository().string();
    if (work == Work::flooding) {
      endpoint_.result(R"({"outcome":"succeeded","logs":")" + std::string(300'000, 'x') + "\"}");
      release_held();
    }
    return run;
  }

  // Returns how often the work was begun.
  [[nodiscard]] std::size_t executions() {
    // Not submissions(): an endpoint that treats the second request as a repetition of the first
    // hides it.
    if (is_remote()) return static_cast<std::size_t>(endpoint_.requests("POST"));
    return lines_of(executions_file()).size();
  }
  // Lets the work end.
  void release_held() {
    endpoint_.release_held();
    std::ofstream(directory_ / "go").put('\n');
  }
  // Notes that an external worker began the work.
  void begin_here() const { std::ofstream(executions_file(), std::ios::app) << "begun\n"; }
  [[nodiscard]] bool may_end() const { return std::filesystem::exists(directory_ / "go"); }

 private:
  [[nodiscard]] std::filesystem::path executions_file() const { return directory_ / "executions"; }

  [[nodiscard]] std::string script_of(Work work) const {
    const std::string place = "'" + directory_.string() + "'";
    // The output goes to stderr, where no result is expected.
    if (work == Work::flooding) return "yes 0123456789 | head -c 300000 >&2";
    return "echo begun >> " + place + "/executions\nwhile [ -d " + place + " ] && [ ! -e " + place +
           "/go ]; do sleep 0.02; done";
  }

  [[nodiscard]] boost::json::object station_of(const std::string& script) {
    const boost::json::array shell{"sh", "-c", script};
    if (executor_ == "process") {
      return {{"name", "work"}, {"executor", executor_}, {"command", shell}};
    }
    if (executor_ == "builtin") {
      write_program(repository() / ".git/hooks/post-checkout", script);
      return {{"name", "intake"}, {"executor", executor_}};
    }
    if (executor_ == "coderunner") {
      const auto agent = directory_ / "agent";
      write_program(agent, script +
                               "\necho '{\"type\":\"result\",\"subtype\":\"success\","
                               "\"is_error\":false,\"result\":\"done\"}'");
      return {{"name", "work"},
              {"executor", executor_},
              {"command", {agent.string()}},
              {"coderunner", {{"agent", "claude"}, {"mode", "process"}}}};
    }
    if (executor_ == "checks") {
      return {{"name", "work"},
              {"executor", executor_},
              {"checks", {{{"name", "only"}, {"command", shell}, {"timeout", "60s"}}}}};
    }
    if (executor_ == "deep_work") {
      const boost::json::array plan{"sh", "-c", R"(echo '{"steps":[{"id":"a"}]}')"};
      return {
          {"name", "work"},
          {"executor", executor_},
          {"deep_work",
           {{"max_retries", 0}, {"plan", {{"command", plan}}}, {"step", {{"command", shell}}}}}};
    }
    if (is_remote()) {
      return {{"name", "work"},
              {"executor", executor_},
              {"modal", {{"endpoint", endpoint_.url()}, {"poll", "20ms"}}}};
    }
    return {{"name", "work"}};
  }

  static void write_program(const std::filesystem::path& file, const std::string& script) {
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

  [[nodiscard]] std::filesystem::path repository() const {
    const auto path = directory_ / "repository";
    if (!std::filesystem::exists(path)) {
      make_repository(path);
      std::filesystem::create_directories(path / ".git/hooks");
    }
    return path;
  }

  std::filesystem::path directory_;
  std::string executor_;
  JobEndpoint endpoint_;
};

// Claims, works and completes until destroyed. A request without an answer is repeated with the
// same command id, to whichever server then listens.
class OutsideWorker {
 public:
  OutsideWorker(const StationSite& site, std::filesystem::path socket)
      : site_(site), socket_(std::move(socket)), thread_([this] { work(); }) {}
  OutsideWorker(const OutsideWorker&) = delete;
  OutsideWorker& operator=(const OutsideWorker&) = delete;
  ~OutsideWorker() {
    stopping_ = true;
    thread_.join();
  }

 private:
  void work() {
    std::set<std::uint64_t> begun;
    for (int turn = 1; !stopping_; ++turn) {
      const std::string id = std::to_string(turn);
      const auto claimed = call_until_answered("station.claim", {{"worker", "outside"},
                                                                 {"lease_ms", 60'000},
                                                                 {"wait_ms", 200},
                                                                 {"command_id", "claim-" + id}});
      const boost::json::value* claim = claimed && claimed->contains("result")
                                            ? claimed->at("result").as_object().if_contains("claim")
                                            : nullptr;
      if (claim == nullptr || !claim->is_object()) continue;
      const auto& held = claim->get_object();
      if (begun.insert(number_of(held.at("token"))).second) site_.begin_here();
      while (!stopping_ && !site_.may_end()) pause();
      call_until_answered("station.complete", {{"run_id", held.at("run_id")},
                                               {"station", held.at("station")},
                                               {"token", held.at("token")},
                                               {"outcome", "succeeded"},
                                               {"summary", "done outside"},
                                               {"command_id", "complete-" + id}});
    }
  }

  // Returns the answer, a result or an error; nullopt at the end of the test.
  std::optional<boost::json::object> call_until_answered(const char* method,
                                                         const boost::json::object& params) {
    while (!stopping_) {
      if (auto answer = answer_of(socket_, method, params)) return answer;
      pause();
    }
    return std::nullopt;
  }

  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

  const StationSite& site_;
  std::filesystem::path socket_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox::test
