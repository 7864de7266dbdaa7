// The parser of `claude -p`: the events of `--output-format stream-json`, and the single object of
// `json`.
#include <set>

#include <boost/json/array.hpp>

#include "server/executors/coderunner/agent_fields.h"
#include "server/executors/coderunner/agent_transcript.h"
#include "server/executors/coderunner/usage_limit.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr double microusd_per_usd = 1'000'000;
constexpr std::size_t seen_messages_max = 10'000;

std::int64_t tokens_of(const json::object& usage) {
  return figure_field(usage, "input_tokens") + figure_field(usage, "output_tokens") +
         figure_field(usage, "cache_creation_input_tokens") +
         figure_field(usage, "cache_read_input_tokens");
}

class ClaudeTranscript final : public AgentTranscript {
 private:
  void event(const json::object& event) override {
    if (const std::string session = text_field(event, "session_id"); !session.empty()) {
      report_.session = session;
    }
    const std::string type = text_field(event, "type");
    if (type == "system" && text_field(event, "subtype") == "init") {
      report_.model = text_field(event, "model");
    } else if (type == "assistant") {
      assistant(event);
    } else if (type == "rate_limit_event") {
      rate_limit(event);
    } else if (type == "result") {
      result(event);
    }
  }

  void assistant(const json::object& event) {
    const json::object* message = object_field(event, "message");
    if (message == nullptr) return;
    // A message arrives as one event per part, each with the usage of the whole message. A
    // subagent's message isn't a turn, but its tokens count.
    const std::string id = text_field(*message, "id");
    const bool is_new = id.empty() || (seen_.size() < seen_messages_max && seen_.insert(id).second);
    if (is_new && !report_.has_result) {
      if (text_field(event, "parent_tool_use_id").empty()) ++report_.usage.turns;
      if (const json::object* usage = object_field(*message, "usage")) {
        report_.usage.tokens += tokens_of(*usage);
      }
    }
    std::string text;
    const json::value* content = message->if_contains("content");
    if (content != nullptr && content->is_array()) {
      for (const json::value& part : content->get_array()) {
        if (const json::object* object = part.if_object()) text += text_field(*object, "text");
      }
    }
    if (!text.empty()) report_.last_text = text;
    if (const std::string error = text_field(event, "error"); !error.empty()) {
      report_.error_text = error + (text.empty() ? "" : ": " + text);
    }
  }

  // The event reports on every request; only the status `rejected` stops the agent.
  void rate_limit(const json::object& event) {
    const json::object* info = object_field(event, "rate_limit_info");
    if (info == nullptr || text_field(*info, "status") != "rejected") return;
    report_.quota_refused = true;
    report_.quota_reset_at_ns = utc_ns_of_epoch(figure_field(*info, "resetsAt"));
  }

  void result(const json::object& event) {
    report_.has_result = true;
    report_.subtype = text_field(event, "subtype");
    const json::value* is_error = event.if_contains("is_error");
    report_.is_error = (is_error != nullptr && is_error->is_bool() && is_error->get_bool()) ||
                       report_.subtype != "success";
    report_.final_text = text_field(event, "result");
    if (report_.is_error) {
      report_.error_text = report_.final_text;
      add_errors(event);
    }
    if (event.contains("num_turns")) report_.usage.turns = figure_field(event, "num_turns");
    report_.usage.cost_microusd = figure_field(event, "total_cost_usd", microusd_per_usd);
    if (const json::object* usage = object_field(event, "usage")) {
      report_.usage.tokens = tokens_of(*usage);
    }
    report_.denied_tools.clear();
    const json::value* denials = event.if_contains("permission_denials");
    if (denials == nullptr || !denials->is_array()) return;
    for (const json::value& denial : denials->get_array()) {
      const json::object* object = denial.if_object();
      report_.denied_tools.push_back(object != nullptr ? text_field(*object, "tool_name") : "");
    }
  }

  void add_errors(const json::object& event) {
    const json::value* errors = event.if_contains("errors");
    if (errors == nullptr || !errors->is_array()) return;
    for (const json::value& error : errors->get_array()) {
      if (!error.is_string()) continue;
      if (!report_.error_text.empty()) report_.error_text += "\n";
      report_.error_text += std::string(error.get_string());
    }
  }

  std::set<std::string> seen_;  // ids of the messages counted so far
};

}  // namespace

std::unique_ptr<AgentTranscript> claude_transcript() {
  return std::make_unique<ClaudeTranscript>();
}

}  // namespace signalbox
