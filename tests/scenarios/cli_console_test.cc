// `signalbox console`: an address for one browser, and what others on the machine get there.
#include <chrono>
#include <csignal>
#include <optional>
#include <vector>

#include <sys/stat.h>

#include "server/limits.h"
#include "tests/eventually.h"
#include "tests/scenarios/forecast_process.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class ConsoleTest : public CliTest {
 protected:
  [[nodiscard]] std::vector<std::string> words(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {SIGNALBOX_BINARY, "console", "--no-open", "--data",
                                    server_.data().string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::filesystem::path files() const { return scratch_.path() / "console"; }

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

  // Each request has a connection of its own.
  [[nodiscard]] HttpReply get(const std::string& target, const HttpHeaders& headers = {}) const {
    return HttpClient(port_).get(target, headers);
  }
  // The same for what the command itself refuses: the server's document doesn't have that.
  [[nodiscard]] HttpReply get_refusal(const std::string& target,
                                      const HttpHeaders& headers = {}) const {
    HttpClient client(port_);
    client.send(client.text("GET", target, headers));
    return client.reply();
  }
  [[nodiscard]] HttpReply call(const std::string& method, const HttpHeaders& headers) const {
    return HttpClient(port_).post(
        "/rpc", R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"("})", headers);
  }
  [[nodiscard]] HttpHeaders shown() const { return {{"Authorization", "Bearer " + secret_}}; }

  std::uint16_t port_ = 0;
  std::string secret_;
};

TEST_F(ConsoleTest, ServesThePageAndWhoHasItsSecret) {
  const BackgroundCommand command(words(), files());
  read_address(command);
  EXPECT_EQ(get("/console/").status, 200U);
  EXPECT_EQ(get("/v1/runs", shown()).status, 200U);
  const json::object who = call("server.whoami", shown()).json().at("result").as_object();
  EXPECT_TRUE(std::string(who.at("actor").as_string()).starts_with("token:console "));
  EXPECT_EQ(who.at("role"), "operator");

  // A stream is passed on as it comes.
  HttpClient stream(port_);
  stream.send(stream.text("GET", "/v1/events?from=1", shown()));
  EXPECT_NE(stream.read_until("event: ServerStarted").find("text/event-stream"), std::string::npos);
}

TEST_F(ConsoleTest, TakesTheSchemeInAnyCase) {
  const BackgroundCommand command(words(), files());
  read_address(command);
  EXPECT_EQ(get("/v1/runs", {{"Authorization", "bearer " + secret_}}).status, 200U);
  EXPECT_EQ(get("/v1/runs", {{"Authorization", "BEARER " + secret_ + "x"}}).status, 401U);
}

TEST_F(ConsoleTest, GivesOthersOfTheMachineNothing) {
  const BackgroundCommand command(words(), files());
  read_address(command);
  for (const HttpHeaders& headers :
       {HttpHeaders{}, HttpHeaders{{"Authorization", "Bearer sbx_0"}},
        HttpHeaders{{"Authorization", secret_}},
        HttpHeaders{{"Authorization", "Bearer " + secret_}, {"Authorization", "Bearer x"}}}) {
    EXPECT_EQ(get("/v1/runs", headers).status, 401U);
    EXPECT_EQ(call("run.list", headers).status, 401U);
  }
  for (const char* target : {"/console/../v1/runs", "/console/%2e%2e/v1/runs", "/console/../rpc",
                             "/console//../rpc", "//v1/runs", "/consolex"}) {
    const unsigned status = get_refusal(target).status;
    EXPECT_TRUE(status == 400 || status == 401 || status == 404) << target << ": " << status;
  }
  // Lines of JSON-RPC would reach the socket as its owner's.
  HttpClient lines(port_);
  lines.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run.list\"}\n");
  EXPECT_EQ(lines.read_all(), "");
  // So would what hides behind a body of two lengths.
  HttpClient chunked(port_);
  chunked.send(chunked.text(
      "POST", "/rpc", {{"Authorization", "Bearer " + secret_}, {"Transfer-Encoding", "chunked"}},
      "0\r\n\r\n"));
  EXPECT_EQ(chunked.reply().status, 411U);
  // A page of another name that leads here is refused by the server.
  EXPECT_EQ(
      get("/v1/runs", {{"Host", "evil.example"}, {"Authorization", "Bearer " + secret_}}).status,
      421U);
}

TEST_F(ConsoleTest, ItsTokenEndsWithIt) {
  BackgroundCommand command(words({"--role", "viewer"}), files());
  read_address(command);
  const auto tokens = result({"access", "list"}).at("tokens").as_array();
  ASSERT_EQ(tokens.size(), 1U);
  EXPECT_EQ(tokens[0].at("role"), "viewer");
  EXPECT_EQ(tokens[0].at("status"), "usable");
  command.send(SIGINT);
  EXPECT_EQ(command.wait(), 0) << command.err();
  const auto ended = result({"access", "list"}).at("tokens").as_array();
  EXPECT_EQ(ended[0].at("status"), "revoked");
}

TEST_F(ConsoleTest, SaysWhenTheServerIsAwayAndGoesOnAfterwards) {
  const BackgroundCommand command(words(), files());
  read_address(command);
  server_.kill();
  const HttpReply away = get_refusal("/v1/runs", shown());
  EXPECT_EQ(away.status, 503U);
  EXPECT_EQ(away.code(), "UNREACHABLE");
  server_.start();
  EXPECT_EQ(get("/v1/runs", shown()).status, 200U);
}

TEST_F(ConsoleTest, WithoutAServerThereIsNone) {
  server_.kill();
  const std::string socket = (server_.data() / "signalbox.sock").string();
  const Output none = run_process({SIGNALBOX_BINARY, "console", "--no-open", "--socket", socket});
  EXPECT_EQ(none.exit_code, 69) << none.out << none.err;
  const std::string empty = (scratch_.path() / "empty").string();
  const Output nothing = run_process({SIGNALBOX_BINARY, "console", "--no-open", "--data", empty});
  EXPECT_EQ(nothing.exit_code, 69) << nothing.out << nothing.err;
}

TEST_F(ConsoleTest, ShowsTheLogOfAServiceThatDoesntRun) {
  start_run("left behind");
  const std::string position = json::serialize(result({"status"}).at("position"));
  start_run("came later");
  server_.kill();
  const json::object before = result({"replay"});
  BackgroundCommand command(words(), files());
  read_address(command);
  EXPECT_TRUE(eventually([&] {
    return command.err().find("No service runs") != std::string::npos;
  })) << command.err();
  EXPECT_EQ(get("/console/").status, 200U);
  EXPECT_EQ(call("run.list", {}).status, 401U);
  EXPECT_EQ(get_refusal("/console/", {{"Host", "evil.example"}}).status, 421U);

  const auto ask = [&](const std::string& method, const std::string& params) {
    const HttpReply reply = HttpClient(port_).post(
        "/rpc", R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}",
        shown());
    EXPECT_EQ(reply.status, 200U) << method;
    return reply.json();
  };
  EXPECT_EQ(ask("server.whoami", "{}").at("result").at("role"), "viewer");
  EXPECT_EQ(ask("run.list", "{}").at("result").at("runs").as_array().size(), 2U);
  const std::string at = "{\"at\":" + position + "}";
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(ask("run.list", at).at("result").at("runs").as_array().size(), 1U);
    EXPECT_EQ(ask("run.list", R"({"at":1})").at("result").at("runs").as_array().size(), 0U);
  }
  const json::object refused = ask("lock.acquire", R"({"key":"a","owner":"b","lease_ms":1000})");
  EXPECT_EQ(refused.at("error").at("data").at("code"), "NOT_ALLOWED");
  EXPECT_EQ(ask("no.such", "{}").at("error").at("data").at("code"), "METHOD_NOT_FOUND");
  EXPECT_EQ(get_refusal("/v1/events", shown()).status, 204U) << "no event will come";

  command.send(SIGINT);
  EXPECT_EQ(command.wait(), 0) << command.err();
  const json::object after = result({"replay"});
  EXPECT_EQ(after.at("tail"), before.at("tail")) << "nothing is written";
  EXPECT_EQ(after.at("state_digest"), before.at("state_digest"));
}

TEST_F(ConsoleTest, AForecastIsMadeOfALogWithoutAService) {  // O10
  start_run("the only run");
  server_.kill();
  const BackgroundCommand command(words(), files());
  read_address(command);
  const HttpReply reply = HttpClient(port_).post(
      "/rpc",
      R"({"jsonrpc":"2.0","id":1,"method":"what_if.run","params":{"policy":"[limits]\nworkers = 2\n"}})",
      shown());
  ASSERT_EQ(reply.status, 200U) << reply.body();
  const json::object answer = reply.json();
  ASSERT_TRUE(answer.contains("result")) << reply.body();
  EXPECT_EQ(answer.at("result").at("recorded").at("runs"), 1);
  EXPECT_EQ(answer.at("result").at("position"), answer.at("result").at("to"));
}

TEST_F(ConsoleTest, OthersAreAnsweredWhileAForecastOfALogIsMade) {  // G7
  start_run("the only run");
  server_.kill();
  BackgroundCommand command(words(), files());
  read_address(command);
  // A forecast waits until somebody writes the settings.
  const std::filesystem::path settings = server_.data() / "signalbox.toml";
  std::filesystem::remove(settings);
  ASSERT_EQ(::mkfifo(settings.c_str(), 0600), 0);
  const auto request = [](const std::string& method) {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{"policy":""}})";
  };
  // One is made, others wait, and one is refused, whichever arrives last.
  std::vector<HttpClient> asking;
  for (std::size_t each = 0; each < 2 + limits::what_if_waiting_max; ++each) {
    HttpClient& client = asking.emplace_back(port_);
    ASSERT_TRUE(client.send(client.text("POST", "/rpc", shown(), request("what_if.run"))));
  }
  HttpClient* answered = nullptr;
  ASSERT_TRUE(eventually([&] {
    for (HttpClient& client : asking) {
      if (client.has_input()) answered = &client;
    }
    return answered != nullptr;
  }));
  const json::object refused = answered->reply().json();
  ASSERT_TRUE(refused.contains("error")) << json::serialize(refused);
  EXPECT_EQ(refused.at("error").at("data").at("code"), "OVERLOADED");
  EXPECT_EQ(call("server.whoami", shown()).json().at("result").at("role"), "viewer");

  // One that is being made doesn't hold up the end of the command.
  command.send(SIGINT);
  EXPECT_EQ(command.wait(), 0) << command.err();
}

TEST_F(ConsoleTest, AForecastOfALogWhoseBrowserHasGoneIsEnded) {  // G7
  start_run("the only run");
  server_.kill();
  BackgroundCommand command(words(), files());
  read_address(command);
  // A forecast waits until somebody writes the settings.
  const std::filesystem::path settings = server_.data() / "signalbox.toml";
  std::filesystem::remove(settings);
  ASSERT_EQ(::mkfifo(settings.c_str(), 0600), 0);
  const auto begun = std::chrono::steady_clock::now();
  std::optional<ProcessIdentity> process;
  {
    HttpClient client(port_);
    ASSERT_TRUE(client.send(
        client.text("POST", "/rpc", shown(),
                    R"({"jsonrpc":"2.0","id":1,"method":"what_if.run","params":{"policy":""}})")));
    await([&] {
      process = forecast_process(command.pid());
      return process.has_value();
    });
  }
  ASSERT_TRUE(process);
  await([&] { return has_ended(*process); });
  EXPECT_LT(std::chrono::steady_clock::now() - begun,
            std::chrono::milliseconds(limits::what_if_ms_max))
      << "not by its bound";
}

}  // namespace
}  // namespace signalbox
