// Access tokens with the real binary over TCP: they are issued, used, refused and revoked, across
// restarts and kills. Their secrets appear nowhere but in the answer to the issue.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/eventually.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class AccessTest : public testing::Test {
 protected:
  void SetUp() override { server_.start(); }

  // Returns the address of the running server, in the form that --server takes.
  [[nodiscard]] std::string address() const {
    constexpr std::string_view words = "listening on 127.0.0.1:";
    const std::string messages = server_.messages();
    const std::size_t found = messages.rfind(words);
    if (found == std::string::npos) throw std::runtime_error("it doesn't listen: " + messages);
    const std::size_t port = found + words.size();
    return "tcp://127.0.0.1:" + messages.substr(port, messages.find('\n', port) - port);
  }

  // Issues a token and keeps its secret in a file, as a person would. Returns the path of the file.
  std::string issue(const std::string& name, const std::string& role,
                    const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"access", "issue", name, "--role", role};
    words.insert(words.end(), more.begin(), more.end());
    const Output issued = server_.cli(words);
    EXPECT_EQ(issued.exit_code, 0) << issued.err;
    EXPECT_EQ(issued.out.size(), 4U + 64U + 1U) << issued.out;
    const std::string file = (scratch_.path() / (name + ".token")).string();
    std::ofstream(file) << issued.out;
    secrets_.push_back(issued.out.substr(0, issued.out.size() - 1));
    return file;
  }

  // Runs the command over TCP, with the token if one is given.
  [[nodiscard]] Output over_tcp(std::vector<std::string> words,
                                const std::optional<std::string>& token_file = {}) const {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    words.insert(words.end(), {"--server", address()});
    if (token_file) words.insert(words.end(), {"--token-file", *token_file});
    return run_process(std::move(words));
  }

  void restart() {
    EXPECT_EQ(server_.stop(), 0);
    server_.start();
  }
  void kill_and_restart() {
    server_.kill();
    server_.start();
  }

  // Expects no secret in any file of the server: not in the log, a snapshot, or its messages.
  void expect_no_secret_on_disk() const {
    std::size_t files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(server_.data())) {
      if (!each.is_regular_file()) continue;
      ++files;
      const std::string bytes = content_of(each.path());
      for (const std::string& secret : secrets_) {
        EXPECT_EQ(bytes.find(secret.substr(4)), std::string::npos) << each.path();
      }
    }
    EXPECT_GT(files, 3U);
    for (const std::string& secret : secrets_) {
      EXPECT_EQ(server_.messages().find(secret.substr(4)), std::string::npos);
    }
  }

  [[nodiscard]] json::array events(const std::string& type) const {
    const Output output = server_.cli({"events", "--type", type, "--json"});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return json::parse(output.out).at("result").at("events").as_array();
  }

  RealServer server_{{"--listen", "127.0.0.1:0"}};
  TemporaryDirectory scratch_;
  std::vector<std::string> secrets_;
};

TEST_F(AccessTest, ATokenIsIssuedUsedDeniedAndRevokedOverRestarts) {
  const std::string token = issue("ci", "worker");
  const Output stranger = over_tcp({"lock", "list"});
  EXPECT_EQ(stranger.exit_code, 77);
  EXPECT_NE(stranger.err.find("UNAUTHENTICATED"), std::string::npos) << stranger.err;

  EXPECT_EQ(over_tcp({"lock", "acquire", "deploy", "--owner", "ci"}, token).exit_code, 0);
  const Output denied = over_tcp({"run", "start", "anything"}, token);
  EXPECT_EQ(denied.exit_code, 77);
  EXPECT_NE(denied.err.find("FORBIDDEN"), std::string::npos) << denied.err;
  EXPECT_NE(denied.err.find("operator"), std::string::npos) << denied.err;
  kill_and_restart();
  EXPECT_EQ(over_tcp({"lock", "get", "deploy"}, token).exit_code, 0);
  restart();
  EXPECT_EQ(over_tcp({"lock", "list"}).exit_code, 77);

  const Output revoked = server_.cli({"access", "revoke", "ci", "--reason", "the machine is gone"});
  EXPECT_EQ(revoked.exit_code, 0) << revoked.err;
  EXPECT_EQ(over_tcp({"lock", "list"}, token).exit_code, 77);
  const Output again = server_.cli({"access", "revoke", "ci", "--reason", "twice"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, "already revoked\n");
  kill_and_restart();
  const Output ended = over_tcp({"lock", "list"}, token);
  EXPECT_EQ(ended.exit_code, 77);
  EXPECT_NE(ended.err.find("revoked"), std::string::npos) << ended.err;

  const Output listed = server_.cli({"access", "list"});
  for (const char* expected : {"ci", "worker", "revoked", "the machine is gone", "refused"}) {
    EXPECT_NE(listed.out.find(expected), std::string::npos) << listed.out;
  }
  // The log and the server's messages say who acted and what was refused.
  ASSERT_EQ(events("LockAcquired").size(), 1U);
  EXPECT_EQ(events("LockAcquired").at(0).at("actor").as_string(), "token:ci");
  bool found = false;
  for (const json::value& each : events("AccessDenied")) {
    found = found || (each.at("data").at("actor").as_string() == "token:ci" &&
                      each.at("data").at("method").as_string() == "run.start");
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(server_.logs("denied: token:ci")) << server_.messages();
  EXPECT_EQ(events("RunStarted").size(), 0U);
  expect_no_secret_on_disk();
}

TEST_F(AccessTest, AnExpiredTokenIsRefused) {
  const std::string token = issue("brief", "viewer", {"--expires-in", "1s"});
  Output last;
  ASSERT_TRUE(eventually([&] {
    last = over_tcp({"lock", "list"}, token);
    return last.exit_code != 0;
  }));
  EXPECT_EQ(last.exit_code, 77);
  EXPECT_NE(last.err.find("expired"), std::string::npos) << last.err;
}

// The token is revoked while a connection that it authenticated is open: the next line is refused.
TEST_F(AccessTest, ARevokedTokenEndsOnAnOpenConnection) {
  const std::string token = issue("follower", "worker");
  const auto out = scratch_.path() / "out";
  const auto err = scratch_.path() / "err";
  const pid_t holder = spawn_process(
      {SIGNALBOX_BINARY, "lock", "exec", "deploy", "--lease-ms", "60000", "--interval-ms", "25",
       "--server", address(), "--token-file", token, "--", "sleep", "600"},
      out, err);
  while (events("LockRefreshed").empty()) {
  }
  EXPECT_EQ(server_.cli({"access", "revoke", "follower", "--reason", "stop"}).exit_code, 0);
  EXPECT_EQ(wait_for_exit(holder), 75);
  EXPECT_NE(content_of(err).find("UNAUTHENTICATED"), std::string::npos) << content_of(err);
}

// What waited when its token ended is granted nothing, and what it listened to says no more.
TEST_F(AccessTest, WaitsAndSubscriptionsEndWithTheirToken) {  // G9
  const std::string worker = issue("fleet", "worker");
  const std::string viewer = issue("watch", "viewer", {"--expires-in", "2s"});
  const auto begin = [&](const std::string& name, std::vector<std::string> words,
                         const std::string& token) {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    words.insert(words.end(), {"--server", address(), "--token-file", token});
    return spawn_process(std::move(words), (scratch_.path() / (name + ".out")).string(),
                         (scratch_.path() / (name + ".err")).string());
  };
  const pid_t claim =
      begin("claim", {"station", "claim", "--worker", "w", "--wait-ms", "60000"}, worker);
  const pid_t follower = begin("follower", {"events", "--follow", "--json"}, viewer);
  const auto status = [&] {
    return json::parse(server_.cli({"--json", "status"}).out).at("result");
  };
  ASSERT_TRUE(eventually([&] { return status().at("waiting_claims") == 1; }));
  json::value listed = json::parse(server_.cli({"access", "list", "--json"}).out).at("result");
  for (const json::value& token : listed.at("tokens").as_array()) {
    if (token.at("name") != "fleet") continue;
    EXPECT_EQ(
        server_
            .cli({"access", "revoke", std::string(token.at("id").as_string()), "--reason", "lost"})
            .exit_code,
        0);
  }
  EXPECT_EQ(wait_for_exit(claim), 77);
  EXPECT_NE(content_of(scratch_.path() / "claim.err").find("was revoked"), std::string::npos);
  // It connects again, and is told why that is no use any more.
  EXPECT_EQ(wait_for_exit(follower), 77);
  EXPECT_NE(content_of(scratch_.path() / "follower.out").find("expired"), std::string::npos);
}

TEST_F(AccessTest, TheSecretIsInNoCommandLine) {
  const std::string token = issue("follower", "viewer");
  const pid_t follower = spawn_process(
      {SIGNALBOX_BINARY, "events", "--follow", "--server", address(), "--token-file", token},
      scratch_.path() / "out", scratch_.path() / "err");
  const auto subscriptions = [this] {
    const Output status = server_.cli({"status", "--json"});
    return json::parse(status.out).at("result").at("subscriptions").to_number<int>();
  };
  while (subscriptions() == 0) {
  }
  const std::string words = content_of("/proc/" + std::to_string(follower) + "/cmdline");
  EXPECT_NE(words.find("--token-file"), std::string::npos);
  EXPECT_EQ(words.find(secrets_.back().substr(4)), std::string::npos);
  ::kill(follower, SIGKILL);
  wait_for_exit(follower);
  EXPECT_EQ(run_process({SIGNALBOX_BINARY, "lock", "list", "--token", secrets_.back()}).exit_code,
            2);
}

TEST_F(AccessTest, AddressAndTokenComeFromTheEnvironmentToo) {
  issue("ci", "viewer");
  const std::vector<std::string> environment = {"SIGNALBOX_SERVER=" + address(),
                                                "SIGNALBOX_ACCESS_TOKEN=" + secrets_.back(),
                                                "SIGNALBOX_DATA=", "SIGNALBOX_SOCKET="};
  EXPECT_EQ(run_process({SIGNALBOX_BINARY, "lock", "list"}, environment).exit_code, 0);
  EXPECT_EQ(run_process({SIGNALBOX_BINARY, "run", "start", "x"}, environment).exit_code, 77);
  // A token decides over the Unix socket, too.
  EXPECT_EQ(
      server_.cli({"run", "start", "x"}, {"SIGNALBOX_ACCESS_TOKEN=" + secrets_.back()}).exit_code,
      77);
  EXPECT_EQ(server_.cli({"access", "list"}).exit_code, 0);
}

// The server is killed before or after it answers: the token exists at most once, and its secret is
// given at most once.
TEST_F(AccessTest, AnIssueThatACrashCutShortIsRepeatedUnderTheSameId) {
  for (int round = 0; round < 6; ++round) {
    const std::string name = "t" + std::to_string(round);
    const int descriptor = server_.connect();
    ASSERT_GE(descriptor, 0);
    const std::string line =
        R"({"jsonrpc":"2.0","id":1,"method":"access.issue","params":{"name":")" + name +
        R"(","role":"worker","command_id":"issue-)" + name + "\"}}\n";
    ASSERT_EQ(::send(descriptor, line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
    char byte = 0;
    const bool answered = round % 2 == 1 && ::recv(descriptor, &byte, 1, MSG_PEEK) == 1;
    server_.kill();
    ::close(descriptor);
    server_.start();
    const Output again =
        server_.cli({"access", "issue", name, "--role", "worker", "--command-id", "issue-" + name});
    if (answered) {
      EXPECT_EQ(again.exit_code, 1) << "acknowledged and forgotten";
    }
    if (again.exit_code == 1) {  // it was issued before the kill: its secret is lost
      EXPECT_EQ(again.out, "");
      EXPECT_NE(again.err.find("signalbox access revoke"), std::string::npos) << again.err;
      EXPECT_EQ(server_.cli({"access", "revoke", name, "--reason", "secret lost"}).exit_code, 0);
      EXPECT_EQ(server_.cli({"access", "issue", name, "--role", "worker"}).exit_code, 0);
    } else {
      EXPECT_EQ(again.exit_code, 0) << again.err;
      EXPECT_TRUE(again.out.starts_with("sbx_"));
    }
    const json::array issued = events("AccessTokenIssued");
    const auto of_name = std::count_if(issued.begin(), issued.end(), [&name](const json::value& e) {
      return e.at("data").at("name").as_string() == name;
    });
    EXPECT_EQ(of_name, again.exit_code == 1 ? 2 : 1);
  }
}

TEST_F(AccessTest, ATokenIsNotSentToAnotherMachineInTheClear) {
  const std::string token = issue("ci", "viewer");
  const Output refused = run_process({SIGNALBOX_BINARY, "lock", "list", "--server",
                                      "tcp://192.0.2.7:7070", "--token-file", token});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("unencrypted"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("name tls://192.0.2.7:7070"), std::string::npos) << refused.err;
  // Nor after an address at which nobody answers.
  const Output second =
      run_process({SIGNALBOX_BINARY, "lock", "list", "--server",
                   "tcp://127.0.0.1:1,tcp://192.0.2.7:7070", "--token-file", token});
  EXPECT_EQ(second.exit_code, 2) << second.err;
}

TEST_F(AccessTest, AWrongAddressOrTokenFileIsAMistakeOfTheCommandLine) {
  for (const char* wrong : {"127.0.0.1:7070", "tcp://127.0.0.1", "tcp://:7070", "tcp://::1:70",
                            "tcp://127.0.0.1:http", "https://box:7070", "tls://a:1,"}) {
    EXPECT_EQ(run_process({SIGNALBOX_BINARY, "lock", "list", "--server", wrong}).exit_code, 2)
        << wrong;
  }
  EXPECT_EQ(over_tcp({"lock", "list"}, "/does/not/exist").exit_code, 2);
  EXPECT_EQ(over_tcp({"lock", "list"}, "/dev/null").exit_code, 2);
}

TEST(AccessWithoutTls, AnAddressOthersCanReachIsRefusedAtStart) {
  const TemporaryDirectory scratch;
  const Output refused = run_process(
      {SIGNALBOX_BINARY, "serve", "--data", scratch.path().string(), "--listen", "0.0.0.0:0"});
  EXPECT_EQ(refused.exit_code, 78);
  for (const char* expected : {"0.0.0.0", "tls_certificate", "tls_key"}) {
    EXPECT_NE(refused.err.find(expected), std::string::npos) << refused.err;
  }
}

// Without a token, nobody on this machine may do anything over TCP. The start and each refusal say
// which command changes that, and it works where the environment names the TCP server, too.
TEST_F(AccessTest, WithoutATokenEveryCommandIsRefusedAndSaysWhatToDo) {  // G9
  EXPECT_TRUE(server_.logs("a client without an access token gets health checks only"))
      << server_.messages();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "start", "echo was here"}, {"status"}, {"events"}}) {
    const Output refused = over_tcp(words);
    EXPECT_EQ(refused.exit_code, 77) << words.front();
    EXPECT_NE(refused.err.find("UNAUTHENTICATED"), std::string::npos) << refused.err;
  }
  EXPECT_TRUE(events("RunStarted").empty());
  const Output refused = over_tcp({"lock", "acquire", "k", "--owner", "me"});
  const std::size_t begin = refused.err.find("try: signalbox ");
  ASSERT_NE(begin, std::string::npos) << refused.err;
  const std::string next = refused.err.substr(begin + sizeof "try: signalbox");
  const Output issued =
      run_process({"sh", "-c", std::string(SIGNALBOX_BINARY) + " " + next},
                  {"SIGNALBOX_SERVER=" + address(), "SIGNALBOX_DATA=", "SIGNALBOX_SOCKET="});
  ASSERT_EQ(issued.exit_code, 0) << next << issued.err;
  const std::string file = (scratch_.path() / "named.token").string();
  std::ofstream(file) << issued.out;
  EXPECT_EQ(over_tcp({"lock", "acquire", "k", "--owner", "me"}, file).exit_code, 0);
  EXPECT_EQ(over_tcp({"lock", "list"}).exit_code, 77);
}

// The command that the start prints can be pasted as it is.
TEST_F(AccessTest, TheStartNamesACommandThatIssuesAToken) {  // G9
  const std::string messages = server_.messages();
  const std::size_t begin = messages.find("signalbox access issue ");
  ASSERT_NE(begin, std::string::npos) << messages;
  const std::string command = messages.substr(begin, messages.find('\n', begin) - begin);
  const Output issued = run_process(
      {"sh", "-c", std::string(SIGNALBOX_BINARY) + command.substr(sizeof "signalbox" - 1)});
  EXPECT_EQ(issued.exit_code, 0) << command << issued.err;
  EXPECT_TRUE(issued.out.starts_with("sbx_")) << issued.out;
}

TEST(AccessAtStart, ARoleForTheWholeMachineIsAWarning) {  // G9
  RealServer server({"--listen", "127.0.0.1:0", "--loopback-role", "viewer"});
  server.start();
  EXPECT_TRUE(server.logs("warning: over TCP, every user of this machine is viewer"))
      << server.messages();
}

}  // namespace
}  // namespace signalbox
