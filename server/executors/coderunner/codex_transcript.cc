// The parser of `codex exec --json`. One call is one turn; codex doesn't report a cost.
#include <boost/json/array.hpp>

#include "server/executors/coderunner/agent_fields.h"
#include "server/executors/coderunner/agent_transcript.h"
#include "server/executors/coderunner/usage_limit.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class CodexTranscript final : public AgentTranscript {
 private:
  void event(const json::object& event) override {
    const std::string type = text_field(event, "type");
    if (type == "thread.started") {
      report_.session = text_field(event, "thread_id");
    } else if (type == "turn.started") {
      ++report_.usage.turns;
    } else if (type == "item.completed") {
      if (const json::object* item = object_field(event, "item")) completed(*item);
    } else if (type == "turn.completed") {
      end("success", false);
      if (const json::object* usage = object_field(event, "usage")) {
        // Cached input is part of the input.
        report_.usage.tokens +=
            figure_field(*usage, "input_tokens") + figure_field(*usage, "output_tokens");
      }
    } else if (type == "turn.failed") {
      end("turn.failed", true);
      if (const json::object* error = object_field(event, "error")) {
        report_.error_text = text_field(*error, "message");
      }
    } else if (type == "error") {
      // Not the end: codex also reports a lost connection this way before it retries.
      report_.error_text = text_field(event, "message");
      quota(event);
    }
  }

  void completed(const json::object& item) {
    std::string type = text_field(item, "type");
    if (type.empty()) type = text_field(item, "item_type");
    if (type == "agent_message" || type == "assistant_message") {
      report_.last_text = text_field(item, "text");
    }
  }

  void end(const char* subtype, bool is_error) {
    report_.has_result = true;
    report_.subtype = subtype;
    report_.is_error = is_error;
    report_.final_text = report_.last_text;
    if (!is_error) report_.error_text.clear();
  }

  void quota(const json::object& event) {
    const json::object* error = object_field(event, "error");
    if (error == nullptr || text_field(*error, "type") != "usage_limit_reached") return;
    report_.quota_refused = true;
    report_.error_text = text_field(*error, "message");
    report_.quota_reset_at_ns = utc_ns_of_epoch(figure_field(*error, "resets_at"));
  }
};

}  // namespace

std::unique_ptr<AgentTranscript> codex_transcript() { return std::make_unique<CodexTranscript>(); }

}  // namespace signalbox
