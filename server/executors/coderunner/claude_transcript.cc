// The parser of `claude -p`: the events of `--output-format stream-json`, and the single object of
// `json`.
#include <algorithm>
#include <set>

#include <boost/json/array.hpp>

#include "server/executors/coderunner/agent_fields.h"
#include "server/executors/coderunner/agent_prompt.h"
#include "server/executors/coderunner/agent_transcript.h"
#include "server/executors/coderunner/usage_limit.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr double microusd_per_usd = 1'000'000;
constexpr std::size_t seen_messages_max = 10'000;
constexpr std::size_t open_tasks_max = 1'000;

TokenCounts counts_of(const json::object& usage) {
  return {figure_field(usage, "input_tokens"), figure_field(usage, "output_tokens"),
          figure_field(usage, "cache_creation_input_tokens"),
          figure_field(usage, "cache_read_input_tokens"), 0};
}

TokenCounts counts_of_model(const json::object& usage) {
  return {figure_field(usage, "inputTokens"), figure_field(usage, "outputTokens"),
          figure_field(usage, "cacheCreationInputTokens"),
          figure_field(usage, "cacheReadInputTokens"), 0};
}

class ClaudeTranscript final : public AgentTranscript {
 private:
  void event(const json::object& event) override {
    if (const std::string session = text_field(event, "session_id"); !session.empty()) {
      report_.session = session;
    }
    const std::string type = text_field(event, "type");
    if (type == "system") {
      system(event);
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
    const bool is_subagents = !text_field(event, "parent_tool_use_id").empty();
    // After a result the agent begins another turn once a task in the background has ended.
    if (!is_subagents) begin_turn();
    // A message arrives as one event per part, each with the usage of the whole message. A
    // subagent's message isn't a turn, but its tokens count.
    const std::string id = text_field(*message, "id");
    const bool is_new = id.empty() || (seen_.size() < seen_messages_max && seen_.insert(id).second);
    if (is_new) {
      if (!is_subagents) ++turns_since_result_;
      if (const json::object* usage = object_field(*message, "usage")) {
        report_.seen = report_.seen + counts_of(*usage);
        report_.unreported = report_.unreported + counts_of(*usage);
      }
    }
    report_.turns = turns_of_results_ + turns_since_result_;
    std::string text;
    const json::value* content = message->if_contains("content");
    if (content != nullptr && content->is_array()) {
      for (const json::value& part : content->get_array()) {
        if (const json::object* object = part.if_object()) text += text_field(*object, "text");
      }
    }
    if (!text.empty() && !is_subagents) report_.last_text = text;
    const std::string error = text_field(event, "error");
    if (!error.empty() && !is_subagents) {
      report_.error_kind = error;
      report_.error_text = error + (text.empty() ? "" : ": " + text);
    }
  }

  // Follows the retries of a request and the tasks in the background.
  void system(const json::object& event) {
    const std::string subtype = text_field(event, "subtype");
    if (subtype == "init") {
      report_.model = text_field(event, "model");
    } else if (subtype == "api_retry") {
      // Until there is an answer, this is why there is none.
      report_.error_kind = text_field(event, "error");
      report_.api_status = static_cast<int>(figure_field(event, "error_status"));
    } else if (subtype == "task_started") {
      if (open_tasks_.size() < open_tasks_max) open_tasks_.insert(text_field(event, "task_id"));
    } else if (subtype == "task_notification") {
      open_tasks_.erase(text_field(event, "task_id"));
    } else if (subtype == "background_tasks_changed") {
      open_tasks(event.if_contains("tasks"));
    }
    report_.has_open_tasks = !open_tasks_.empty();
  }

  // The list of all tasks in the background, which newer versions print at each change.
  void open_tasks(const json::value* tasks) {
    if (tasks == nullptr || !tasks->is_array()) return;
    open_tasks_.clear();
    for (const json::value& task : tasks->get_array()) {
      const json::object* object = task.if_object();
      if (object != nullptr && open_tasks_.size() < open_tasks_max) {
        open_tasks_.insert(text_field(*object, "task_id"));
      }
    }
  }

  void begin_turn() {
    report_.has_result = false;
    report_.is_error = false;
    report_.subtype.clear();
    report_.final_text.clear();
    report_.error_kind.clear();
    report_.error_text.clear();
    report_.api_status = 0;
  }

  // The event reports on every request; only the status `rejected` stops the agent, and that only
  // if the account doesn't pay for what is beyond its plan.
  void rate_limit(const json::object& event) {
    const json::object* info = object_field(event, "rate_limit_info");
    if (info == nullptr) return;
    const json::value* overage = info->if_contains("isUsingOverage");
    const bool goes_on = overage != nullptr && overage->is_bool() && overage->get_bool();
    report_.quota_refused = text_field(*info, "status") == "rejected" && !goes_on;
    report_.quota_reset_at_ns.reset();
    if (!report_.quota_refused) return;
    report_.quota_reset_at_ns = utc_ns_of_epoch(figure_field(*info, "resetsAt"));
  }

  void result(const json::object& event) {
    report_.has_result = true;
    report_.subtype = text_field(event, "subtype");
    const json::value* is_error = event.if_contains("is_error");
    report_.is_error = (is_error != nullptr && is_error->is_bool() && is_error->get_bool()) ||
                       report_.subtype != "success";
    report_.final_text = text_field(event, "result");
    if (const auto status = figure_field(event, "api_error_status"); status > 0) {
      report_.api_status = static_cast<int>(std::min<std::int64_t>(status, 999));
    }
    if (!report_.is_error) {
      report_.error_text.clear();
      report_.error_kind.clear();
      report_.api_status = 0;
      answered(report_.final_text);
    } else {
      report_.error_text = report_.final_text;
      add_errors(event);
    }
    used(event);
    report_.denied_tools.clear();
    const json::value* denials = event.if_contains("permission_denials");
    if (denials == nullptr || !denials->is_array()) return;
    for (const json::value& denial : denials->get_array()) {
      const json::object* object = denial.if_object();
      report_.denied_tools.push_back(object != nullptr ? text_field(*object, "tool_name") : "");
    }
  }

  // A task in the background that ends has the agent go on after its answer. What it says then is
  // often nothing, or no verdict, and doesn't take back the one that it gave.
  void answered(const std::string& text) {
    const bool is_blank = trimmed(text).empty();
    const bool lacks_verdict =
        verdict_of(answer_) != WorkVerdict::none && verdict_of(text) == WorkVerdict::none;
    if (!is_blank && !lacks_verdict) answer_ = text;
    report_.final_text = answer_;
  }

  // Each result has the turns and tokens of its own turn. The cost, and the tokens of each model,
  // those of subagents and of requests beside the work included, are totals.
  void used(const json::object& event) {
    if (event.contains("num_turns")) {
      turns_since_result_ = figure_field(event, "num_turns");
    }
    turns_of_results_ += turns_since_result_;
    turns_since_result_ = 0;
    report_.turns = turns_of_results_;
    if (const json::object* usage = object_field(event, "usage")) {
      results_ = results_ + counts_of(*usage);
      // A message is printed before all its output is counted, and not at all without a stream.
      report_.seen.raise_to(results_);
    }
    TokenCounts total = results_;
    const json::object* models = object_field(event, "modelUsage");
    if (models != nullptr && !models->empty()) {
      total = {};
      for (const auto& model : *models) {
        if (const json::object* usage = model.value().if_object()) {
          total = total + counts_of_model(*usage);
        }
      }
    }
    total.cost_microusd = figure_field(event, "total_cost_usd", microusd_per_usd);
    report_.reported = total;
    report_.unreported = {};
    report_.is_without_work =
        event.contains("num_turns") && report_.turns == 0 && results_.tokens() == 0;
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

  std::set<std::string> seen_;        // ids of the messages counted so far
  std::set<std::string> open_tasks_;  // ids of the tasks in the background
  std::string answer_;                // of the results so far
  std::int64_t turns_of_results_ = 0;
  std::int64_t turns_since_result_ = 0;
  TokenCounts results_;  // sum over the results
};

}  // namespace

std::unique_ptr<AgentTranscript> claude_transcript() {
  return std::make_unique<ClaudeTranscript>();
}

}  // namespace signalbox
