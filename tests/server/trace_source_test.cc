// Tests how much one batch of spans has, and how many runs' traces are kept in memory.
#include "server/followers/traces/trace_source.h"

#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/followers/traces/trace_limits.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class TraceSourceTest : public ::testing::Test, protected RpcSite {
 protected:
  std::string start_one() {
    return start_run(R"({"goal":"g","pipeline":{"name":"one","station":[{"name":"implement"}]}})");
  }
  std::string claim(const std::string& run) {
    const auto answer = ask("station.claim", R"({"worker":"ann","run_id":")" + run + "\"}");
    return boost::json::serialize(answer.at("result").at("claim").at("token"));
  }
  void complete(const std::string& run, const std::string& token) {
    EXPECT_EQ(code_of(ask("station.complete", R"({"run_id":")" + run +
                                                  R"(","station":"implement","token":)" + token +
                                                  R"(,"outcome":"succeeded"})")),
              "");
  }
  TraceSource::Batch next(Position after) {
    auto batch = source.next(after);
    EXPECT_TRUE(batch) << batch.error().message;
    return batch ? std::move(*batch) : TraceSource::Batch{};
  }

  TraceSource source{{log, index, [](Position) { return true; },
                      [](const RunId&, const std::string& why) { ADD_FAILURE() << why; }}};
};

// A run with one attempt has two spans.
TEST_F(TraceSourceTest, ABatchHasSoManySpans) {  // R7, P8
  for (std::size_t run = 0; run <= limits::trace_batch_spans_max / 2; ++run) {
    const std::string started = start_one();
    complete(started, claim(started));
  }
  const TraceSource::Batch first = next(0);
  EXPECT_EQ(first.spans.size(), limits::trace_batch_spans_max);
  EXPECT_LT(first.through, log.tail());
  const TraceSource::Batch rest = next(first.through);
  EXPECT_EQ(rest.spans.size(), 2U);
  EXPECT_EQ(rest.through, log.tail());
}

TEST_F(TraceSourceTest, ABatchCoversSoManyEvents) {  // P8
  std::vector<Commit> commits;
  for (Position position = 1; position <= limits::trace_batch_events_max + 1; ++position) {
    Record record;
    record.position = position;
    record.event = ServerStarted{};
    commits.push_back({record});
  }
  ASSERT_EQ(log.append(0, commits).status, AppendStatus::ok);
  EXPECT_EQ(next(0).through, limits::trace_batch_events_max);
  EXPECT_EQ(next(limits::trace_batch_events_max).through, log.tail());
}

// The traces of all of them are forgotten when another one begins, and read again from the log.
TEST_F(TraceSourceTest, SoManyRunsAreKeptAndTheSpansOfOthersAreTheSame) {  // R7, P8
  for (const std::size_t runs : {limits::trace_open_runs_max, limits::trace_open_runs_max + 1}) {
    source.forget_runs();
    Position after = log.tail();
    const std::string first = start_one();
    const std::string token = claim(first);
    for (std::size_t run = 1; run < runs; ++run) start_one();
    const TraceSource::Batch begun = next(after);
    EXPECT_TRUE(begun.spans.empty());
    ASSERT_EQ(begun.through, log.tail());
    after = begun.through;
    complete(first, token);
    const TraceSource::Batch ended = next(after);
    EXPECT_EQ(ended.spans.size(), 2U);
    source.forget_runs();
    EXPECT_EQ(next(after).spans, ended.spans) << "as from the log";
  }
}

// A span that was sent can't be amended: another one has what is told later.
TEST_F(TraceSourceTest, UsageThatIsToldAfterTheEndOfItsRunIsASpan) {  // R7, P8, A5
  const std::string run = start_one();
  const std::string token = claim(run);
  const Attempt held = *engine.world().find_run(*parse_uuid(run))->attempt;
  complete(run, token);
  const TraceSource::Batch before = next(0);
  ASSERT_EQ(before.spans.size(), 2U);
  take(NoteLateUsage{
      *parse_uuid(run), "implement", 1, held.token, held.span_id, {5, 6, 7}, log.tail()});
  const TraceSource::Batch late = next(before.through);
  EXPECT_EQ(late.through, log.tail());
  EXPECT_EQ(late.lost, 0U);
  ASSERT_EQ(late.spans.size(), 1U);
  const auto span = boost::json::parse(late.spans[0]).as_object();
  EXPECT_EQ(span.at("name"), "implement usage");
  EXPECT_EQ(span.at("parentSpanId").as_string(), hex_span_id(attempt_span_id(held.span_id)));
  EXPECT_NE(late.spans[0].find(R"("key":"signalbox.usage.tokens","value":{"intValue":"6"})"),
            std::string::npos)
      << late.spans[0];
  EXPECT_EQ(next(before.through).spans, late.spans) << "sent twice, it is the same";
  EXPECT_EQ(next(late.through).spans.size(), 0U);
}

TEST_F(TraceSourceTest, ABatchHasSoManyBytes) {  // R7, P8
  boost::json::object labels;
  for (std::size_t label = 0; label < limits::labels_max; ++label) {
    const std::string number = std::to_string(10 + label);
    labels[number + std::string(limits::label_bytes_max - number.size(), 'k')] =
        std::string(limits::label_bytes_max, '"');
  }
  const std::string params =
      R"({"goal":"g","pipeline":{"name":"one","station":[{"name":"implement"}]},"labels":)" +
      boost::json::serialize(labels) + "}";
  constexpr std::size_t runs = limits::trace_batch_spans_max / 2;  // no more spans than a batch has
  for (std::size_t run = 0; run < runs; ++run) {
    const std::string started = start_run(params);
    complete(started, claim(started));
  }
  const TraceSource::Batch first = next(0);
  ASSERT_FALSE(first.spans.empty());
  std::size_t bytes = 0;
  for (const std::string& span : first.spans) bytes += span.size();
  EXPECT_GE(bytes, limits::trace_batch_bytes_max);
  EXPECT_LT(bytes - first.spans.back().size(), limits::trace_batch_bytes_max);
  EXPECT_EQ(first.spans.size() + next(first.through).spans.size(), limits::trace_batch_spans_max);
}

}  // namespace
}  // namespace signalbox
