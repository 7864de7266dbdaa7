#include "tools/deep_work/deep_worker.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/executors/declared_result.h"
#include "server/executors/deep_work_command.h"
#include "server/platform/atomic_file.h"
#include "server/platform/clock.h"
#include "server/text/utf8_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/patient_client.h"
#include "tools/deep_work/deep_command.h"
#include "tools/deep_work/deep_result.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds poll_interval{200};  // of what others change
constexpr std::int64_t step_wait_ms = 10'000;            // for a step, before asking again
constexpr int exit_usage = 2;
constexpr int exit_try_again = 75;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// What ended the work before its plan was through.
struct ChildEnded {
  Failure failure;
  bool canceled = false;
};
using Done = tl::expected<void, ChildEnded>;

tl::unexpected<ChildEnded> ended(ErrorClass error_class, std::string code, std::string message) {
  return tl::unexpected(
      ChildEnded{{Outcome::failed, error_class, std::move(code), std::move(message)}, false});
}

class DeepWorker {
 public:
  explicit DeepWorker(DeepWorkSettings settings)
      : settings_(std::move(settings)), server_(variable("SIGNALBOX_SOCKET")) {
    artifacts_ = variable("SIGNALBOX_ARTIFACTS_DIR");
    place_ = {artifacts_.parent_path(), variable("SIGNALBOX_WORKSPACE")};
    token_ = variable("SIGNALBOX_TOKEN");
  }

  int run() {
    const std::int64_t started_ms = now_ms();
    const Done done = work();
    if (!done && done.error().canceled) return exit_try_again;  // the shim says so itself
    std::optional<Failure> failure;
    if (!done) failure = done.error().failure;
    return leave(failure, now_ms() - started_ms);
  }

 private:
  [[nodiscard]] std::int64_t now_ms() const { return clock_.monotonic_ns() / 1'000'000; }
  [[nodiscard]] json::object about_run() const {
    return {{"run_id", variable("SIGNALBOX_RUN_ID")}};
  }
  // Of this attempt of the station: whose words carry its token, each under a name of its own.
  [[nodiscard]] json::object word(const std::string& name) const {
    json::object params = about_run();
    params["token"] = token_;
    params["command_id"] = "deep_work/" + token_ + "/" + name;
    return params;
  }
  [[nodiscard]] json::object station_word(const std::string& name) const {
    json::object params = word(name);
    params["station"] = variable("SIGNALBOX_STATION");
    return params;
  }

  Done work() {
    for (;;) {
      const auto plan = server_.call("plan.get", about_run());
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
        return judge(*plan);
      } else {
        done = do_steps();
      }
      if (!done) return done;
    }
  }

  static tl::unexpected<ChildEnded> refused(const CallError& error) {
    return ended(ErrorClass::terminal, code_of(error), text_at(error.error, "message"));
  }

  static Done judge(const json::object& plan) {
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
    json::object params = station_word("exploration");
    const PhaseDefinition& phase = settings_.work.explore;
    if (phase.worker) {
      if (wait_while("exploring", settings_.work.explore_timeout_ms)) return {};
      params["timed_out"] = true;
    } else if (!phase.command.empty()) {
      const DeepCommandEnd end = command("explore", phase, settings_.work.explore_timeout_ms);
      if (end.canceled) return tl::unexpected(ChildEnded{end.failure, true});
      if (end.outcome == Outcome::timeout) {
        params["timed_out"] = true;
      } else if (end.outcome != Outcome::succeeded) {
        return ended(end.failure.error_class, "EXPLORE_FAILED",
                     end.failure.code + ": " + end.failure.message);
      } else {
        for (const auto& each : exploration_from_output(end.output)) {
          params[each.key()] = each.value();
        }
      }
    }
    const bool timed_out = params.contains("timed_out");
    std::printf("explore: %s\n", timed_out ? "timed out; going on without" : "done");
    return said("plan.set_exploration", params);
  }

  Done make_plan() {
    const std::string name = "plan-" + std::to_string(++plans_);
    json::object params = station_word(name);
    const PhaseDefinition& phase = settings_.work.plan;
    if (phase.worker) {
      (void)wait_while("planning", limits::timeout_ms_max);
      return {};
    }
    json::object plan = default_plan(variable("SIGNALBOX_GOAL"));
    if (!phase.command.empty()) {
      if (auto ok = prepare_files(nullptr); !ok) return ok;
      const DeepCommandEnd end = command(name, phase, settings_.work.step_timeout_ms);
      if (end.canceled) return tl::unexpected(ChildEnded{end.failure, true});
      if (end.outcome != Outcome::succeeded) {
        return ended(end.failure.error_class, "PLAN_FAILED",
                     end.failure.code + ": " + end.failure.message);
      }
      auto said_plan = plan_from_output(end.output);
      if (!said_plan) return ended(ErrorClass::terminal, "PLAN_INVALID", said_plan.error().message);
      plan = std::move(*said_plan);
    }
    params["steps"] = plan["steps"];
    const auto set = server_.call("plan.set", params);
    if (!set) {
      if (code_of(set.error()) == "PLAN_ORDER") return {};  // somebody else was first
      return ended(ErrorClass::terminal, "PLAN_INVALID",
                   code_of(set.error()) + ": " + text_at(set.error().error, "message"));
    }
    std::printf("plan: %s steps, %s cut\n", text_at(*set, "steps").c_str(),
                text_at(*set, "cut").c_str());
    return {};
  }

  // A word that somebody else may have said before.
  Done said(std::string_view method, const json::object& params) {
    const auto answer = server_.call(method, params);
    if (answer || code_of(answer.error()) == "PLAN_ORDER") return {};
    return refused(answer.error());
  }

  // True once the plan is no longer at `status`; false if it still is after timeout_ms.
  bool wait_while(std::string_view status, std::int64_t timeout_ms) {
    const std::int64_t deadline_ms = now_ms() + timeout_ms;
    for (;;) {
      const auto plan = server_.call("plan.get", about_run());
      if (!plan || text_at(*plan, "plan_status") != status) return true;
      if (now_ms() >= deadline_ms) return false;
      std::this_thread::sleep_for(poll_interval);
    }
  }

  // Until nothing of the plan can go on, or there is another one to be made.
  Done do_steps() {
    for (;;) {
      json::object params = word("next-" + std::to_string(nexts_));
      params["worker"] = "deep_work";
      params["wait_ms"] = step_wait_ms;
      const auto next = server_.call("step.next", params);
      if (!next) return refused(next.error());
      const json::value* const step = next->if_contains("step");
      if (step == nullptr || !step->is_object()) {
        if (true_at(*next, "settled") || text_at(*next, "plan_status") != "set") return {};
        continue;  // the same question again: it had no effect
      }
      ++nexts_;
      if (auto ok = do_step(step->get_object()); !ok) return ok;
    }
  }

  Done do_step(const json::object& step) {
    const std::string id = text_at(step, "step");
    const std::string token = text_at(step, "token");
    if (auto ok = prepare_files(&step); !ok) return ok;
    const DeepCommandEnd end = command("step-" + id + "-" + text_at(step, "attempt"),
                                       settings_.work.step, settings_.work.step_timeout_ms);
    if (end.canceled) return tl::unexpected(ChildEnded{end.failure, true});
    json::object params = about_run();
    params["step"] = id;
    params["token"] = token;
    params["command_id"] = "deep_work/step/" + token;
    const bool succeeded = end.outcome == Outcome::succeeded;
    if (succeeded) {
      params["summary"] = utf8_end_of(with_replacements(end.output), limits::summary_bytes_max);
    } else {
      // One that took too long will do so again: the next attempt goes about it in another way.
      const bool timed_out = end.outcome == Outcome::timeout;
      params["error_class"] = timed_out ? "terminal" : class_name(end.failure.error_class);
      params["error_code"] = end.failure.code;
      params["error_message"] = end.failure.message;
    }
    std::printf("step %s, attempt %s, %s: %s\n", id.c_str(), text_at(step, "attempt").c_str(),
                text_at(step, "strategy").c_str(),
                succeeded ? "completed" : (end.failure.code + ": " + end.failure.message).c_str());
    const auto reported = server_.call(succeeded ? "step.complete" : "step.fail", params);
    // After a reset nobody wants to know of it any more.
    if (reported || code_of(reported.error()) == "STALE_TOKEN" ||
        code_of(reported.error()) == "STEP_NOT_FOUND") {
      return {};
    }
    return refused(reported.error());
  }

  static std::string utf8_end_of(const std::string& text, std::size_t bytes_max) {
    return std::string(utf8_suffix(text, bytes_max));
  }

  static const char* class_name(ErrorClass error_class) {
    return boost::describe::enum_to_string(error_class, "terminal");
  }

  // What a command finds in files, and in its environment; of a plan's command if there is no step.
  Done prepare_files(const json::object* step) {
    const auto set = [](const char* name, const std::string& value) {
      ::setenv(name, value.c_str(), 1);
    };
    const auto plan = server_.call("plan.get", about_run());
    if (!plan) return refused(plan.error());
    const auto write = [this](const char* name, const std::string& content) -> Done {
      if (auto made = make_directories(place_.own()); !made) return disk(made.error());
      if (auto written = write_file_atomically(place_.own() / name, content); !written) {
        return disk(written.error());
      }
      return {};
    };
    const json::value* const exploration = plan->if_contains("exploration");
    if (auto ok = write("exploration.json",
                        exploration == nullptr ? "{}" : json::serialize(*exploration));
        !ok) {
      return ok;
    }
    set("SIGNALBOX_EXPLORATION_FILE", (place_.own() / "exploration.json").string());
    if (step == nullptr) return {};
    if (auto ok = write("previous_error.txt", text_at(*step, "previous_error")); !ok) return ok;
    set("SIGNALBOX_PREVIOUS_ERROR_FILE", (place_.own() / "previous_error.txt").string());
    set("SIGNALBOX_STEP_ID", text_at(*step, "step"));
    set("SIGNALBOX_STEP_TYPE", text_at(*step, "type"));
    set("SIGNALBOX_STEP_DESCRIPTION", text_at(*step, "description"));
    set("SIGNALBOX_STEP_ATTEMPT", text_at(*step, "attempt"));
    set("SIGNALBOX_STEP_STRATEGY", text_at(*step, "strategy"));
    set("SIGNALBOX_STEP_TOKEN", text_at(*step, "token"));
    return {};
  }

  static tl::unexpected<ChildEnded> disk(const StoreError& error) {
    return ended(ErrorClass::transient, "JOB_STORAGE", error.message);
  }

  // The result, for people and for the station.
  int leave(const std::optional<Failure>& failure, std::int64_t duration_ms) {
    const auto plan = server_.call("plan.get", about_run());
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
  SystemClock clock_;
  PatientClient server_;
  DeepWorkPlace place_;
  std::filesystem::path artifacts_;
  std::string token_;  // of the station's attempt
  int plans_ = 0;
  int nexts_ = 0;
};

}  // namespace

std::optional<int> run_deep_work(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "deep-work") return std::nullopt;
  auto settings = parse_deep_work_settings(argv[2]);
  if (!settings || variable("SIGNALBOX_TOKEN").empty() || variable("SIGNALBOX_SOCKET").empty()) {
    std::fputs("signalbox deep-work: runs as a job only, with its environment\n", stderr);
    return exit_usage;
  }
  become_supervisor();
  return DeepWorker(std::move(*settings)).run();
}

}  // namespace signalbox
