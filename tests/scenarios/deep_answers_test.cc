// JSON that clients send is part of answers, which have levels of nesting of their own around it:
// as deep as a request may be, it ends neither the server nor a client.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/json_text.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The request and its params are two of the levels.
constexpr std::size_t sent_levels = json_depth_max - 2;

class DeepAnswers : public ::testing::Test {
 protected:
  void SetUp() override { server_.start(); }
  void TearDown() override { EXPECT_EQ(server_.stop(), 0) << server_.messages(); }

  static std::string repeated(const std::string& text) {
    std::string all;
    for (std::size_t level = 0; level < sent_levels; ++level) all += text;
    return all;
  }
  json::object rpc(const std::string& method, const std::string& params) const {
    const Output output = server_.cli({"rpc", method, params, "--json"});
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    return json::parse(output.out).at("result").as_object();
  }
  [[nodiscard]] std::string start(const std::string& input) const {
    return std::string(
        rpc("run.start",
            R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"only"}]},"input":)" + input +
                "}")
            .at("run_id")
            .as_string());
  }
  // Returns the status. The answer isn't parsed: tests do that as deep as clients usually can.
  [[nodiscard]] unsigned status_of(const std::string& verb, const std::string& path,
                                   const std::string& body = {}) const {
    HttpClient http(server_.socket());
    http.send(http.text(verb, path, {}, body));
    return http.reply().status;
  }
  void expect_shown(const std::string& run) const {
    const Output shown = server_.cli({"run", "get", run});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
  }

  RealServer server_;
};

TEST_F(DeepAnswers, OfAnAttemptsMetadata) {  // G1
  const std::string run = start("null");
  const json::object claim = rpc("station.claim", R"({"worker":"w"})").at("claim").as_object();
  rpc("station.complete", R"({"run_id":")" + run +
                              R"(","station":"only","outcome":"succeeded","token":)" +
                              json::serialize(claim.at("token")) + R"(,"metadata":)" +
                              repeated("{\"a\":") + "1" + repeated("}") + "}");
  EXPECT_EQ(status_of("GET", "/v1/runs/" + run + "/artifacts"), 200U);
  expect_shown(run);
}

TEST_F(DeepAnswers, OfARunsInput) {  // G1
  // The word is that of an error which has a status of its own over HTTP.
  const std::string run = start(repeated("[") + "\"UNAUTHENTICATED\"" + repeated("]"));
  EXPECT_EQ(status_of("POST", "/rpc",
                      R"({"jsonrpc":"2.0","id":1,"method":"run.get","params":{"run_id":")" + run +
                          "\"}}"),
            200U);
  EXPECT_EQ(status_of("GET", "/v1/runs/" + run + "/artifacts"), 200U);
  expect_shown(run);
  const std::string now = json::serialize(rpc("server.status", "{}").at("position"));
  const Output past = server_.cli({"run", "get", run, "--at", now});
  EXPECT_EQ(past.exit_code, 0) << past.err;
}

}  // namespace
}  // namespace signalbox
