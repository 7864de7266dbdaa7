// Tests what `signalbox report` shows of an answer that a service seldom gives.
#include <gtest/gtest.h>

#include <string>

#include "tools/cli/terminal.h"
#include "tools/views/report_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string shown_of(const json::object& waiting, const json::object& more = {}) {
  json::object report{{"since", "2026-01-30T22:00:00Z"},
                      {"until", "2026-01-31T06:00:00Z"},
                      {"from", 1},
                      {"position", 9},
                      {"waiting", waiting}};
  for (const auto& each : more) report[each.key()] = each.value();
  return view_report(report, Terminal{});
}

TEST(ReportView, SaysThatMoreWaitThanAreCounted) {  // O1
  const json::object item{{"kind", "failed_run"}, {"text", "the run failed"}};
  json::object waiting{{"total", 1000}, {"items", json::array{item}}};
  EXPECT_NE(shown_of(waiting).find("\n1000 things wait for you"), std::string::npos);
  waiting["capped"] = true;
  EXPECT_NE(shown_of(waiting).find("\n1000+ things wait for you"), std::string::npos)
      << shown_of(waiting);
}

TEST(ReportView, OneIsNoPlural) {  // O6
  const auto report = [](int count) {
    const json::object crash{{"started_at", "2026-01-31T01:00:00Z"},
                             {"in_flight", 3},
                             {"verdicts", json::object{{"needs_operator", count}}}};
    return shown_of({}, {{"attempts", json::object{{"retries", count}}},
                         {"usage", json::object{{"tokens", count}, {"turns", count}}},
                         {"crashes", json::array{crash}}});
  };
  for (const char* const one : {"1 retry", "1 token, 1 turn", "1 of them needs you"}) {
    EXPECT_NE(report(1).find(one), std::string::npos) << one << "\n" << report(1);
  }
  for (const char* const two : {"2 retries", "2 tokens, 2 turns", "2 of them need you"}) {
    EXPECT_NE(report(2).find(two), std::string::npos) << two << "\n" << report(2);
  }
}

}  // namespace
}  // namespace signalbox
