// The start after a clean stop, after a crash, and on a damaged directory.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/crash/offline_fold.h"
#include "tests/crash/server_test.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

class Restart : public ServerTest {
 protected:
  Restart() : ServerTest({"--snapshot-events", "1000"}) {}

  // Returns how the newest start classified the end of the server before it.
  std::string previous() {
    return std::string(events("ServerStarted").back().at("data").at("previous").as_string());
  }
  // Returns a pipeline of one station for external workers, with this backoff before each retry.
  static json::object pipeline(const char* backoff) {
    return {
        {"name", "one"},
        {"station", {{{"name", "work"}, {"retry", {{"max_retries", 3}, {"backoff", backoff}}}}}}};
  }
  json::object claim(json::object params) {
    params["worker"] = "w";
    const json::value claimed = call("station.claim", std::move(params)).at("claim");
    EXPECT_TRUE(claimed.is_object());
    return claimed.is_object() ? claimed.get_object() : json::object{};
  }
  static json::object held(const json::object& claim, json::object more = {}) {
    for (const char* field : {"run_id", "station", "token"}) more[field] = claim.at(field);
    return more;
  }
};

TEST_F(Restart, ASecondServerEndsAtOnceAndNamesTheFirst) {  // S6
  start();
  const ProcessOutput second =
      run_program({SIGNALBOX_BINARY, "serve", "--data", server_.data().string(), "--socket",
                   (scratch_.path() / "other.sock").string()});
  EXPECT_EQ(second.end.exit_code, 75);
  EXPECT_NE(second.text.find(std::to_string(server_.pid())), std::string::npos) << second.text;
  EXPECT_EQ(call("server.status", {}).at("incarnation"), 1);
}

// A server must not take over another server's socket; the socket of a killed server is free.
TEST_F(Restart, AServerTakesNobodysSocket) {
  start();
  const auto serve_beside = [&] {
    return run_program({SIGNALBOX_BINARY, "serve", "--data", (scratch_.path() / "beside").string(),
                        "--socket", server_.socket().string()});
  };
  const ProcessOutput second = serve_beside();
  EXPECT_EQ(second.end.exit_code, 78);
  EXPECT_NE(second.text.find("another server listens at " + server_.socket().string()),
            std::string::npos)
      << second.text;
  EXPECT_EQ(call("server.status", {}).at("data_directory").as_string(), server_.data().string());
  // A server that is stopped and can't answer still owns its socket.
  ::kill(server_.pid(), SIGSTOP);
  EXPECT_EQ(serve_beside().end.exit_code, 78);
  ::kill(server_.pid(), SIGCONT);
  EXPECT_EQ(call("server.status", {}).at("data_directory").as_string(), server_.data().string());
  const std::string nowhere = (scratch_.path() / "nowhere" / "s").string();
  const ProcessOutput lost =
      run_program({SIGNALBOX_BINARY, "serve", "--data", (scratch_.path() / "beside").string(),
                   "--socket", nowhere});
  EXPECT_EQ(lost.end.exit_code, 78);
  EXPECT_NE(lost.text.find("can't listen at " + nowhere + ": No such file or directory"),
            std::string::npos)
      << lost.text;
  crash_and_start();
  // A file at the socket's path that isn't its own must not be removed.
  std::filesystem::rename(server_.socket(), scratch_.path() / "elsewhere");
  std::ofstream(server_.socket()) << "somebody's";
  EXPECT_EQ(server_.stop().exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(server_.socket()));
}

TEST_F(Restart, ACleanStopIsRecordedAndTheNextStartKnows) {  // T8
  start();
  EXPECT_EQ(previous(), "none");
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  EXPECT_FALSE(std::filesystem::exists(server_.socket()));
  start();
  EXPECT_EQ(previous(), "clean");
  const json::array all = events();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].at("type"), "ServerStopped");
  EXPECT_EQ(all[1].at("data").at("incarnation"), 1);
  EXPECT_EQ(all[2].at("data").at("incarnation"), 2);
  crash_and_start();
  EXPECT_EQ(previous(), "crashed");
  // Only the start after a crash, and what it found, is recorded.
  ASSERT_EQ(events().size(), 5U);
  EXPECT_EQ(events()[4].at("type"), "RecoveryFinished");
}

TEST_F(Restart, AStopAnswersWhoWaits) {
  start();
  auto waiting = Connection::open(server_.socket());
  ASSERT_TRUE(
      waiting->send(request_line(1, "station.claim", {{"worker", "w"}, {"wait_ms", 60'000}})));
  while (number_of(call("server.status", {}).at("waiting_claims")) == 0) {
  }
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  const auto answer = waiting->message();
  ASSERT_TRUE(answer);
  EXPECT_EQ(error_code_of(*answer), "SHUTTING_DOWN");
}

TEST_F(Restart, WithoutItsProjectionsNothingIsDifferent) {  // P6
  start();
  std::vector<std::string> ids;
  for (int number = 0; number < 450; ++number) {
    const json::object started = call("run.start", {{"goal", "run " + std::to_string(number)},
                                                    {"project", number % 2 == 0 ? "even" : "odd"},
                                                    {"pipeline", pipeline("1ms")}});
    ids.emplace_back(started.at("run_id").as_string());
    const json::object claimed = claim({});
    if (number % 3 != 0) {
      call("station.complete", held(claimed, {{"outcome", number % 3 == 1 ? "succeeded" : "failed"},
                                              {"summary", "s"}}));
    }
  }
  ASSERT_EQ(server_.stop().exit_code, 0) << server_.log();
  const auto ask_all = [&] {
    start();
    std::vector<std::string> answers;
    for (json::object params :
         {json::object{{"limit", 500}}, json::object{{"project", "odd"}, {"limit", 500}},
          json::object{{"status", "failed"}}, json::object{{"status", "running"}}}) {
      json::object page = call("run.list", std::move(params));
      page.erase("position");
      answers.push_back(json::serialize(page));
    }
    for (std::size_t number = 0; number < ids.size(); number += 37) {
      json::object run = call("run.get", {{"run_id", ids[number]}});
      run.erase("position");
      answers.push_back(json::serialize(run));
    }
    const json::object status = call("server.status", {});
    const auto digest = OfflineFold(server_.data()).digest_at(number_of(status.at("position")));
    EXPECT_TRUE(digest && to_hex(*digest) == status.at("state_digest").as_string());
    return answers;
  };
  const auto before = ask_all();
  ASSERT_EQ(server_.stop().exit_code, 0) << server_.log();
  ASSERT_FALSE(std::filesystem::is_empty(server_.data() / "projections" / "snapshots"));
  ASSERT_GT(std::filesystem::remove_all(server_.data() / "projections"), 3U);
  const auto after = ask_all();
  EXPECT_EQ(before, after);
}

TEST_F(Restart, NothingIsServedFromADamagedLog) {  // P5
  start();
  for (int number = 0; number < 200; ++number) call("run.start", {{"goal", "whole"}});
  ASSERT_EQ(server_.stop().exit_code, 0);
  // The largest file has the events.
  std::filesystem::path largest;
  for (const auto& file : std::filesystem::directory_iterator(server_.data() / "log")) {
    if (file.is_regular_file() &&
        (largest.empty() || file.file_size() > std::filesystem::file_size(largest))) {
      largest = file.path();
    }
  }
  const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(largest) / 2);
  std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(middle);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(middle);
  file.put(byte);
  file.close();
  server_.launch();
  EXPECT_EQ(server_.wait().exit_code, 78) << server_.log();
  EXPECT_TRUE(server_.logs(largest.filename().string())) << largest << "\n" << server_.log();
}

TEST_F(Restart, ACommandIdGivesItsFirstResultInEveryLife) {  // P3
  start();
  const json::object params{{"goal", "once"}, {"command_id", "c-1"}, {"pipeline", pipeline("1ms")}};
  const std::string run_id(call("run.start", params).at("run_id").as_string());
  const json::object claim_params{{"worker", "w"}, {"command_id", "c-2"}};
  const json::object claimed = call("station.claim", claim_params).at("claim").as_object();
  json::object complete = held(claimed, {{"outcome", "succeeded"}, {"command_id", "c-3"}});
  const json::object completed = call("station.complete", complete);
  for (int restart = 0; restart < 3; ++restart) {
    crash_and_start();
    const json::object again = call("run.start", params);
    EXPECT_EQ(again.at("run_id"), json::value(run_id));
    EXPECT_EQ(again.at("replayed"), true);
    json::object claim_again = call("station.claim", claim_params);
    EXPECT_EQ(claim_again.at("claim"), claimed) << json::serialize(claim_again);
    EXPECT_EQ(claim_again.at("replayed"), true);
    const json::object complete_again = call("station.complete", complete);
    EXPECT_EQ(complete_again.at("run_status"), completed.at("run_status"));
    EXPECT_EQ(complete_again.at("replayed"), true);
    EXPECT_EQ(refusal("run.start", {{"goal", "another"}, {"command_id", "c-1"}}),
              "IDEMPOTENCY_CONFLICT");
  }
  EXPECT_EQ(events({{"run_id", run_id}}).size(), 4U);
}

TEST_F(Restart, AnIdempotencyKeyHasOneRunInEveryLife) {  // P3, S2
  start();
  const json::object params{{"goal", "once"}, {"idempotency_key", "k"}, {"labels", {{"a", "b"}}}};
  const auto run_id = call("run.start", params).at("run_id");
  for (int restart = 0; restart < 2; ++restart) {
    crash_and_start();
    const json::object again = call("run.start", params);
    EXPECT_EQ(again.at("run_id"), json::value(run_id));
    EXPECT_EQ(again.at("replayed"), true);
    EXPECT_EQ(refusal("run.start", {{"goal", "other"}, {"idempotency_key", "k"}}),
              "IDEMPOTENCY_CONFLICT");
  }
  call("run.cancel", {{"run_id", run_id}});
  crash_and_start();
  EXPECT_EQ(call("run.start", params).at("run_id"), run_id);
  EXPECT_EQ(call("run.list", {}).at("runs").as_array().size(), 1U);
}

TEST_F(Restart, ALeaseIsArmedAgainForItsFullLength) {  // P4
  start();
  call("run.start", {{"goal", "leased"}, {"pipeline", pipeline("0ms")}});
  const json::object first = claim({{"lease_ms", 60'000}});
  crash_and_start();
  // The holder returns and continues.
  EXPECT_EQ(call("station.heartbeat", held(first)).at("lease_ms"), 60'000);
  EXPECT_EQ(call("station.heartbeat", held(first, {{"lease_ms", 2000}})).at("lease_ms"), 2000);
  crash_and_start();
  // The holder doesn't return: its lease expires in this incarnation, and another worker may claim.
  const json::object second = claim({{"wait_ms", 20'000}, {"lease_ms", 60'000}});
  EXPECT_EQ(second.at("attempt"), 2);
  EXPECT_GT(number_of(second.at("token")), number_of(first.at("token")));
  EXPECT_EQ(refusal("station.heartbeat", held(first)), "STALE_TOKEN");
  EXPECT_EQ(refusal("station.complete", held(first, {{"outcome", "succeeded"}})), "STALE_TOKEN");
  const json::array failed = events("StationAttemptFailed");
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].at("data").at("failure").at("code"), "LEASE_EXPIRED");
  EXPECT_EQ(call("station.complete", held(second, {{"outcome", "succeeded"}})).at("run_status"),
            "succeeded");
}

TEST_F(Restart, ABackoffGoesOnWhereItStood) {
  start();
  call("run.start", {{"goal", "retried"}, {"pipeline", pipeline("300ms")}});
  json::object claimed = claim({});
  json::object failure{{"outcome", "failed"}, {"error_class", "transient"}};
  EXPECT_EQ(call("station.complete", held(claimed, failure)).at("station_status"), "waiting");
  crash_and_start();
  claimed = claim({{"wait_ms", 20'000}});
  EXPECT_EQ(claimed.at("attempt"), 2);
  call("station.complete", held(claimed, failure));
  ASSERT_EQ(server_.stop().exit_code, 0);
  start();
  claimed = claim({{"wait_ms", 20'000}});
  EXPECT_EQ(claimed.at("attempt"), 3);
  // The claim came at the time of the retry, not before.
  const json::array all = events();
  std::string retry_at;
  for (const json::value& event : all) {
    if (event.at("type") == "StationAttemptFailed") {
      retry_at = std::string(event.at("data").at("retry_at").as_string());
    }
  }
  EXPECT_FALSE(retry_at.empty());
}

}  // namespace
}  // namespace signalbox::test
