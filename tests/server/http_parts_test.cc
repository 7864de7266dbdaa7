// Tests the plain functions of the HTTP transport: targets, hosts, pages, ranges, and how events
// and problems are written.
#include <gtest/gtest.h>

#include <boost/describe/enumerators.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/mp11/algorithm.hpp>

#include "server/rpc/error_json.h"
#include "server/rpc/record_json.h"
#include "server/rpc/responder.h"
#include "server/rpc/shown_record.h"
#include "server/text/percent_coding.h"
#include "server/transport/http/artifact_download.h"
#include "server/transport/http/byte_range.h"
#include "server/transport/http/call_line.h"
#include "server/transport/http/host_rule.h"
#include "server/transport/http/http_header.h"
#include "server/transport/http/problem.h"
#include "server/transport/http/record_rate.h"
#include "server/transport/http/route_views.h"
#include "server/transport/http/sse_stream.h"
#include "server/transport/http/target.h"
#include "server/transport/protocol_detector.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using Words = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(HttpTarget, HasSegmentsAndQueryDecoded) {
  const auto target = read_target("/v1/runs/a%2Fb%20c?label=x%3Dy&q=a+b&flag&=no");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->segments, (Words{"v1", "runs", "a/b c"}));
  EXPECT_EQ(target->query, (Pairs{{"label", "x=y"}, {"q", "a b"}, {"flag", ""}}));
  EXPECT_EQ(target->authority, "");
  const auto absolute = read_target("http://evil.example:80/v1?a=b");
  ASSERT_TRUE(absolute);
  EXPECT_EQ(absolute->authority, "evil.example:80");
  EXPECT_EQ(absolute->segments, (Words{"v1"}));
  EXPECT_EQ(read_target("/")->segments, Words{});
  EXPECT_EQ(read_target("*")->segments, (Words{"*"}));
  EXPECT_FALSE(read_target("/v1")->ends_with_slash);
  EXPECT_FALSE(read_target("/")->ends_with_slash);
  EXPECT_TRUE(read_target("/console/?page=runs")->ends_with_slash);
}

TEST(HttpTarget, RefusesWhatCouldMeanTwoThings) {
  for (const char* text : {"", "v1", "/v1//runs", "/v1//", "//", "/v1/%2", "/v1/%zz", "/v1/%00",
                           "/v1/..", "/v1/%2e%2E", "/%ff", "/a?b=%", "/a?b=%00"}) {
    EXPECT_FALSE(read_target(text)) << text;
  }
}

TEST(HttpTarget, EncodesWhatItDecodes) {
  const std::string name = "d/ä \"%+&=?#.txt";
  EXPECT_EQ(read_target("/" + percent_encoded(name))->segments, (Words{name}));
  EXPECT_EQ(read_target("/?q=" + percent_encoded(name))->query, (Pairs{{"q", name}}));
}

TEST(HttpHost, AnswersToItsOwnNamesOnly) {
  const HostRule rule({"Box.example.org"});
  for (const char* host : {"localhost", "LOCALHOST:7070", "127.0.0.1", "127.0.0.1:80", "[::1]",
                           "[::1]:7070", "box.example.org", "BOX.example.org:443"}) {
    EXPECT_TRUE(rule.allows(host, true, "")) << host;
  }
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                           "localhost:80:80", "localhost:x", "[::1", "[::1]x", "signalbox",
                           "10.0.0.7", "localhost@evil.example", "127.0.0.2"}) {
    EXPECT_FALSE(rule.allows(host, true, "")) << host;
  }
  EXPECT_TRUE(rule.allows("signalbox", false, ""));
  EXPECT_FALSE(rule.allows("evil.example", false, ""));
  EXPECT_TRUE(rule.allows("10.0.0.7:7070", true, "10.0.0.7")) << "the address it was reached at";
}

TEST(HttpBrowser, TakesNothingFromPagesOfOthers) {
  EXPECT_FALSE(is_cross_site("", "", "localhost", false)) << "a program";
  EXPECT_FALSE(is_cross_site("same-origin", "", "localhost", false));
  EXPECT_FALSE(is_cross_site("none", "", "localhost", false));
  EXPECT_TRUE(is_cross_site("cross-site", "", "localhost", false));
  EXPECT_TRUE(is_cross_site("same-site", "http://localhost", "localhost", false));
  EXPECT_FALSE(is_cross_site("", "http://localhost:7070", "localhost:7070", false));
  EXPECT_FALSE(is_cross_site("", "https://localhost:7070", "localhost:7070", true));
  EXPECT_TRUE(is_cross_site("", "http://localhost:7070", "localhost:7070", true));
  EXPECT_TRUE(is_cross_site("", "http://localhost:9999", "localhost:7070", false));
  EXPECT_TRUE(is_cross_site("", "null", "localhost", false));
  EXPECT_TRUE(is_cross_site("", "http://evil.example", "localhost", false));
}

TEST(HttpBrowser, VisitsAPageOnlyWithTheWholeWindow) {
  EXPECT_TRUE(is_page_visit("navigate", "document"));
  EXPECT_FALSE(is_page_visit("navigate", "iframe"));
  EXPECT_FALSE(is_page_visit("no-cors", "script"));
  EXPECT_FALSE(is_page_visit("", "")) << "a program, or an old browser";
}

TEST(HttpRange, IsOneOfBytes) {  // O2
  const auto part = [](std::string_view header) -> std::optional<ByteRange> {
    const RequestedRange asked = read_range(header, 10);
    if (asked.kind != RangeKind::part) return std::nullopt;
    return asked.range;
  };
  EXPECT_EQ(part("bytes=0-0"), (ByteRange{0, 1}));
  EXPECT_EQ(part("bytes=2-5"), (ByteRange{2, 4}));
  EXPECT_EQ(part("bytes=9-"), (ByteRange{9, 1}));
  EXPECT_EQ(part("bytes=3-99"), (ByteRange{3, 7}));
  EXPECT_EQ(part("bytes=-4"), (ByteRange{6, 4}));
  EXPECT_EQ(part("bytes=-99"), (ByteRange{0, 10}));
  EXPECT_EQ(part("Bytes=2-5"), (ByteRange{2, 4}));
  EXPECT_EQ(part("bytes= 2-5 ,"), (ByteRange{2, 4}));
  EXPECT_EQ(part("bytes=2-99999999999999999999"), (ByteRange{2, 8}));
  EXPECT_EQ(part("bytes=-99999999999999999999"), (ByteRange{0, 10}));
  for (const char* header : {"", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,3-4",
                             "bytes=a-b", "lines=1-2", "bytes=,", "bytes=1 - 2", "bytes=+1-2"}) {
    EXPECT_EQ(read_range(header, 10).kind, RangeKind::whole) << header;
  }
  for (const char* header :
       {"bytes=10-", "bytes=10-12", "bytes=-0", "bytes=99999999999999999999-"}) {
    EXPECT_EQ(read_range(header, 10).kind, RangeKind::unsatisfiable) << header;
  }
  EXPECT_EQ(read_range("bytes=-1", 0).kind, RangeKind::unsatisfiable);
}

TEST(HttpFirstByte, TellsTheProtocol) {
  for (const char each : std::string("{ \t\r\n[\"0\x80") + '\0') {
    EXPECT_EQ(protocol_of(each), Protocol::lines) << int{each};
  }
  for (const char each : std::string("GPHODaz")) {
    EXPECT_EQ(protocol_of(each), Protocol::http) << each;
  }
  EXPECT_EQ(protocol_of('\x16'), Protocol::tls);
}

Record released_lock() {
  Record record;
  record.position = 7;
  record.stream = {StreamKind::lock, {}, "deploy"};
  LockReleased released;
  released.token = 5;
  record.event = released;
  return record;
}

TEST(HttpEvents, AreAsAClientAsksForThem) {  // O5
  const auto form_of = [](const std::string& query) {
    return read_sse_form(read_target("/v1/events" + query).value());
  };
  for (const char* wrong :
       {"?framing=", "?framing=line", "?fields=few", "?framing=message&framing=message",
        "?per_second_max=", "?per_second_max=99", "?per_second_max=100001", "?per_second_max=1e3",
        "?per_second_max=100&per_second_max=100", "?types=RunStarted&per_second_max=100",
        "?per_second_max=100&run_id=x"}) {
    EXPECT_FALSE(form_of(wrong)) << wrong;
  }
  EXPECT_EQ(form_of("?per_second_max=100").value().per_second_max, sse_events_per_second_min);
  EXPECT_EQ(form_of("?per_second_max=100000").value().per_second_max, sse_events_per_second_max);
  const Record record = released_lock();
  ShownRecord shown(record);
  const RecordNotice notice{.record = shown, .subscription = "s"};
  EXPECT_EQ(sse_record(notice, form_of("?framing=event&fields=all").value()), sse_record(notice));
  const SseForm message = form_of("?from=1&framing=message").value();
  const std::string begin = "id: 7\ndata: {\"event\":\"LockReleased\",\"position\":7,";
  EXPECT_TRUE(sse_record(notice, message).starts_with(begin)) << sse_record(notice, message);
  EXPECT_EQ(sse_event("lagged", {{"from", 3}}, true, message),
            "data: {\"event\":\"lagged\",\"from\":3}\n\n");
  json::object header = record_header_to_json(record);
  header["subscription"] = "s";
  const SseForm summary = form_of("?fields=summary").value();
  EXPECT_EQ(sse_record(notice, summary),
            "id: 7\nevent: LockReleased\ndata: " + json::serialize(header) + "\n\n");
  const json::object broadcast{{"data", 1}};
  EXPECT_EQ(sse_event("heartbeat.tick", broadcast, false, summary),
            "event: heartbeat.tick\ndata: {\"data\":1}\n\n");
}

// A screen is sent what comes at its rate, nothing of a flood, and soon after one all again.
TEST(HttpEvents, OfAFloodAScreenIsSentNone) {  // C6
  RecordRate rate(1000);
  RecordRate::Clock::time_point now{std::chrono::hours(1)};
  // Returns how many are sent of those that come in a second, 10 at a time.
  const auto sent_of = [&](std::size_t per_second) {
    std::size_t sent = 0;
    for (std::size_t come = 0; come < per_second; come += 10) {
      now += std::chrono::nanoseconds(10'000'000'000 / per_second);
      if (rate.takes(10, now)) sent += 10;
    }
    return sent;
  };
  EXPECT_EQ(sent_of(900), 900U);
  EXPECT_LE(sent_of(20'000), 300U) << "what fits at once";
  EXPECT_EQ(sent_of(20'000), 0U) << "the flood goes on";
  EXPECT_GE(sent_of(100), 60U) << "it is over, and said to be in a quarter of a second";
  EXPECT_EQ(sent_of(900), 900U);
  EXPECT_FALSE(rate.takes(5000, now)) << "a whole backlog";
  now += std::chrono::milliseconds(300);
  EXPECT_TRUE(rate.takes(10, now));
}

// Its text is made once, and is what a program would have made of its object each time.
TEST(HttpEvents, AreTheRecordsOfTheSocket) {  // C6
  const Record record = released_lock();
  ShownRecord shown(record);
  for (const std::string_view subscription : {"s", "\"b\"", "s"}) {
    for (const bool hides_tokens : {false, true, false}) {
      json::object params = record_to_json(record);
      if (hides_tokens) hide_tokens(params);
      params["subscription"] = subscription;
      const RecordNotice notice{
          .record = shown, .subscription = subscription, .hides_tokens = hides_tokens};
      EXPECT_EQ(sse_record(notice),
                "id: 7\nevent: LockReleased\ndata: " + json::serialize(params) + "\n\n");
    }
  }
}

TEST(HttpEvents, HaveTheIdInTheLastOfAPosition) {
  const Record record = released_lock();
  ShownRecord shown(record);
  RecordNotice notice{.record = shown, .subscription = "s"};
  const std::string whole = sse_record(notice);
  notice.is_last_of_position = false;
  EXPECT_EQ("id: 7\n" + sse_record(notice), whole);
  const json::object skipped{{"position", "9007199254740993"}, {"loop", "x"}};
  EXPECT_EQ(
      sse_event("heartbeat.skipped", skipped, true),
      "id: 9007199254740993\nevent: heartbeat.skipped\ndata: " + json::serialize(skipped) + "\n\n");
  EXPECT_EQ(sse_event("lagged", {{"from", 3}}, true), "event: lagged\ndata: {\"from\":3}\n\n");
}

TEST(HttpProblem, EveryCodeHasAStatusAndTheSameBody) {
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<ErrorCode>>([](auto each) {
    const Rejection rejection{each.value, "what is wrong", {{"field", std::string("x")}}, {"do"}};
    const HttpAnswer answer = problem(rejection);
    EXPECT_GE(answer.status, 400U);
    EXPECT_EQ(answer.media_type, "application/problem+json");
    const json::object body = json::parse(answer.body).as_object();
    EXPECT_EQ(body.at("code"), each.name);
    EXPECT_EQ(body.at("type").as_string(), std::string("urn:signalbox:error:") + each.name);
    EXPECT_EQ(body.at("status"), answer.status);
    EXPECT_EQ(body.at("detail"), "what is wrong");
    EXPECT_EQ(body.at("details").at("field"), "x");
    EXPECT_EQ(body.at("next_commands").at(0), "do");
    EXPECT_FALSE(body.at("title").as_string().empty());
    const HttpAnswer from_rpc = problem(rejection_to_json(rejection));
    EXPECT_EQ(from_rpc.body, answer.body);
    EXPECT_EQ(from_rpc.status, answer.status);
    const bool comes_again = answer.status == 429 || answer.status == 503;
    EXPECT_EQ(!answer.headers.empty(), comes_again || answer.status == 401)
        << "Retry-After or WWW-Authenticate of " << each.name;
  });
  EXPECT_EQ(status_of(ErrorCode::IDEMPOTENCY_CONFLICT), 409U);
  EXPECT_EQ(status_of(ErrorCode::RUN_NOT_FOUND), 404U);
  EXPECT_EQ(status_of(ErrorCode::STORAGE_FULL), 503U);
}

TEST(HttpHeader, CarriesNoBytesOfAnArtifactsNameOrType) {
  EXPECT_EQ(content_disposition("a/b/note.txt"), "attachment; filename=\"note.txt\"");
  EXPECT_EQ(content_disposition("x\r\nSet-Cookie: a=\"b\""),
            "attachment; filename=\"x__Set-Cookie: a=_b_\"; "
            "filename*=UTF-8''x%0D%0ASet-Cookie%3A%20a%3D%22b%22");
  EXPECT_EQ(safe_media_type("text/plain; charset=utf-8"), "text/plain; charset=utf-8");
  EXPECT_EQ(safe_media_type("text/html\r\nX: y"), "application/octet-stream");
  EXPECT_EQ(safe_media_type("nothing"), "application/octet-stream");
}

Decided<std::string> line_for(const char* verb, const char* target, const CallHeaders& headers = {},
                              const char* body = "") {
  const auto read = read_target(target);
  const RouteMatch match = match_route(verb, *read);
  return call_line(match, *read, headers, body);
}

TEST(HttpCall, IsTheRequestThatALineWouldBe) {
  EXPECT_EQ(
      *line_for("GET", "/v1/runs?status=failed&limit=2"),
      R"({"jsonrpc":"2.0","id":1,"method":"run.list","params":{"status":"failed","limit":"2"}})");
  EXPECT_EQ(
      *line_for("POST", "/v1/runs", {"\"k\"", ""}, R"({"goal":"g"})"),
      R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g","idempotency_key":"k"}})");
  EXPECT_EQ(
      *line_for("POST", "/v1/runs/r/cancel", {"k", ""}),
      R"({"jsonrpc":"2.0","id":1,"method":"run.cancel","params":{"command_id":"k","run_id":"r"}})");
  EXPECT_EQ(
      *line_for("GET", "/v1/runs/r/artifacts/d/a%20b"),
      R"({"jsonrpc":"2.0","id":1,"method":"run.artifact","params":{"name":"d/a b","run_id":"r"}})");
  EXPECT_EQ(
      *line_for("GET", "/v1/events?from=3&types=A,B&types=C", {"", "41"}),
      R"({"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"from":"42","types":["A","B","C"]}})");
}

TEST(HttpCall, RefusesWhatIsSaidTwice) {
  for (const auto& line :
       {line_for("GET", "/v1/runs?limit=2&limit=3"),
        line_for("POST", "/v1/runs", {"k", ""}, R"({"goal":"g","idempotency_key":"other"})"),
        line_for("POST", "/v1/runs/r/cancel", {}, R"({"run_id":"r"})"),
        line_for("POST", "/v1/runs?goal=x", {}, R"({"goal":"g"})"),
        line_for("POST", "/v1/runs", {}, R"(["goal"])"), line_for("GET", "/v1/runs/r?run_id=s"),
        line_for("GET", "/v1/events", {"", "x"}),
        line_for("GET", "/v1/events", {"", "18446744073709551615"})}) {
    ASSERT_FALSE(line) << *line;
    EXPECT_EQ(line.error().code, ErrorCode::INVALID_PARAMS);
  }
  EXPECT_EQ(line_for("POST", "/v1/runs", {}, R"({"a":1,"a":2})").error().code,
            ErrorCode::PARSE_ERROR);
}

// A viewer gets null for every token. Which artifact is the newest is said without one.
TEST(HttpArtifacts, AreListedWithoutTokens) {  // G8
  const std::string file = R"("name":"a b","media_type":"text/plain","bytes":1,"sha256":"00")";
  const auto result =
      json::parse(R"({"position":9,"run":{"run_id":"r","stations":[{"station":"s","attempts":[)"
                  R"({"attempt":1,"token":null,"artifacts":[{)" +
                  file + R"(,"current":false}]},{"attempt":2,"token":null,"artifacts":[{)" + file +
                  R"(,"current":true}]}]}]}})")
          .as_object();
  HttpAnswer answer;
  show_artifacts(Target{}, result, answer);
  const auto shown = json::parse(answer.body).at("artifacts").as_array();
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0].at("current"), false);
  EXPECT_EQ(shown[1].at("current"), true);
  EXPECT_EQ(shown[1].at("href"), "/v1/runs/r/artifacts/a%20b");
}

}  // namespace
}  // namespace signalbox
