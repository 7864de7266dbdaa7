// The strict JSON reader, against Boost.JSON: it may refuse more, and what both read is equal.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/json_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_json(std::string_view input) {
  const auto value = parse_json(input);
  if (!value) return;
  boost::system::error_code error;
  boost::json::parse_options options;
  options.max_depth = json_depth_max;
  const boost::json::value theirs = boost::json::parse(input, error, {}, options);
  const bool has_nan = !(theirs == theirs);  // what Boost.JSON 1.81 makes of 0e4440
  SIGNALBOX_CHECK(!error && (theirs == *value || has_nan));
  // Not compared: Boost.JSON 1.81 may read a number of many digits as a neighbouring double.
  SIGNALBOX_CHECK(parse_json(boost::json::serialize(*value)));
}

}  // namespace signalbox
