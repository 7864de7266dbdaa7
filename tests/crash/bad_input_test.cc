// Malformed and oversized input from clients: each gets a clear error, the connection stays usable,
// and other clients aren't affected. The server is the real binary, and the tests send raw bytes.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "tests/crash/server_test.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

class BadInput : public ServerTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.start()) << server_.log();
    connection_ = Connection::open(server_.socket());
    ASSERT_TRUE(connection_);
  }
  void TearDown() override {
    EXPECT_TRUE(still_answers()) << server_.log();
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  }

  bool still_answers() {
    auto other = Connection::open(server_.socket());
    return other && other->call("server.status", {}).has_value();
  }
  // Sends a line and returns the error code of the answer; "" for a result.
  std::string code_for(std::string_view line) {
    EXPECT_TRUE(connection_->send(std::string(line) + "\n"));
    const auto answer = connection_->message();
    if (!answer) return "no answer";
    last_ = *answer;
    return error_code_of(*answer);
  }
  // Returns whether the connection still accepts a request and answers it.
  bool is_usable() { return connection_->call("server.status", {}).has_value(); }

  std::optional<Connection> connection_;
  json::object last_;
};

TEST_F(BadInput, ALineTooLongIsRefusedAndSkipped) {
  const std::string too_long(mib + 1, ' ');
  EXPECT_EQ(code_for(too_long), "LIMIT_EXCEEDED");
  EXPECT_EQ(number_of(last_.at("error").at("data").at("details").at("line_bytes_max")), mib);
  EXPECT_TRUE(is_usable());
  // A line of exactly the maximum length is read.
  const std::string status = R"({"jsonrpc":"2.0","id":7,"method":"server.status"})";
  EXPECT_EQ(code_for(status + std::string(mib - status.size(), ' ')), "");
}

TEST_F(BadInput, AnArtifactTooLargeIsRefusedWithItsLimit) {  // P8
  const auto code_with_artifact = [this](std::size_t bytes) {
    return code_for(
        R"({"jsonrpc":"2.0","id":1,"method":"station.complete","params":{"run_id":)"
        R"("00000000-0000-0000-0000-000000000001","station":"a","token":1,"outcome":"succeeded",)"
        R"("artifacts":[{"name":"a.txt","content":")" +
        std::string(bytes, 'x') + R"("}]}})");
  };
  EXPECT_EQ(code_with_artifact(limits::artifact_inline_bytes_max), "RUN_NOT_FOUND");
  EXPECT_EQ(code_with_artifact(limits::artifact_inline_bytes_max + 1), "LIMIT_EXCEEDED");
  EXPECT_EQ(number_of(last_.at("error").at("data").at("details").at("artifact_inline_bytes_max")),
            limits::artifact_inline_bytes_max);
}

TEST_F(BadInput, AnEndlessLineTakesNoMemory) {  // P8
  ASSERT_TRUE(is_usable());
  const std::uint64_t before = server_.resident_bytes();
  const std::string piece(mib, 'x');
  for (int piece_number = 0; piece_number < 64; ++piece_number) {
    ASSERT_TRUE(connection_->send(piece));
  }
  EXPECT_LT(server_.resident_bytes(), before + 8 * memory_mib);
  EXPECT_EQ(code_for(""), "LIMIT_EXCEEDED");
  EXPECT_TRUE(is_usable());
}

TEST_F(BadInput, ManyConnectionsWithHalfALongLine) {
  const std::uint64_t before = server_.resident_bytes();
  std::vector<Connection> connections;
  const std::string half(mib / 2, '[');
  for (int number = 0; number < 32; ++number) {
    connections.push_back(std::move(*Connection::open(server_.socket())));
    ASSERT_TRUE(connections.back().send(half));
  }
  EXPECT_TRUE(still_answers());
  EXPECT_LT(server_.resident_bytes(), before + 64 * memory_mib) << "while they are open";
  connections.clear();
  EXPECT_TRUE(still_answers());
  EXPECT_LT(server_.resident_bytes(), before + 64 * memory_mib);
}

TEST_F(BadInput, WhatIsNotJson) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(code_for(deep), "PARSE_ERROR");
  EXPECT_NE(std::string(last_.at("error").at("message").as_string()).find("32 levels"),
            std::string::npos);
  std::string nested;
  for (int depth = 0; depth < 100'000; ++depth) nested += R"({"a":)";
  EXPECT_EQ(code_for(nested), "PARSE_ERROR");
  EXPECT_EQ(code_for("\xff\xfe"), "PARSE_ERROR");
  EXPECT_EQ(code_for("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}"), "PARSE_ERROR");
  EXPECT_EQ(code_for(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"run.list"})"), "PARSE_ERROR");
  EXPECT_EQ(code_for(R"({"jsonrpc":"2.0","id":1,"method":"run.list","params":{"a":1,"a":1}})"),
            "PARSE_ERROR");
  EXPECT_EQ(code_for(std::string("{\"jsonrpc\":\"2.0\",\"id\":1,\0\"method\":\"run.list\"}", 46)),
            "PARSE_ERROR");
  EXPECT_EQ(code_for(std::string(1, '\0')), "PARSE_ERROR");
  EXPECT_EQ(code_for(R"({"jsonrpc":"2.0","id":1,"method":"run.list"} {})"), "PARSE_ERROR");
  EXPECT_EQ(code_for(R"({"jsonrpc":"2.0","id":1,"method":"run.list",})"), "PARSE_ERROR");
  EXPECT_EQ(code_for("{"), "PARSE_ERROR");
  EXPECT_EQ(code_for(" "), "PARSE_ERROR");
  EXPECT_EQ(code_for("GET /v1/runs HTTP/1.1"), "PARSE_ERROR");
  EXPECT_TRUE(last_.at("id").is_null());
  EXPECT_TRUE(is_usable());
}

TEST_F(BadInput, WhatIsNotARequest) {
  for (const char* line :
       {"[]", "1", "null", R"("text")", R"([{"jsonrpc":"2.0","id":1,"method":"run.list"}])", "{}",
        R"({"id":1,"method":"run.list"})", R"({"jsonrpc":"1.0","id":1,"method":"run.list"})",
        R"({"jsonrpc":2.0,"id":1,"method":"run.list"})", R"({"jsonrpc":"2.0","id":1})",
        R"({"jsonrpc":"2.0","id":1,"method":5})",
        R"({"jsonrpc":"2.0","id":1,"method":"run.list","params":[1]})",
        R"({"jsonrpc":"2.0","id":1,"method":"run.list","params":null})",
        R"({"jsonrpc":"2.0","id":[1],"method":"run.list"})",
        R"({"jsonrpc":"2.0","id":{},"method":"run.list"})",
        R"({"jsonrpc":"2.0","id":true,"method":"run.list"})",
        R"({"jsonrpc":"2.0","id":1.5,"method":"run.list"})"}) {
    EXPECT_EQ(code_for(line), "INVALID_REQUEST") << line;
  }
  EXPECT_TRUE(is_usable());
}

TEST_F(BadInput, WhatIsNotAMethodOrItsParams) {  // P7
  const auto code = [this](const std::string& method, const std::string& params) {
    return code_for(R"({"jsonrpc":"2.0","id":"x","method":")" + method + R"(","params":)" + params +
                    "}");
  };
  EXPECT_EQ(code("run.explode", "{}"), "METHOD_NOT_FOUND");
  EXPECT_GT(last_.at("error").at("data").at("details").at("methods").as_array().size(), 10U);
  std::string long_name;
  for (int count = 0; count < 100; ++count) long_name += "ä";
  EXPECT_EQ(code("x" + long_name, "{}"), "METHOD_NOT_FOUND");
  EXPECT_EQ(code("run.get", "{}"), "INVALID_PARAMS");
  EXPECT_EQ(last_.at("error").at("data").at("details").at("field"), "run_id");
  EXPECT_EQ(code("run.get", R"({"run_id":"not-a-uuid"})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.get", R"({"run_id":7})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.list", R"({"colour":"red"})"), "INVALID_PARAMS");
  EXPECT_EQ(last_.at("error").at("data").at("details").at("field"), "colour");
  EXPECT_EQ(code("run.list", R"({"limit":-1})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.list", R"({"limit":1e3})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.list", R"({"limit":99999999999999999999999})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.list", R"({"since":"yesterday"})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.list", R"({"since":"9999-12-31T23:59:59Z"})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.list", R"({"status":"asleep"})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.start", R"({"goal":""})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.start", R"({"goal":"g","command_id":""})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.start", R"({"goal":"g","command_id":7})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.start", R"({"goal":"g","run_root":"relative"})"), "INVALID_PARAMS");
  EXPECT_EQ(code("run.start", R"({"goal":")" + std::string(5000, 'g') + "\"}"), "LIMIT_EXCEEDED");
  EXPECT_EQ(code("run.start", R"({"goal":"g","pipeline":{"name":"p","station":[]}})"),
            "PIPELINE_INVALID");
  EXPECT_EQ(code("events.read", R"({"types":["Nothing"]})"), "INVALID_PARAMS");
  EXPECT_EQ(code("events.subscribe", R"({"from":1000000})"), "POSITION_NOT_FOUND");
  EXPECT_EQ(last_.at("id"), "x");
  EXPECT_TRUE(is_usable());
}

TEST_F(BadInput, IdsComeBackAsTheyWere) {
  for (const char* id : {"0", "-7", "9007199254740993", "18446744073709551615", R"("")",
                         R"("an \"id\" \u00e4")", "null", R"("12")"}) {
    ASSERT_TRUE(connection_->send(
        std::string(R"({"jsonrpc":"2.0","method":"server.limits","id":)") + id + "}\n"));
    const auto answer = connection_->message();
    ASSERT_TRUE(answer) << id;
    EXPECT_EQ(answer->at("id"), json::parse(id)) << id;
  }
}

TEST_F(BadInput, NumbersBeyond2To53) {
  // Quoted and unquoted must be the same number, exactly: a double couldn't represent it.
  for (const char* from : {"18446744073709551615", R"("18446744073709551615")"}) {
    EXPECT_EQ(code_for(std::string(R"({"jsonrpc":"2.0","id":1,"method":"events.read",)") +
                       R"("params":{"from":)" + from + "}}"),
              "")
        << from;
    EXPECT_EQ(last_.at("result").at("next_from"), "18446744073709551615");
    EXPECT_EQ(last_.at("result").at("events").as_array().size(), 0U);
  }
}

TEST_F(BadInput, WhatIsStoredIsNeverCutInsideACharacter) {
  const json::object pipeline{{"name", "p"}, {"station", {{{"name", "only"}}}}};
  ASSERT_TRUE(connection_->call("run.start", {{"goal", "g"}, {"pipeline", pipeline}}));
  const json::value claim =
      result_of(connection_->call("station.claim", {{"worker", "w"}})).at("claim");
  std::string summary = "x";
  for (int count = 0; count < 300; ++count) summary += "ä";
  json::object params{{"outcome", "canceled"}, {"summary", summary}};
  for (const char* field : {"run_id", "station", "token"}) params[field] = claim.at(field);
  EXPECT_EQ(result_of(connection_->call("station.complete", params)).at("run_status"), "canceled");
  // An answer that cuts a character in half isn't valid JSON, and would count as no answer here.
  const json::object page =
      result_of(connection_->call("events.read", {{"types", {"RunCanceled"}}}));
  ASSERT_EQ(page.at("events").as_array().size(), 1U);
  const json::value& reason = page.at("events").as_array()[0].at("data").at("reason");
  EXPECT_EQ(reason.as_string().size(), 255U);
}

TEST_F(BadInput, EmptyLinesAndOtherLineBreaks) {
  ASSERT_TRUE(
      connection_->send("\n\r\n\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"run.list\"}\r\n\n"));
  const auto answer = connection_->message();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("id"), 3);
  EXPECT_TRUE(is_usable());
}

TEST_F(BadInput, ANotificationIsCarriedOutAndNotAnswered) {
  ASSERT_TRUE(connection_->send(
      R"({"jsonrpc":"2.0","method":"run.start","params":{"goal":"quiet"}})"
      "\n"
      R"({"jsonrpc":"2.0","method":"run.explode"})"
      "\n"
      R"({"jsonrpc":"2.0","method":"run.get","params":{}})"
      "\n"
      R"({"jsonrpc":"2.0","method":"run.start","params":{"goal":"g","command_id":""}})"
      "\n"
      R"({"jsonrpc":"2.0","id":1,"method":"run.list"})"
      "\n"));
  const auto answer = connection_->message();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->at("id"), 1) << json::serialize(*answer);
  ASSERT_EQ(answer->at("result").at("runs").as_array().size(), 1U);
  EXPECT_EQ(answer->at("result").at("runs").as_array()[0].at("goal"), "quiet");
}

TEST_F(BadInput, OneByteAtATime) {
  for (const char byte : request_line(11, "run.start", {{"goal", "slowly"}})) {
    ASSERT_TRUE(connection_->send({&byte, 1}));
  }
  const auto answer = connection_->message();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("id"), 11);
  EXPECT_TRUE(answer->contains("result"));
}

TEST_F(BadInput, HalfALineAndGone) {
  const std::string whole = request_line(1, "run.start", {{"goal", "half"}});
  for (std::size_t bytes = 1; bytes < whole.size() - 2; ++bytes) {
    auto other = Connection::open(server_.socket());
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->send(whole.substr(0, bytes)));
  }
  EXPECT_EQ(result_of(connection_->call("run.list", {})).at("runs").as_array().size(), 0U);
}

TEST_F(BadInput, HalfCloseGetsEveryAnswer) {
  std::string lines;
  for (int id = 1; id <= 5000; ++id) lines += request_line(id, "run.start", {{"goal", "piped"}});
  lines.pop_back();  // the last line has no line break
  std::thread sender([&] {
    EXPECT_TRUE(connection_->send(lines));
    connection_->end_output();
  });
  // Receive while sending: the server may stop reading from a client that doesn't take its answers.
  std::string problem;
  for (int id = 1; id <= 5000 && problem.empty(); ++id) {
    const auto answer = connection_->message();
    if (!answer || answer->at("id") != id) {
      problem = "instead of answer " + std::to_string(id) + ": " +
                (answer ? json::serialize(*answer) : std::string("none"));
    }
  }
  if (problem.empty()) {
    EXPECT_TRUE(connection_->closed_by_server());
  }
  sender.join();  // joins in any case: the sender gives up when nothing is received
  EXPECT_EQ(problem, "") << server_.log();
}

TEST_F(BadInput, NetcatGetsItsAnswer) {
  const std::string command =
      R"(printf '{"jsonrpc":"2.0","id":1,"method":"run.list"}\n' | nc -NU )";
  const ProcessOutput output = run_program({"sh", "-c", command + server_.socket().string()});
  EXPECT_EQ(output.end.exit_code, 0);
  json::error_code error;
  const json::value answer = json::parse(output.text, error);
  ASSERT_FALSE(error) << output.text;
  EXPECT_EQ(answer.at("result").at("runs").as_array().size(), 0U);
}

TEST_F(BadInput, TwoThousandConnectionsOpenedAndDropped) {
  ASSERT_TRUE(still_answers());
  const auto churn = [&] {
    for (int number = 0; number < 2000; ++number) {
      auto other = Connection::open(server_.socket());
      ASSERT_TRUE(other) << number;
      if (number % 2 == 0) {
        ASSERT_TRUE(other->send("{\"jsonrpc\":"));
      }
    }
  };
  churn();
  ASSERT_TRUE(is_usable());
  const std::uint64_t before = server_.resident_bytes();
  churn();
  ASSERT_TRUE(is_usable());
  EXPECT_LT(server_.resident_bytes(), before + 8 * memory_mib);
}

}  // namespace
}  // namespace signalbox::test
