// Tests exporting spans to a collector that fails in all the ways collectors do: each span arrives
// at least once, always with the same bytes, and dropped spans are counted.
#include "server/followers/traces/trace_exporter.h"

#include <fstream>

#include "domain/free_text.h"
#include "tests/fixtures/span_collector.h"
#include "tests/server/executor_fixture.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

using test::SpanCollector;

class TraceExporterTest : public ::testing::Test, protected RpcSite {
 protected:
  ~TraceExporterTest() override { exporter.reset(); }

  // `request_ms`: how long a request may take; the default is longer than any response needs.
  void begin_exporting(std::int64_t request_ms = 60'000) {
    TraceSettings settings;
    settings.endpoint = collector.url();
    settings.service_name = "signalbox";
    settings.backfill_ms = 50LL * 366 * 24 * 60 * 60 * 1000;
    settings.request_ms = request_ms;
    settings.backoff_ms = 5;
    settings.headers = {{"X-Api-Key", "secret"}};
    exporter = std::make_unique<TraceExporter>(log, projector, settings, directory.path(),
                                               [this](bool ok, const std::string& text) {
                                                 const std::lock_guard lock(mutex);
                                                 (ok ? good : bad) += text + "\n";
                                               });
    exporter->start();
  }
  std::string start_run() {
    const auto answer = ask("run.start", R"({"goal":"g","project":"web","pipeline":{"name":"one",
        "station":[{"name":"implement","retry":{"max_retries":3,"backoff":"1ms"}}]}})");
    return std::string(answer.at("result").at("run_id").as_string());
  }
  void attempt(const std::string& run, const char* outcome) {
    clock.advance_ms(1000);
    const auto claim = ask("station.claim", R"({"worker":"ann","run_id":")" + run + "\"}")
                           .at("result")
                           .at("claim");
    clock.advance_ms(2000);
    const std::string why =
        std::string(outcome) == "failed" ? R"(,"error_class":"transient","error_code":"RED")" : "";
    const auto answer =
        ask("station.complete", R"({"run_id":")" + run + R"(","station":"implement","token":)" +
                                    serialize_number(claim.at("token")) + R"(,"outcome":")" +
                                    outcome + "\"" + why + "}");
    EXPECT_TRUE(answer.contains("result")) << boost::json::serialize(answer);
  }
  static std::string serialize_number(const boost::json::value& value) {
    return boost::json::serialize(value);
  }
  // Makes a run with two spans; returns its id.
  std::string simple_run() {
    const std::string run = start_run();
    attempt(run, "succeeded");
    return run;
  }
  bool all_sent() {
    return eventually([this] { return exporter->figures().through == log.tail(); });
  }
  std::string notes_of_trouble() {
    const std::lock_guard lock(mutex);
    return bad;
  }
  std::string good_notes() {
    const std::lock_guard lock(mutex);
    return good;
  }
  // Erases the free texts of the latest event of this type.
  void redact(const std::string& type) {
    Redaction redaction;
    ASSERT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
      if (tag_of(record.event).name != type) return true;
      redaction.position = record.position;
      redaction.replacement =
          without_free_texts(record.event, free_text_fields(record.event), Blank::telling);
      return true;
    }));
    PayloadRedacted event;
    event.redacted_position = redaction.position;
    redaction.note.position = log.tail() + 1;
    redaction.note.stream = Stream::access();
    redaction.note.event = AccessEvent(event);
    ASSERT_TRUE(log.redact(log.tail(), redaction));
  }
  void expect_each_the_same() {
    for (const auto& [id, texts] : collector.spans()) EXPECT_EQ(texts.size(), 1U) << id.second;
  }

  TemporaryDirectory directory;
  SpanCollector collector;
  std::mutex mutex;
  std::string good;
  std::string bad;
  std::unique_ptr<TraceExporter> exporter;
};

TEST_F(TraceExporterTest, EverySpanThatEndsArrives) {  // R7
  for (int count = 0; count < 700; ++count) simple_run();
  start_run();  // under way: none of its spans has ended
  begin_exporting();
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(collector.spans().size(), 1400U);
  EXPECT_EQ(collector.received(), 1400U);
  EXPECT_EQ(exporter->figures().exported, 1400U);
  EXPECT_EQ(exporter->figures().failed, 0U);
  EXPECT_GT(collector.requests("POST"), 2) << "in batches";
  EXPECT_EQ(collector.last_headers().at("X-Api-Key"), "secret");
  EXPECT_EQ(notes_of_trouble(), "");
}

TEST_F(TraceExporterTest, ACollectorThatFailsForAWhileMissesNothing) {
  simple_run();
  collector.fail_next({.method = "POST", .status = 503});
  collector.fail_next({.method = "POST", .status = 429, .retry_after_s = 1});
  collector.fail_next({.method = "POST", .cut = true});  // the spans were taken, as with `hang`
  collector.fail_next({.method = "POST", .hang = true});
  collector.fail_next({.method = "POST", .status = 500, .body = "oops"});
  const auto begun = std::chrono::steady_clock::now();
  begin_exporting(10'000);
  ASSERT_TRUE(all_sent());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1)) << "Retry-After";
  EXPECT_EQ(collector.faults_left(), 0U);
  EXPECT_EQ(collector.spans().size(), 2U);
  EXPECT_EQ(collector.received(), 6U) << "what was taken without an answer came again";
  expect_each_the_same();
  EXPECT_EQ(exporter->figures().exported, 2U);
  EXPECT_EQ(exporter->figures().failed, 0U);
  EXPECT_NE(notes_of_trouble().find("no spans are sent: HTTP 503"), std::string::npos);
  EXPECT_NE(good_notes().find("spans are sent again"), std::string::npos);
}

TEST_F(TraceExporterTest, WhatIsRefusedForGoodIsCountedAndNotTriedAgain) {
  simple_run();
  collector.fail_next({.method = "POST", .status = 400, .body = "no such tenant"});
  begin_exporting();
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(collector.requests("POST"), 1);
  EXPECT_EQ(exporter->figures().failed, 2U);
  EXPECT_NE(notes_of_trouble().find("refused 2 spans for good: HTTP 400: no such tenant"),
            std::string::npos);
  collector.reject_next(1);  // rejected spans of a partial success count as well
  simple_run();
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(exporter->figures().failed, 3U);
  EXPECT_EQ(exporter->figures().exported, 1U);
  EXPECT_EQ(collector.requests("POST"), 2);
}

TEST_F(TraceExporterTest, ACollectorThatAlwaysFailsAtABatchDoesntHoldUpTheOthers) {
  simple_run();
  for (int count = 0; count < limits::trace_failing_tries_max; ++count) {
    collector.fail_next({.method = "POST", .status = 500});
  }
  begin_exporting();
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(exporter->figures().failed, 2U);
  simple_run();
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(exporter->figures().exported, 2U);
}

// A followed redirect would turn the POST into a GET, and send the secret headers elsewhere.
TEST_F(TraceExporterTest, ARedirectIsNotFollowed) {
  simple_run();
  collector.fail_next({.method = "POST", .redirect = true});
  begin_exporting();
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(collector.requests("GET"), 0);
  EXPECT_EQ(exporter->figures().failed, 2U);
}

TEST_F(TraceExporterTest, ItGoesOnWhereItStopped) {
  simple_run();
  begin_exporting();
  ASSERT_TRUE(all_sent());
  exporter.reset();
  const std::string halfway = start_run();
  attempt(halfway, "failed");
  begin_exporting();
  ASSERT_TRUE(all_sent());
  exporter.reset();
  ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000,"reason":"r"})");
  begin_exporting();
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(collector.received(), 3U) << "nothing came twice";
}

// An earlier exporter sent the beginning of the run; its spans are the same as from one exporter.
TEST_F(TraceExporterTest, ARunThatIsTakenUpInTheMiddleGivesTheSameSpans) {
  const std::string run = start_run();
  clock.advance_ms(100);
  const auto claim =
      ask("station.claim", R"({"worker":"ann","run_id":")" + run + "\"}").at("result").at("claim");
  begin_exporting();
  ASSERT_TRUE(all_sent());
  exporter.reset();
  ask("station.complete", R"({"run_id":")" + run + R"(","station":"implement","token":)" +
                              serialize_number(claim.at("token")) + R"(,"outcome":"succeeded"})");
  begin_exporting();
  ASSERT_TRUE(all_sent());
  exporter.reset();
  EXPECT_EQ(collector.received(), 2U);
  std::filesystem::remove(directory.path() / "projections" / "trace_cursor");
  begin_exporting();  // from the beginning of the log
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(collector.received(), 4U);
  EXPECT_EQ(collector.spans().size(), 2U);
  expect_each_the_same();
}

TEST_F(TraceExporterTest, ItsEndDoesntWaitForTheCollector) {
  simple_run();
  for (int count = 0; count < 100; ++count) {
    collector.fail_next({.method = "POST", .status = 429, .retry_after_s = 600});
  }
  begin_exporting();
  ASSERT_TRUE(eventually([&] { return collector.requests("POST") > 0; }));
  const auto begun = std::chrono::steady_clock::now();
  exporter.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
}

// A collector may be away for hours, with a request that is tried again.
TEST_F(TraceExporterTest, WhatWasRedactedMeanwhileIsNotSent) {  // G17
  const std::string run = start_run();
  const auto claim =
      ask("station.claim", R"({"worker":"ann","run_id":")" + run + "\"}").at("result").at("claim");
  ask("station.complete",
      R"({"run_id":")" + run + R"(","station":"implement","token":)" +
          serialize_number(claim.at("token")) +
          R"(,"outcome":"failed","error_class":"config","error_code":"RED","error_message":"the key is hunter2"})");
  collector.fail_next({.method = "POST", .status = 429, .retry_after_s = 600});
  begin_exporting();
  ASSERT_TRUE(eventually([&] { return collector.requests("POST") == 1; }));
  for (const std::string type : {"StationFailed", "RunFailed"}) redact(type);
  exporter->forget_runs();
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(collector.spans().size(), 2U);
  EXPECT_EQ(exporter->figures().exported, 2U);
  for (const auto& [id, texts] : collector.spans()) {
    ASSERT_EQ(texts.size(), 1U);
    EXPECT_EQ(texts.begin()->find("hunter2"), std::string::npos) << *texts.begin();
    EXPECT_NE(texts.begin()->find("[redacted]"), std::string::npos) << *texts.begin();
  }
}

TEST(CollectorResponse, IsJudgedAsTheSpecificationHasIt) {
  const auto judge = [](long status, std::string body = "",
                        std::optional<std::int64_t> retry_after_ms = std::nullopt) {
    HttpResponse response;
    response.status = status;
    response.body = std::move(body);
    response.retry_after_ms = retry_after_ms;
    return judge_collector_response(response);
  };
  const auto outcome_of = [&judge](long status, std::string body = "") {
    return judge(status, std::move(body)).outcome;
  };
  EXPECT_EQ(outcome_of(200, "{}"), TraceDelivery::Outcome::taken);
  EXPECT_EQ(outcome_of(200, "not JSON"), TraceDelivery::Outcome::taken);
  EXPECT_EQ(outcome_of(204), TraceDelivery::Outcome::taken);
  for (const long status : {408, 429, 502, 503, 504}) {
    EXPECT_EQ(outcome_of(status), TraceDelivery::Outcome::again) << status;
  }
  for (const long status : {301, 307, 400, 401, 403, 404, 413, 415}) {
    EXPECT_EQ(outcome_of(status), TraceDelivery::Outcome::refused) << status;
  }
  EXPECT_EQ(outcome_of(500), TraceDelivery::Outcome::failing);
  const auto partial =
      judge(200, R"({"partialSuccess":{"rejectedSpans":"7","errorMessage":"why"}})");
  EXPECT_EQ(partial.rejected, 7U);
  EXPECT_EQ(partial.message, "why");
  const auto number = judge(200, R"({"partialSuccess":{"rejectedSpans":7}})");
  EXPECT_EQ(number.rejected, 7U);
  EXPECT_EQ(judge(503, "", 86'400'000).after_ms, limits::trace_retry_after_ms_max);
}

// Compares the whole text of the spans of a run with a retry. SIGNALBOX_REWRITE_GOLDEN=1 rewrites
// the golden file. Collectors find a trace by its ids, so those must not change.
TEST_F(TraceExporterTest, ARunWithRetriesIsThisDocument) {  // R7
  const std::string run = start_run();
  attempt(run, "failed");
  clock.advance_ms(10'000);
  for (const Command& command : timers.take_due(engine.world(), clock.monotonic_ns())) {
    (void)engine.begin(by_the_service).apply(command);
  }
  commit_all();
  attempt(run, "succeeded");
  send(R"({"jsonrpc":"2.0","id":1,"method":"run.trace","params":{"run_id":")" + run +
       R"(","otlp":true}})");
  ASSERT_TRUE(projector.catch_up().has_value());
  auto answer = peer->next();
  auto& of_resource =
      answer.at("result").at("otlp").at("resourceSpans").as_array().at(0).as_object();
  EXPECT_EQ(of_resource.at("resource").at("attributes").as_array().size(), 4U);
  of_resource.erase("resource");  // differs from machine to machine
  const std::string text = boost::json::serialize(of_resource);
  const std::filesystem::path file =
      std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/server/golden_run.otlp.json";
  if (std::getenv("SIGNALBOX_REWRITE_GOLDEN") != nullptr) std::ofstream(file) << text << "\n";
  EXPECT_EQ(text + "\n", content_of(file));
}

}  // namespace
}  // namespace signalbox
