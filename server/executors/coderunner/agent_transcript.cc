#include "server/executors/coderunner/agent_transcript.h"

#include <boost/json/parse.hpp>

#include "server/text/json_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Agents quote the output of their tools, which may be deeply nested.
constexpr std::size_t transcript_depth_max = 256;

}  // namespace

bool AgentTranscript::line(std::string_view bytes) {
  if (bytes.find_first_not_of(" \t\r") == std::string_view::npos) return true;
  json::parse_options options;
  options.max_depth = transcript_depth_max;
  json::error_code error;
  const json::value value = json::parse(readable_json(bytes), error, {}, options);
  if (!error && value.is_object()) {
    ++report_.events;
    event(value.get_object());
    return true;
  }
  if (!error && value.is_array()) {
    for (const json::value& each : value.get_array()) {
      if (!each.is_object()) continue;
      ++report_.events;
      event(each.get_object());
    }
    return true;
  }
  ++report_.invalid_lines;
  return false;
}

}  // namespace signalbox
