// Tests what `signalbox report` shows of an answer that a service seldom gives.
#include <gtest/gtest.h>

#include <string>

#include "tools/cli/terminal.h"
#include "tools/views/report_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string shown_of(const json::object& waiting) {
  return view_report({{"since", "2026-01-30T22:00:00Z"},
                      {"until", "2026-01-31T06:00:00Z"},
                      {"from", 1},
                      {"position", 9},
                      {"waiting", waiting}},
                     Terminal{});
}

TEST(ReportView, SaysThatMoreWaitThanAreCounted) {  // O1
  const json::object item{{"kind", "failed_run"}, {"text", "the run failed"}};
  json::object waiting{{"total", 1000}, {"items", json::array{item}}};
  EXPECT_NE(shown_of(waiting).find("\n1000 things wait for you"), std::string::npos);
  waiting["capped"] = true;
  EXPECT_NE(shown_of(waiting).find("\n1000+ things wait for you"), std::string::npos)
      << shown_of(waiting);
}

}  // namespace
}  // namespace signalbox
