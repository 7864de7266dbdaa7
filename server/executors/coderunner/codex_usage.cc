#include "server/executors/coderunner/codex_usage.h"

#include <algorithm>

#include <boost/json/parse.hpp>

#include "server/executors/coderunner/agent_fields.h"

namespace signalbox {
namespace {

// Returns the object with the thread's total, of the two kinds of lines that have one.
// token_usage_record is written as soon as an answer is complete, but only by newer versions;
// token_count once the tools have run that the answer asks for.
const boost::json::object* rollout_total(const boost::json::object& line,
                                         const std::string& thread) {
  const boost::json::object* payload = object_field(line, "payload");
  if (payload == nullptr) return nullptr;
  const std::string type = text_field(line, "type");
  if (type == "token_usage_record") {
    const bool is_own = text_field(*payload, "thread_id") == thread;
    return is_own ? object_field(*payload, "thread_token_usage") : nullptr;
  }
  if (type != "event_msg" || text_field(*payload, "type") != "token_count") return nullptr;
  // It is null in a line that has only the limits of the rate.
  const boost::json::object* info = object_field(*payload, "info");
  return info != nullptr ? object_field(*info, "total_token_usage") : nullptr;
}

}  // namespace

TokenCounts codex_counts(const boost::json::object& usage) {
  TokenCounts counts;
  counts.cache_read = figure_field(usage, "cached_input_tokens");
  counts.cache_write = figure_field(usage, "cache_write_input_tokens");
  const std::int64_t cached = counts.cache_read + counts.cache_write;
  counts.input = std::max<std::int64_t>(figure_field(usage, "input_tokens") - cached, 0);
  counts.output = figure_field(usage, "output_tokens");
  return counts;
}

std::optional<TokenCounts> total_in_rollout_line(std::string_view line, const std::string& thread) {
  // Most lines are long texts, which needn't be parsed.
  const bool may_have_total = line.find("\"token_count\"") != std::string_view::npos ||
                              line.find("\"token_usage_record\"") != std::string_view::npos;
  if (!may_have_total) return std::nullopt;
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(line, error);
  if (error || !value.is_object()) return std::nullopt;
  const boost::json::object* total = rollout_total(value.get_object(), thread);
  if (total == nullptr) return std::nullopt;
  const TokenCounts counts = codex_counts(*total);
  if (counts.tokens() == 0) return std::nullopt;
  return counts;
}

}  // namespace signalbox
