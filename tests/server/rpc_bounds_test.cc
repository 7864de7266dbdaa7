// Tests numbers of a query or a wait outside their bounds (P7): they are rejected with the bounds,
// never clamped.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "server/rpc/page_limit.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct Bound {
  const char* method;
  const char* field;
  std::string others;  // the other params
  std::int64_t min;
  std::int64_t max;
};

const std::vector<Bound> bounds = {
    {"run.list", "limit", "", 1, run_list_rows_max},
    {"lock.list", "limit", "", 1, lock_list_rows_max},
    {"plan.list", "limit", "", 1, plan_list_rows_max},
    {"tick.list", "limit", "", 1, tick_list_rows_max},
    {"strategy.list", "limit", "", 1, strategy_list_rows_max},
    {"project.list", "limit", "", 1, project_list_rows_max},
    {"card.list", "limit", "", 1, card_list_rows_max},
    {"board.get", "limit", "", 1, board_get_cards_max},
    {"attention.list", "limit", "", 1, attention_list_rows_max},
    {"server.in_flight", "limit", "", 1, in_flight_rows_max},
    {"events.read", "limit", "", 1, events_read_rows_max},
    {"log.marks", "limit", "", 1, log_marks_rows_max},
    {"events.histogram", "buckets", "", 1, histogram_buckets_max},
    {"report.get", "spans", "", 1, report_spans_max},
    {"timeline.get", "max_rows", "", 1, timeline_rows_max},
    {"station.claim", "wait_ms", R"(,"worker":"w")", 0, limits::claim_wait_ms_max},
    {"step.next", "wait_ms", R"(,"worker":"w")", 0, limits::claim_wait_ms_max},
    {"lock.acquire", "wait_ms", R"(,"key":"k","owner":"o")", 0, limits::lock_wait_ms_max},
};

class RpcBounds : public ::testing::Test, protected RpcSite {
 protected:
  json::object ask_with(const Bound& bound, std::int64_t value) {
    return ask(bound.method, std::string("{\"") + bound.field + "\":" + std::to_string(value) +
                                 bound.others + "}");
  }
};

TEST_F(RpcBounds, WhatLiesOutsideIsRefusedWithTheBounds) {  // P7
  for (const Bound& bound : bounds) {
    for (const std::int64_t value : {bound.min - 1, bound.max + 1}) {
      const auto answer = ask_with(bound, value);
      const std::string about = std::string(bound.method) + " " + json::serialize(answer);
      ASSERT_EQ(code_of(answer), "INVALID_PARAMS") << about;
      if (value < 0) continue;  // a count can't be negative
      const json::object& data = answer.at("error").at("data").as_object();
      const json::object meant{
          {"field", bound.field}, {"value", value}, {"min", bound.min}, {"max", bound.max}};
      EXPECT_EQ(data.at("details"), meant) << about;
      EXPECT_EQ(data.at("next_commands").at(0), "signalbox server limits") << about;
    }
  }
  EXPECT_EQ(log.tail(), 0U);
  EXPECT_EQ(claims.size() + locks.size(), 0U) << "somebody waits";
  EXPECT_EQ(steps.next_due_ns(), std::nullopt) << "somebody waits";
}

TEST_F(RpcBounds, TheBoundsThemselvesAreTaken) {
  for (const Bound& bound : bounds) {
    for (const std::int64_t value : {bound.min, bound.max}) {
      const bool waits = std::string(bound.field) == "wait_ms" && value > 0;
      if (waits && std::string(bound.method) != "lock.acquire") continue;  // nothing is ready
      const auto answer = ask_with(bound, value);
      EXPECT_EQ(code_of(answer), "") << bound.method << " " << json::serialize(answer);
    }
  }
}

// A part of a log has one as well. It is judged before it is known whether there is such a run.
TEST_F(RpcBounds, APartOfALogHasABound) {  // P7
  const auto part_of = [this](std::uint32_t bytes) {
    return ask("run.log", R"({"run_id":"00000000-0000-0000-0000-000000000001","bytes":)" +
                              std::to_string(bytes) + "}");
  };
  EXPECT_EQ(code_of(part_of(1)), "RUN_NOT_FOUND");
  EXPECT_EQ(code_of(part_of(run_log_bytes_max)), "RUN_NOT_FOUND");
  for (const std::uint32_t bytes : {std::uint32_t{0}, run_log_bytes_max + 1}) {
    const auto refused = part_of(bytes);
    EXPECT_EQ(code_of(refused), "INVALID_PARAMS") << json::serialize(refused);
    EXPECT_EQ(details_of(refused).at("max"), run_log_bytes_max);
  }
}

TEST_F(RpcBounds, ATimeThatTheCalendarDoesNotHaveIsRefused) {  // P7
  for (const char* field : {"since", "until"}) {
    const auto with = [&](const char* time) {
      return ask("run.list", "{\"" + std::string(field) + "\":\"" + time + "\"}");
    };
    const auto refused = with("2026-02-30T00:00:00Z");
    EXPECT_EQ(code_of(refused), "INVALID_PARAMS") << json::serialize(refused);
    EXPECT_EQ(details_of(refused).at("field"), field);
    EXPECT_EQ(code_of(with("2028-02-29T00:00:00Z")), "");
  }
}

// A page that goes on behind a text that no page has named would look like one of the list.
TEST_F(RpcBounds, ACursorThatNoPageHasNamedIsRefused) {  // P7
  for (const char* method : {"run.list", "card.list", "lock.list", "project.list", "tick.list",
                             "plan.list", "strategy.list", "attention.list", "log.marks"}) {
    for (const char* cursor : {"zzz", "", "6", "-1"}) {
      const auto answer = ask(method, std::string(R"({"cursor":")") + cursor + "\"}");
      const bool is_position = std::string(cursor) == "6" && code_of(answer).empty();
      EXPECT_TRUE(is_position || code_of(answer) == "INVALID_PARAMS")
          << method << " " << cursor << " " << json::serialize(answer);
    }
  }
}

// As of a script's variable that isn't set.
TEST_F(RpcBounds, AnEmptyNameOrIdIsRefusedAsThat) {  // P7
  struct Named {
    const char* method;
    const char* field;
    std::string others;
    const char* next;  // the command that lists what there is
  };
  const std::string no_run = R"(,"run_id":"00000000-0000-0000-0000-000000000001")";
  for (const Named& each : std::vector<Named>{
           {"run.get", "run_id", "", "signalbox run list"},
           {"run.find", "id", "", "signalbox run list"},
           {"run.cancel", "run_id", "", "signalbox run list"},
           {"card.get", "card_id", "", "signalbox card list"},
           {"card.submit", "project", R"(,"title":"t")", "signalbox project list"},
           {"project.get", "name", "", "signalbox project list"},
           {"lock.get", "key", "", "signalbox lock list"},
           {"loop.trigger", "loop", "", "signalbox loop list"},
           {"runner.get", "runner", "", "signalbox runner list"},
           {"station.heartbeat", "station", no_run + R"(,"token":1)", ""},
           {"run.artifact", "name", no_run, ""},
       }) {
    const auto answer =
        ask(each.method, std::string("{\"") + each.field + "\":\"\"" + each.others + "}");
    const std::string about = std::string(each.method) + " " + json::serialize(answer);
    ASSERT_EQ(code_of(answer), "INVALID_PARAMS") << about;
    const json::object& error = answer.at("error").as_object();
    EXPECT_EQ(error.at("message").as_string(), std::string(each.field) + " must not be empty")
        << about;
    EXPECT_EQ(error.at("data").at("details").at("field").as_string(), each.field) << about;
    const json::array& next = error.at("data").at("next_commands").as_array();
    EXPECT_EQ(next.empty() ? "" : std::string(next.at(0).as_string()), each.next) << about;
  }
  EXPECT_EQ(code_of(ask("card.list", R"({"project":""})")), "") << "an optional one names nothing";
}

}  // namespace
}  // namespace signalbox
