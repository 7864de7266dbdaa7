// The service without sockets, with a project whose repository is a real one.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <boost/json/serialize.hpp>

#include "domain/admission.h"
#include "server/git/git_command.h"
#include "tests/server/executor_fixture.h"
#include "tests/server/rpc_site.h"

namespace signalbox {

// A new repository with one commit on `main`.
inline std::filesystem::path make_repository(const std::filesystem::path& path) {
  std::filesystem::create_directories(path);
  EXPECT_TRUE(git(path, {"init", "--quiet", "--initial-branch", "main"}).ok);
  const auto made = git(path, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet",
                               "--allow-empty", "-m", "start"});
  EXPECT_TRUE(made.ok) << made.message;
  return path;
}

class BoardSite : public ::testing::Test, protected RpcSite {
 protected:
  BoardSite() {
    trigger_heartbeat = [this](const std::string& reason) { triggers.push_back(reason); };
  }

  // One request, committed, and its answer from read models that have caught up.
  boost::json::object ask(const std::string& method, const std::string& params = "{}") {
    send(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}");
    commit_all();
    EXPECT_TRUE(projector.catch_up().has_value());
    return peer->next();
  }

  void take(const Command& command) {
    const auto applied = engine.begin({"signalbox", {}, {}}).apply(command);
    commit_all();
    EXPECT_TRUE(applied) << (applied ? "" : applied.error().message);
  }
  // With stations for workers.
  boost::json::object put(const std::string& name, const std::string& more = "") {
    if (repository.empty()) repository = make_repository(root.path() / "site").string();
    return ask(
        "project.put",
        R"({"name":")" + name + R"(","repository":")" + repository +
            R"(","pipeline":{"name":"p","station":[{"name":"implement"},{"name":"verify"}]})" +
            more + "}");
  }
  std::string submit(const std::string& title, const std::string& more = "") {
    const auto answer =
        ask("card.submit", R"({"project":"web","title":")" + title + "\"" + more + "}");
    EXPECT_EQ(code_of(answer), "") << boost::json::serialize(answer);
    return std::string(answer.at("result").at("card_id").as_string());
  }
  // As the heartbeat does: the run of the card that is next.
  RunId start_next() {
    const Card* card = next_to_start(engine.world());
    EXPECT_NE(card, nullptr);
    StartCard command{card->id, run_of_card(*engine.world().find_project(card->project), *card)};
    command.run.run_id = ids.next_run_id(0);
    command.run.pipeline_digest.bytes.front() = 7;
    take(command);
    return command.run.run_id;
  }
  // Claims the run's next station and ends it.
  void work(const std::string& station, const std::string& outcome = "succeeded",
            const std::string& more = "") {
    const auto claimed =
        ask("station.claim", R"({"worker":"ann","stations":[")" + station + "\"]}");
    const auto& claim = claimed.at("result").at("claim").as_object();
    const auto done =
        ask("station.complete", R"({"run_id":")" + std::string(claim.at("run_id").as_string()) +
                                    R"(","station":")" + station + R"(","token":)" +
                                    boost::json::serialize(claim.at("token")) + R"(,"outcome":")" +
                                    outcome + "\"" + more + "}");
    EXPECT_EQ(code_of(done), "") << boost::json::serialize(done);
  }
  boost::json::object card(const std::string& id) {
    const auto answer = ask("card.get", R"({"card_id":")" + id + "\"}");
    EXPECT_EQ(code_of(answer), "") << boost::json::serialize(answer);
    return answer.at("result").at("card").as_object();
  }
  boost::json::object why(const std::string& id) {
    return ask("card.why", R"({"card_id":")" + id + "\"}").at("result").as_object();
  }

  TemporaryDirectory root;
  std::string repository;
  std::vector<std::string> triggers;
};

}  // namespace signalbox
