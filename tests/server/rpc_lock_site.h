// Fixture for tests of `lock.*`: the in-memory service with calls for acquiring, waiting for and
// using the lock "deploy".
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/rpc_site.h"

namespace signalbox {

class RpcLock : public ::testing::Test, protected RpcSite {
 protected:
  std::shared_ptr<ListeningPeer> waiter(const std::string& owner, const std::string& more = {},
                                        const std::string& actor = "uid:1") {
    return send_from("lock.acquire",
                     R"({"key":"deploy","wait_ms":60000,"owner":")" + owner + "\"" + more + "}",
                     actor);
  }
  boost::json::object acquire(const std::string& owner, const std::string& more = {}) {
    return ask("lock.acquire",
               R"({"key":"deploy","lease_ms":1000,"owner":")" + owner + "\"" + more + "}");
  }
  boost::json::object call_lock(const std::string& method, std::uint64_t token,
                                const std::string& more = {}) {
    return ask(method, R"({"key":"deploy","token":)" + std::to_string(token) + more + "}");
  }
  static std::uint64_t token_of(const boost::json::object& answer) {
    return answer.at("result").at("token").to_number<std::uint64_t>();
  }
  // Runs the lock queue and due timers as a turn of the server does, and commits.
  void serve() {
    locks.serve(clock.monotonic_ns());
    for (const Command& command : timers.take_due(engine.world(), clock.monotonic_ns())) {
      (void)engine.begin({"signalbox", {}, {}}).apply(command);
    }
    locks.serve(clock.monotonic_ns());
    commit_all();
  }
  // Returns the owner who got the lock, an error's code, or "waits".
  static std::string outcome(ListeningPeer& client) {
    if (client.lines.empty()) return "waits";
    const auto answer = client.next();
    if (answer.contains("error")) return code_of(answer);
    return std::string(answer.at("result").at("owner").as_string());
  }
  // Returns the names of the events, one string per commit.
  std::vector<std::string> commits() const {
    std::vector<std::string> names;
    for (Position at = 1; at <= log.tail();) {
      const auto commit = log.read_commit(at);
      std::string line;
      for (const Record& record : *commit) {
        line += (line.empty() ? "" : " ") + std::string(tag_of(record.event).name);
      }
      names.push_back(line);
      at = commit->back().position + 1;
    }
    return names;
  }
};

}  // namespace signalbox
