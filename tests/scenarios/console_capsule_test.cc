// `signalbox console --capsule`: a run's capsule without a server, and one that was tampered with.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "tests/scenarios/audit_fixture.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class ConsoleCapsuleTest : public AuditTest {
 protected:
  void SetUp() override {
    AuditTest::SetUp();
    run_id_ = start_run("the run of the capsule");
    start_run("the secret of another run");
    ASSERT_EQ(complete(run_id_, "plan", claim(run_id_), "succeeded").exit_code, 0);
    ASSERT_EQ(complete(run_id_, "implement", claim(run_id_), "failed").exit_code, 0);
    const Output written = server_.cli(
        {"run", "export", run_id_, "--signing-key", at("audit.key"), "-o", at("run.capsule")});
    ASSERT_EQ(written.exit_code, 0) << written.err;
  }

  [[nodiscard]] std::vector<std::string> words(const std::string& key) const {
    return {SIGNALBOX_BINARY, "console",         "--no-open", "--data", at("nothing"),
            "--capsule",      at("run.capsule"), "--key",     key};
  }
  // Blocks until the command has printed its address.
  void read_address(const BackgroundCommand& command) {
    ASSERT_TRUE(eventually([&] { return command.out().find('\n') != std::string::npos; }))
        << command.err();
    const std::string line = command.out();
    const std::size_t host = line.find("127.0.0.1:");
    const std::size_t mark = line.find("/console/#t=");
    ASSERT_NE(host, std::string::npos) << line;
    ASSERT_NE(mark, std::string::npos) << line;
    port_ = static_cast<std::uint16_t>(std::stoi(line.substr(host + 10)));
    secret_ = line.substr(mark + 12, line.find('\n') - mark - 12);
  }
  [[nodiscard]] json::object ask(const std::string& method, const json::object& params = {}) const {
    HttpClient client(port_);
    const json::object request{
        {"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
    client.send(client.text("POST", "/rpc", {{"Authorization", "Bearer " + secret_}},
                            json::serialize(request)));
    return client.reply().json();
  }

  std::string run_id_;
  std::uint16_t port_ = 0;
  std::string secret_;
};

TEST_F(ConsoleCapsuleTest, ShowsItsRunAsTheServerDidAndNothingElse) {
  const json::object live = run(run_id_);
  const json::array events =
      rpc("events.read", {{"run_id", run_id_}, {"limit", 1000}}).at("events").as_array();
  const json::object trace = rpc("run.trace", {{"run_id", run_id_}});
  BackgroundCommand command(words(verifier_key_), scratch_.path() / "console");
  server_.kill();
  read_address(command);
  const json::object who = ask("server.whoami").at("result").as_object();
  EXPECT_EQ(who.at("role"), "viewer");
  const json::object& capsule = who.at("capsule").as_object();
  EXPECT_EQ(text(capsule, "run_id"), run_id_);
  EXPECT_EQ(capsule.at("records"), events.size());
  EXPECT_TRUE(capsule.at("signature_checked").as_bool());

  const json::object shown = ask("run.get", {{"run_id", run_id_}}).at("result").as_object();
  for (const char* key : {"status", "goal", "stations", "started_at", "ended_at", "pipeline"}) {
    EXPECT_EQ(shown.at("run").at(key), live.at(key)) << key;
  }
  EXPECT_EQ(ask("run.trace", {{"run_id", run_id_}}).at("result").at("spans"), trace.at("spans"));
  EXPECT_EQ(ask("events.read", {{"run_id", run_id_}}).at("result").at("events"),
            json::value(events));
  const json::object page = ask("events.read", {{"from", events[1].at("position")}, {"limit", 1}})
                                .at("result")
                                .as_object();
  EXPECT_EQ(page.at("events").as_array().size(), 1U);
  EXPECT_EQ(page.at("events").at(0), events[1]);
  EXPECT_TRUE(page.at("more").as_bool());

  const auto code = [](const json::object& answer) {
    return text(answer.at("error").at("data").as_object(), "code");
  };
  for (const char* method : {"run.list", "board.get", "run.why", "run.cancel", "what_if.run"}) {
    EXPECT_EQ(code(ask(method, {{"run_id", run_id_}})), "NOT_ALLOWED") << method;
  }
  const std::string other = "01a206c3-f8e2-7d75-86b4-0b5875c3e2fc";
  EXPECT_EQ(code(ask("run.get", {{"run_id", other}})), "RUN_NOT_FOUND");
  EXPECT_EQ(code(ask("events.read", {{"types", json::array{"RunStarted"}}})), "INVALID_PARAMS");
  command.send(SIGINT);
  EXPECT_EQ(command.wait(), 0) << command.err();
}

TEST_F(ConsoleCapsuleTest, OneThatWasTamperedWithIsNotShown) {
  std::string content = content_of(at("run.capsule"));
  char& changed = content[content.size() / 2];
  changed = static_cast<char>(changed ^ 1);
  write_text(at("run.capsule"), content);
  const Output refused = run_process(words(verifier_key_), {});
  EXPECT_EQ(refused.exit_code, 1) << refused.out << refused.err;
  EXPECT_EQ(refused.out.find("127.0.0.1"), std::string::npos) << refused.out;
}

TEST_F(ConsoleCapsuleTest, WhatIsNoRegularFileIsRefusedAndNotWaitedFor) {
  std::filesystem::remove(at("run.capsule"));
  ASSERT_EQ(::mkfifo(at("run.capsule").c_str(), 0600), 0);
  const Output refused = run_process(words(verifier_key_), {});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_NE(refused.err.find("run.capsule is no regular file"), std::string::npos) << refused.err;
}

TEST_F(ConsoleCapsuleTest, AnotherKeyVouchesForNothing) {
  const Output refused = run_process(words(make_key("other.key")), {});
  EXPECT_NE(refused.exit_code, 0) << refused.out;
  EXPECT_EQ(refused.out.find("127.0.0.1"), std::string::npos) << refused.out;
}

}  // namespace
}  // namespace signalbox
