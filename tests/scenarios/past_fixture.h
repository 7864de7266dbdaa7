// Fixture for tests of the past: a history, and the server's answers after each part of it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {

class PastCliTest : public CliTest {
 protected:
  PastCliTest() : CliTest({"--watchdog-interval", "1h", "--listen", "127.0.0.1:0"}) {}

  // Makes a history, and keeps the server's answers after each part of it.
  void live() {
    keep();
    first_ = start_run("the first");
    keep();
    const std::string token = claim(first_);
    keep();
    ASSERT_EQ(complete(first_, "plan", token, "succeeded").exit_code, 0);
    keep();
    result({"lock", "acquire", "deploy", "--owner", "ops", "--lease-ms", "3600000"});
    keep();
    second_ = start_run("the second");
    ASSERT_EQ(server_.cli({"run", "cancel", second_}).exit_code, 0);
    keep();
    ASSERT_EQ(complete(first_, "implement", claim(first_), "failed").exit_code, 0);
    keep();
    result({"lock", "release", "deploy", "--token",
            boost::json::serialize(
                result({"lock", "get", "deploy"}).at("lock").as_object().at("token"))});
    keep();
  }
  // All answers must be of one position: if a retry falls due in between, they are asked again.
  void keep() {
    Moment moment;
    do {
      moment.position = boost::json::serialize(rpc("server.status").at("position"));
      moment.answers.clear();
      for (const auto& query : queries()) moment.answers.push_back(server_.cli(query).out);
    } while (boost::json::serialize(rpc("server.status").at("position")) != moment.position);
    moments_.push_back(std::move(moment));
  }
  [[nodiscard]] std::vector<std::vector<std::string>> queries() const {
    std::vector<std::vector<std::string>> found{{"run", "list", "--json"},
                                                {"tick", "list", "--json"},
                                                {"strategy", "list", "--json"},
                                                {"server", "crash-report", "--json"}};
    for (const std::string& run : {first_, second_}) {
      if (!run.empty()) found.push_back({"run", "get", run, "--json"});
    }
    return found;
  }

  // Expects that each query, asked by `ask` about each moment, gives what it gave then.
  using AskAt =
      std::function<std::string(std::vector<std::string> words, const std::string& position)>;
  void expect_what_was_given(const AskAt& ask) {
    const std::string first = std::exchange(first_, {});
    const std::string second = std::exchange(second_, {});
    for (std::size_t index = 0; index < moments_.size(); ++index) {
      if (index >= 1) first_ = first;
      if (index >= 5) second_ = second;
      const auto asked = queries();
      ASSERT_EQ(asked.size(), moments_[index].answers.size());
      for (std::size_t query = 0; query < asked.size(); ++query) {
        EXPECT_EQ(ask(asked[query], moments_[index].position), moments_[index].answers[query])
            << asked[query][0] << " " << asked[query][1] << " at " << moments_[index].position;
      }
    }
  }
  // Returns the address of the server, in the form that --server takes.
  [[nodiscard]] std::string address() const {
    constexpr std::string_view words = "listening on 127.0.0.1:";
    const std::string messages = server_.messages();
    const std::size_t port = messages.rfind(words) + words.size();
    return "tcp://127.0.0.1:" + messages.substr(port, messages.find('\n', port) - port);
  }

  struct Moment {
    std::string position;
    std::vector<std::string> answers;
  };
  std::string first_;
  std::string second_;
  std::vector<Moment> moments_;
};

}  // namespace signalbox
