#include "tools/deep_work/deep_worker.h"

#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/executors/declared_result.h"
#include "server/executors/deep_work_command.h"
#include "server/platform/atomic_file.h"
#include "server/platform/call_bounds.h"
#include "server/platform/environment_variable.h"
#include "server/text/utf8_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/patient_client.h"
#include "tools/deep_work/deep_command.h"
#include "tools/deep_work/deep_result.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds poll_interval{200};  // of a plan that other workers change
constexpr std::int64_t step_wait_ms = 10'000;            // of one step.next call
constexpr int exit_usage = 2;
constexpr int exit_try_again = 75;

// Of JSON, the rest can't be left out.
constexpr const char* too_long =
    "its command printed more than 512 KiB: have it write the rest into a file";

constexpr std::string_view cut_mark = "[cut: what was printed before this is left out]\n";

// Why the work ended before its plan was completed.
struct WorkEnded {
  Failure failure;
  bool canceled = false;
};
using Done = tl::expected<void, WorkEnded>;

tl::unexpected<WorkEnded> ended(ErrorClass error_class, std::string code, std::string message) {
  return tl::unexpected(
      WorkEnded{{Outcome::failed, error_class, std::move(code), std::move(message)}, false});
}

// The service, to which the job shows its own token: at a runner nothing else says who asks.
ServerAddress service_of_job() {
  ServerAddress server(std::filesystem::path(environment_variable("SIGNALBOX_SOCKET")));
  server.secret = environment_variable("SIGNALBOX_JOB_TOKEN");
  return server;
}

class DeepWorker {
 public:
  explicit DeepWorker(DeepWorkSettings settings)
      : settings_(std::move(settings)), server_(service_of_job()) {
    artifacts_ = environment_variable("SIGNALBOX_ARTIFACTS_DIR");
    place_ = {artifacts_.parent_path(), environment_variable("SIGNALBOX_WORKSPACE")};
    token_ = environment_variable("SIGNALBOX_TOKEN");
  }

  int run() {
    const std::int64_t started_ms = now_ms();
    const Done done = work();
    if (!done && done.error().canceled) return exit_try_again;  // the shim records the cancel
    std::optional<Failure> failure;
    if (!done) failure = done.error().failure;
    return write_result(failure, now_ms() - started_ms);
  }

 private:
  [[nodiscard]] static std::int64_t now_ms() { return CallBounds::now_ms(); }
  [[nodiscard]] json::object run_params() const {
    return {{"run_id", environment_variable("SIGNALBOX_RUN_ID")}};
  }
  // Params of a command of this station's attempt: with its token, and a command_id made from
  // `name` so that a repetition has one effect.
  [[nodiscard]] json::object command_params(const std::string& name) const {
    json::object params = run_params();
    params["token"] = token_;
    params["command_id"] = "deep_work/" + token_ + "/" + name;
    return params;
  }
  [[nodiscard]] json::object station_params(const std::string& name) const {
    json::object params = command_params(name);
    params["station"] = environment_variable("SIGNALBOX_STATION");
    return params;
  }

  Done work() {
    for (;;) {
      const auto plan = server_.call("plan.get", run_params());
      if (!plan) return refused(plan.error());
      if (text_at(*plan, "token") != token_) {
        return ended(ErrorClass::lost, "STALE_TOKEN", "another attempt does this work now");
      }
      const std::string status = text_at(*plan, "plan_status");
      Done done;
      if (status == "exploring") {
        done = explore();
      } else if (status == "planning") {
        done = make_plan();
      } else if (true_at(*plan, "settled")) {
        return plan_result(*plan);
      } else {
        done = do_steps();
      }
      if (!done) return done;
    }
  }

  static tl::unexpected<WorkEnded> refused(const CallError& error) {
    return ended(ErrorClass::terminal, code_of(error), text_at(error.error, "message"));
  }

  static Done plan_result(const json::object& plan) {
    for (const json::value& each : array_at(plan, "steps")) {
      const json::object& step = each.as_object();
      if (text_at(step, "status") != "failed") continue;
      const std::string error = text_at(step, "error");
      const bool exhausted = error.starts_with("RETRY_EXHAUSTED");
      return ended(ErrorClass::terminal,
                   exhausted ? "RETRY_EXHAUSTED" : error.substr(0, error.find(':')),
                   "step " + text_at(step, "id") + ": " + error);
    }
    return {};
  }

  DeepCommandEnd command(const std::string& name, const PhaseDefinition& phase,
                         std::int64_t timeout_ms) {
    std::fflush(stdout);
    return run_deep_command(place_, {name, phase.command, timeout_ms, settings_.cancel_grace_ms});
  }

  Done explore() {
    json::object params = station_params("exploration");
    const PhaseDefinition& phase = settings_.work.explore;
    if (phase.worker) {
      if (wait_while("exploring", settings_.work.explore_timeout_ms)) return {};
      params["timed_out"] = true;
    } else if (!phase.command.empty()) {
      const DeepCommandEnd end = command("explore", phase, settings_.work.explore_timeout_ms);
      if (end.canceled) return tl::unexpected(WorkEnded{end.failure, true});
      if (end.outcome == Outcome::timeout) {
        params["timed_out"] = true;
      } else if (end.outcome != Outcome::succeeded) {
        return ended(end.failure.error_class, "EXPLORE_FAILED",
                     end.failure.code + ": " + end.failure.message);
      } else if (end.output_cut && end.output.starts_with('{')) {
        return ended(ErrorClass::terminal, "EXPLORE_FAILED", too_long);
      } else {
        for (const auto& each : exploration_from_output(end.output, end.tail)) {
          params[each.key()] = each.value();
        }
      }
    }
    const bool timed_out = params.contains("timed_out");
    std::printf("explore: %s\n", timed_out ? "timed out; going on without" : "done");
    return report("plan.set_exploration", params);
  }

  Done make_plan() {
    const std::string name = "plan-" + std::to_string(++plans_made_);
    json::object params = station_params(name);
    const PhaseDefinition& phase = settings_.work.plan;
    if (phase.worker) {
      (void)wait_while("planning", limits::timeout_ms_max);
      return {};
    }
    json::object plan = default_plan(environment_variable("SIGNALBOX_GOAL"));
    if (!phase.command.empty()) {
      TRY(prepare_files(nullptr));
      const DeepCommandEnd end = command(name, phase, settings_.work.step_timeout_ms);
      if (end.canceled) return tl::unexpected(WorkEnded{end.failure, true});
      if (end.outcome != Outcome::succeeded) {
        return ended(end.failure.error_class, "PLAN_FAILED",
                     end.failure.code + ": " + end.failure.message);
      }
      if (end.output_cut) return ended(ErrorClass::terminal, "PLAN_INVALID", too_long);
      auto parsed_plan = plan_from_output(end.output);
      if (!parsed_plan)
        return ended(ErrorClass::terminal, "PLAN_INVALID", parsed_plan.error().message);
      plan = std::move(*parsed_plan);
    }
    TRY(leave_out_completed(plan));
    params["steps"] = plan["steps"];
    const auto set = server_.call("plan.set", params);
    if (!set) {
      if (code_of(set.error()) == "PLAN_ORDER") return {};  // another worker was first
      return ended(ErrorClass::terminal, "PLAN_INVALID",
                   code_of(set.error()) + ": " + text_at(set.error().error, "message"));
    }
    std::printf("plan: %s steps, %s cut\n", text_at(*set, "steps").c_str(),
                text_at(*set, "cut").c_str());
    return {};
  }

  // A reset keeps the completed steps, and the next plan is often the same as the one before.
  Done leave_out_completed(json::object& plan) {
    json::value& steps = plan["steps"];
    if (!steps.is_array() || steps.get_array().empty()) return {};
    const auto present = server_.call("plan.get", run_params());
    if (!present) return refused(present.error());
    std::set<std::string> completed;
    for (const json::value& each : array_at(*present, "steps")) {
      const json::object& step = each.as_object();
      if (text_at(step, "status") == "completed") completed.insert(text_at(step, "id"));
    }
    json::array left;
    for (const json::value& each : steps.get_array()) {
      const bool is_done = each.is_object() && completed.contains(text_at(each.get_object(), "id"));
      if (!is_done) left.push_back(each);
    }
    if (left.empty()) {
      return ended(ErrorClass::terminal, "PLAN_INVALID",
                   "all of its steps are completed already, so there is nothing left to do: a plan "
                   "after `plan reset` has a step with another id");
    }
    steps = std::move(left);
    return {};
  }

  // Calls a method; PLAN_ORDER is no error, since another worker may have reported the same before.
  Done report(std::string_view method, const json::object& params) {
    const auto answer = server_.call(method, params);
    if (answer || code_of(answer.error()) == "PLAN_ORDER") return {};
    return refused(answer.error());
  }

  // Blocks until the plan's status differs from `status` and returns true; false after timeout_ms.
  bool wait_while(std::string_view status, std::int64_t timeout_ms) {
    const std::int64_t deadline_ms = now_ms() + timeout_ms;
    for (;;) {
      const auto plan = server_.call("plan.get", run_params());
      if (!plan || text_at(*plan, "plan_status") != status) return true;
      if (now_ms() >= deadline_ms) return false;
      std::this_thread::sleep_for(poll_interval);
    }
  }

  // Does steps until none of the plan can proceed, or the plan was reset.
  Done do_steps() {
    for (;;) {
      json::object params = command_params("next-" + std::to_string(steps_taken_));
      params["worker"] = "deep_work";
      params["wait_ms"] = step_wait_ms;
      const auto next = server_.call("step.next", params);
      if (!next) return refused(next.error());
      const json::value* const step = next->if_contains("step");
      if (step == nullptr || !step->is_object()) {
        if (true_at(*next, "settled") || text_at(*next, "plan_status") != "set") return {};
        continue;  // repeats the call with the same command_id, since it had no effect
      }
      ++steps_taken_;
      TRY(do_step(step->get_object()));
    }
  }

  Done do_step(const json::object& step) {
    const std::string id = text_at(step, "step");
    const std::string token = text_at(step, "token");
    TRY(prepare_files(&step));
    const DeepCommandEnd end = command("step-" + id + "-" + text_at(step, "attempt"),
                                       settings_.work.step, settings_.work.step_timeout_ms);
    if (end.canceled) return tl::unexpected(WorkEnded{end.failure, true});
    json::object params = run_params();
    params["step"] = id;
    params["token"] = token;
    params["command_id"] = "deep_work/step/" + token;
    const bool succeeded = end.outcome == Outcome::succeeded;
    if (succeeded) {
      params["summary"] = summary_of(end);
    } else {
      // A step that timed out would do so again: `terminal` makes the next attempt use another
      // strategy.
      const bool timed_out = end.outcome == Outcome::timeout;
      params["error_class"] = timed_out ? "terminal" : class_name(end.failure.error_class);
      params["error_code"] = end.failure.code;
      params["error_message"] = end.failure.message;
    }
    std::printf("step %s, attempt %s, %s: %s\n", id.c_str(), text_at(step, "attempt").c_str(),
                text_at(step, "strategy").c_str(),
                succeeded ? "completed" : (end.failure.code + ": " + end.failure.message).c_str());
    const auto reported = server_.call(succeeded ? "step.complete" : "step.fail", params);
    // After a reset of the plan the step no longer exists, or has another token.
    if (reported || code_of(reported.error()) == "STALE_TOKEN" ||
        code_of(reported.error()) == "STEP_NOT_FOUND") {
      return {};
    }
    return refused(reported.error());
  }

  // Returns the end of what a step has printed: what it came to stands there.
  static std::string summary_of(const DeepCommandEnd& end) {
    std::string text = with_replacements(end.output_cut ? end.tail : end.output);
    if (!end.output_cut && text.size() <= limits::summary_bytes_max) return text;
    return std::string(cut_mark) +
           std::string(utf8_suffix(text, limits::summary_bytes_max - cut_mark.size()));
  }

  static const char* class_name(ErrorClass error_class) {
    return boost::describe::enum_to_string(error_class, "terminal");
  }

  // Writes the files and sets the environment variables of the next command; without a step, those
  // of the plan command.
  Done prepare_files(const json::object* step) {
    const auto set = [](const char* name, const std::string& value) {
      ::setenv(name, value.c_str(), 1);
    };
    const auto plan = server_.call("plan.get", run_params());
    if (!plan) return refused(plan.error());
    const auto write = [this](const char* name, const std::string& content) -> Done {
      if (auto made = make_directories(place_.own()); !made) return disk(made.error());
      if (auto written = write_file_atomically(place_.own() / name, content); !written) {
        return disk(written.error());
      }
      return {};
    };
    const json::value* const exploration = plan->if_contains("exploration");
    TRY(write("exploration.json", exploration == nullptr ? "{}" : json::serialize(*exploration)));
    set("SIGNALBOX_EXPLORATION_FILE", (place_.own() / "exploration.json").string());
    if (step == nullptr) return {};
    TRY(write("previous_error.txt", text_at(*step, "previous_error")));
    set("SIGNALBOX_PREVIOUS_ERROR_FILE", (place_.own() / "previous_error.txt").string());
    set("SIGNALBOX_STEP_ID", text_at(*step, "step"));
    set("SIGNALBOX_STEP_TYPE", text_at(*step, "type"));
    set("SIGNALBOX_STEP_DESCRIPTION", text_at(*step, "description"));
    set("SIGNALBOX_STEP_ATTEMPT", text_at(*step, "attempt"));
    set("SIGNALBOX_STEP_STRATEGY", text_at(*step, "strategy"));
    set("SIGNALBOX_STEP_TOKEN", text_at(*step, "token"));
    return {};
  }

  static tl::unexpected<WorkEnded> disk(const StoreError& error) {
    return ended(ErrorClass::transient, "JOB_STORAGE", error.message);
  }

  // Prints the result and writes its artifacts. Returns the exit code.
  int write_result(const std::optional<Failure>& failure, std::int64_t duration_ms) {
    const auto plan = server_.call("plan.get", run_params());
    const json::object result =
        deep_work_result(plan ? *plan : json::object{}, failure, duration_ms);
    const std::string text = json::serialize(result) + "\n";
    DeclaredResult declared;
    declared.outcome = failure ? Outcome::failed : Outcome::succeeded;
    const json::object todo = plan ? plan->at("todo_status").as_object() : json::object{};
    declared.summary = text_at(todo, "completed_steps") + " of " + text_at(todo, "total_steps") +
                       " steps completed" +
                       (failure ? "; " + failure->code + ": " + failure->message : "");
    if (failure) {
      declared.error_class = failure->error_class;
      declared.error_code = failure->code;
      declared.error_message = shortened(failure->message, limits::reason_bytes_max);
    }
    declared.metadata = json::serialize(json::object{
        {"success", !failure.has_value()}, {"duration_ms", duration_ms}, {"todo_status", todo}});
    if (declared.metadata->size() > limits::metadata_bytes_max) declared.metadata.reset();
    std::printf("%s\n", declared.summary->c_str());
    if (!write_file_atomically(artifacts_ / "deep_work_result.json", text) ||
        !write_declared_result(artifacts_ / "result.json", declared)) {
      return exit_try_again;
    }
    return failure ? 1 : 0;
  }

  DeepWorkSettings settings_;
  PatientClient server_;
  DeepWorkPlace place_;
  std::filesystem::path artifacts_;
  std::string token_;  // of the station's attempt
  int plans_made_ = 0;
  int steps_taken_ = 0;
};

}  // namespace

std::optional<int> run_deep_work(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "deep-work") return std::nullopt;
  auto settings = parse_deep_work_settings(argv[2]);
  if (!settings || environment_variable("SIGNALBOX_TOKEN").empty() ||
      environment_variable("SIGNALBOX_SOCKET").empty()) {
    std::fputs("signalbox deep-work: runs as a job only, with its environment\n", stderr);
    return exit_usage;
  }
  become_supervisor();
  return DeepWorker(std::move(*settings)).run();
}

}  // namespace signalbox
