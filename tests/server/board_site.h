// Fixture for tests of the board: the in-memory service of rpc_site.h with a project whose
// repository is a real one.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <boost/json/serialize.hpp>

#include "domain/admission.h"
#include "tests/fixtures/git_repository.h"
#include "tests/server/executor_fixture.h"
#include "tests/server/rpc_site.h"

namespace signalbox {

class BoardSite : public ::testing::Test, protected RpcSite {
 protected:
  BoardSite() {
    trigger_heartbeat = [this](const std::string& reason) { triggers.push_back(reason); };
  }

  // Puts a project whose pipeline has two worker stations; returns the response.
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
  // Starts the run of the next card, as the heartbeat does; returns the run's id.
  RunId start_next() {
    const Card* card = next_to_start(engine.world());
    EXPECT_NE(card, nullptr);
    StartCard command{card->id, run_of_card(*engine.world().find_project(card->project), *card)};
    command.run.run_id = ids.next_run_id(0);
    command.run.pipeline_digest.bytes.front() = 7;
    take(command);
    return command.run.run_id;
  }
  // Starts the run that merges the card, by a worker's station; returns the run's id.
  RunId start_merge(const std::string& id) {
    const Card& verified = *engine.world().board.find(*parse_uuid(id));
    MergeCard command{verified.id,
                      run_of_merge(*engine.world().find_project(verified.project), verified)};
    command.run.pipeline->stations = {StationDefinition{}};
    command.run.pipeline->stations.front().name = "merge";
    command.run.run_id = ids.next_run_id(0);
    command.run.pipeline_digest.bytes.front() = 8;
    take(command);
    return command.run.run_id;
  }
  // Claims `station` and completes it with `outcome`.
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
