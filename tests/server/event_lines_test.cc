// Tests that events don't flood the server's own log.
#include "server/followers/event_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

#include <spdlog/sinks/ostream_sink.h>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class EventLinesTest : public ::testing::Test {
 protected:
  void write(std::size_t events) {
    Record record;
    record.stream.kind = StreamKind::tick;
    record.event = TickFailed{};
    for (std::size_t event = 0; event < events; ++event) lines.write(record);
  }
  // Returns how many lines were written since the last call.
  std::ptrdiff_t written() {
    const std::string text = output.str();
    output.str("");
    return std::count(text.begin(), text.end(), '\n');
  }

  TestClock clock;
  std::ostringstream output;
  spdlog::logger logger{"test", std::make_shared<spdlog::sinks::ostream_sink_mt>(output)};
  EventLines lines{logger, clock};
};

TEST_F(EventLinesTest, AreSoManyInASecondAndTheOthersAreCounted) {  // P8
  constexpr std::ptrdiff_t most = EventLines::lines_per_second_max;
  write(most);
  EXPECT_EQ(written(), most);
  write(3);
  EXPECT_EQ(written(), 0);
  clock.advance_ms(1000);
  write(1);
  EXPECT_NE(output.str().find("3 lines about events were omitted"), std::string::npos)
      << output.str();
  EXPECT_EQ(written(), 2) << "that line, and the one of the event";
  write(most);
  EXPECT_EQ(written(), most - 1);
}

}  // namespace
}  // namespace signalbox
