// The parser of `codex exec --json`. One call is one turn; codex doesn't report a cost. Its errors
// are texts, which may have the service's answer in them: as JSON, or as a status.
#include <charconv>
#include <string_view>
#include <system_error>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "server/executors/coderunner/agent_fields.h"
#include "server/executors/coderunner/agent_transcript.h"
#include "server/executors/coderunner/codex_usage.h"
#include "server/executors/coderunner/usage_limit.h"
#include "server/text/utf8_text.h"

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
      ++report_.turns;
    } else if (type == "item.completed") {
      if (const json::object* item = object_field(event, "item")) completed(*item);
    } else if (type == "turn.completed") {
      end("success", false);
      if (const json::object* usage = object_field(event, "usage")) used(*usage);
    } else if (type == "turn.failed") {
      end("turn.failed", true);
      if (const json::object* error = object_field(event, "error")) failed(*error);
    } else if (type == "error") {
      // Not the end: codex also reports a lost connection this way before it retries.
      failed(event);
    }
  }

  void completed(const json::object& item) {
    std::string type = text_field(item, "type");
    if (type.empty()) type = text_field(item, "item_type");
    if (type == "agent_message" || type == "assistant_message") {
      report_.last_text = text_field(item, "text");
    } else if (type == "collab_tool_call") {
      const json::value* receivers = item.if_contains("receiver_thread_ids");
      const bool has_any =
          receivers != nullptr && receivers->is_array() && !receivers->get_array().empty();
      if (has_any) report_.has_uncounted_threads = true;
    }
  }

  void end(const char* subtype, bool is_error) {
    report_.has_result = true;
    report_.subtype = subtype;
    report_.is_error = is_error;
    report_.final_text = report_.last_text;
    if (is_error) return;
    report_.error_text.clear();
    report_.error_kind.clear();
    report_.api_status = 0;
  }

  // The total of the thread, that of its earlier turns included. It is zero if codex ends the turn
  // before the figures have reached what prints them: then there is none.
  void used(const json::object& usage) {
    const TokenCounts total = codex_counts(usage);
    if (total.tokens() == 0) return;
    report_.reported = total;
    report_.is_total_of_session = true;
  }

  // Reads an error, whose fields may lie in `error`, and whose message may be such an error as
  // JSON.
  void failed(const json::object& event) {
    const std::string message = text_field(event, "message");
    if (!message.empty()) report_.error_text = message;
    // An earlier error, such as that of the WebSocket that codex tries first, isn't part of this
    // one.
    report_.error_kind.clear();
    report_.api_status = 0;
    json::error_code error;
    const json::value answer = json::parse(message, error);
    if (!error && answer.is_object()) {
      data(answer.get_object());
    } else {
      if (const int status = status_in(message); status != 0) report_.api_status = status;
      data(event);
    }
  }

  void data(const json::object& event) {
    if (const auto status = figure_field(event, "status"); status >= 100 && status < 1000) {
      report_.api_status = static_cast<int>(status);
    }
    const json::object* error = object_field(event, "error");
    if (error == nullptr) return;
    report_.error_kind = text_field(*error, "type");
    if (report_.error_kind.empty()) report_.error_kind = text_field(*error, "code");
    if (const std::string text = text_field(*error, "message"); !text.empty()) {
      report_.error_text = text;
    }
    if (report_.error_kind != "usage_limit_reached") return;
    report_.quota_refused = true;
    report_.quota_reset_at_ns = utc_ns_of_epoch(figure_field(*error, "resets_at"));
  }

  // Returns the status in "unexpected status 401 Unauthorized" and "last status: 429 Too Many
  // Requests"; 0 if there is none.
  static int status_in(std::string_view message) {
    constexpr std::string_view word = "status";
    for (std::size_t at = message.find(word); at != std::string_view::npos;
         at = message.find(word, at + 1)) {
      const std::string_view rest = trimmed(message.substr(at + word.size()), " :");
      int status = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), status);
      if (error == std::errc() && end - rest.data() == 3 && status >= 100) return status;
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<AgentTranscript> codex_transcript() { return std::make_unique<CodexTranscript>(); }

}  // namespace signalbox
