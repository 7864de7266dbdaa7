// Cron expressions, times and durations.
#include "server/scheduler/cron_expression.h"
#include "server/text/time_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_schedule(std::string_view input) {
  static_cast<void>(CronExpression::parse(input));
  if (const auto time_ns = parse_time(input)) {
    SIGNALBOX_CHECK(parse_time(format_time(*time_ns)) == *time_ns);
  }
  if (const auto duration_ms = parse_duration_ms(input)) {
    SIGNALBOX_CHECK(parse_duration_ms(format_duration_ms(*duration_ms)) == *duration_ms);
  }
}

}  // namespace signalbox
