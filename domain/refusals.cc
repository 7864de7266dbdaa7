#include "domain/refusals.h"

#include "domain/check.h"
#include "domain/text_parts.h"
#include "domain/try.h"
#include "domain/url_parts.h"

#include <algorithm>

#include <boost/describe/enum_to_string.hpp>

namespace signalbox {

const char* name_of(RunStatus status) { return boost::describe::enum_to_string(status, "?"); }
const char* name_of(StationStatus status) { return boost::describe::enum_to_string(status, "?"); }
const char* name_of(TickStatus status) { return boost::describe::enum_to_string(status, "?"); }
const char* name_of(PlanStatus status) { return boost::describe::enum_to_string(status, "?"); }
const char* name_of(StepStatus status) { return boost::describe::enum_to_string(status, "?"); }
const char* name_of(CardStatus status) { return boost::describe::enum_to_string(status, "?"); }
const char* name_of(Strategy strategy) { return boost::describe::enum_to_string(strategy, "?"); }

Decided<const Run*> open_run(const World& world, const RunId& id) {
  if (const Run* run = world.find_run(id)) return run;
  const std::string text = to_string(id);
  if (const EndedRun* ended = world.ended_runs.find(id)) {
    return reject(ErrorCode::RUN_TERMINAL, "run " + text + " has ended: " + name_of(ended->status),
                  {{"run_id", text}, {"status", std::string(name_of(ended->status))}},
                  {"signalbox run get " + text});
  }
  return reject(ErrorCode::RUN_NOT_FOUND, "there is no run " + text, {{"run_id", text}},
                {"signalbox run list"});
}

Decided<const Run*> planned_run(const World& world, const RunId& id) {
  const auto found = open_run(world, id);
  if (!found || (*found)->plan) return found;
  const Run& run = **found;
  return reject(ErrorCode::PLAN_NOT_FOUND,
                "station " + run.definition().name + " of the run has no deep work in progress",
                {{"run_id", to_string(id)}, {"current_station", run.definition().name}},
                {"signalbox run get " + to_string(id)});
}

Decided<const Run*> planned_station(const World& world, const RunId& id, const std::string& station,
                                    Token token, const Sender& by) {
  const auto found = planned_run(world, id);
  if (!found) return found;
  const Run& run = **found;
  if (!station.empty() && run.definition().name != station) {
    return reject(ErrorCode::PLAN_NOT_FOUND, "station " + station + " isn't the current one",
                  {{"run_id", to_string(id)},
                   {"station", station},
                   {"current_station", run.definition().name}},
                  {"signalbox run get " + to_string(id)});
  }
  if (!run.attempt || run.attempt->token != token) {
    return reject(
        ErrorCode::STALE_TOKEN, "this token isn't that of the station's attempt in progress",
        {{"run_id", to_string(id)},
         {"station", run.definition().name},
         {"token", static_cast<std::int64_t>(token)},
         {"current_token", static_cast<std::int64_t>(run.attempt ? run.attempt->token : 0)}},
        {"signalbox plan get " + to_string(id)});
  }
  TRY(require_holder(world, token, by));
  return found;
}

Decided<HeldStep> held_step(const World& world, const RunId& id, const std::string& step,
                            Token token, const Sender& by) {
  const auto found = TRY(planned_run(world, id));
  const Run& run = *found;
  const StepState* const held = run.plan->find(step);
  const std::string next_command = "signalbox plan get " + to_string(id);
  if (held == nullptr) {
    std::vector<std::string> ids;
    for (const StepState& each : run.plan->steps) ids.push_back(each.definition.id);
    return reject(ErrorCode::STEP_NOT_FOUND, "the plan has no step " + step,
                  {{"run_id", to_string(id)}, {"step", step}, {"step_ids", ids}}, {next_command});
  }
  if (held->status != StepStatus::running || held->token != token) {
    return reject(ErrorCode::STALE_TOKEN,
                  "no attempt of step " + step + " is in progress with this token",
                  {{"run_id", to_string(id)},
                   {"step", step},
                   {"token", static_cast<std::int64_t>(token)},
                   {"current_token", static_cast<std::int64_t>(held->token)},
                   {"step_status", std::string(name_of(held->status))}},
                  {next_command});
  }
  const bool is_its_station = run.attempt && by.job_token == run.attempt->token;
  if (!is_its_station) TRY(require_holder(world, token, by));
  return HeldStep{&run, held};
}

Decided<void> require_room(const Run& run) {
  if (run.records < limits::run_records_max) return {};
  return reject(
      ErrorCode::LIMIT_EXCEEDED,
      "the run has as many records as one may have; its station can only be completed, as "
      "failed if need be, and the rest done in another run",
      {{"run_id", to_string(run.id)},
       {"station", run.definition().name},
       {"run_records_max", std::int64_t{limits::run_records_max}}},
      {"signalbox station complete --help"});
}

Decided<void> require_between(const char* field, std::int64_t value, std::int64_t min,
                              std::int64_t max) {
  if (value >= min && value <= max) return {};
  return reject(ErrorCode::INVALID_PARAMS,
                std::string(field) + " must lie between " + std::to_string(min) + " and " +
                    std::to_string(max),
                {{"field", std::string(field)}, {"value", value}, {"min", min}, {"max", max}},
                {"signalbox server limits"});
}

Decided<void> require_lease(const std::optional<std::int64_t>& lease_ms) {
  if (!lease_ms) return {};
  return require_between("lease_ms", *lease_ms, limits::lease_ms_min, limits::lease_ms_max);
}

Decided<void> require_at_most(const char* field, const std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return {};
  return reject(ErrorCode::LIMIT_EXCEEDED,
                std::string(field) + " has " + std::to_string(text.size()) + " bytes, at most " +
                    std::to_string(bytes_max) + " are taken",
                {{"field", std::string(field)},
                 {"bytes", static_cast<std::int64_t>(text.size())},
                 {"bytes_max", static_cast<std::int64_t>(bytes_max)}},
                {"signalbox server limits"});
}

Decided<void> require_not_empty(const char* field, const std::string& text, std::size_t bytes_max) {
  if (text.empty()) {
    return reject(ErrorCode::INVALID_PARAMS, std::string(field) + " must not be empty",
                  {{"field", std::string(field)}});
  }
  return require_at_most(field, text, bytes_max);
}

Decided<void> require_name(const char* field, const std::string& text, std::size_t bytes_max) {
  TRY(require_not_empty(field, text, bytes_max));
  if (!shows_nothing(text)) return {};
  return reject(ErrorCode::INVALID_PARAMS,
                std::string(field) + " must not be only blanks: say in words what it is",
                {{"field", std::string(field)}});
}

Decided<void> require_known_line(const char* field, const std::string& text,
                                 std::size_t bytes_max) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), is_control)) {
    return reject(ErrorCode::INVALID_PARAMS,
                  std::string(field) + " must be one line without control characters",
                  {{"field", std::string(field)}});
  }
  return require_not_empty(field, text, bytes_max);
}

Decided<void> require_line(const char* field, const std::string& text, std::size_t bytes_max) {
  TRY(require_known_line(field, text, bytes_max));
  return require_name(field, text, bytes_max);
}

Decided<void> require_no_credentials(const char* field, const std::string& url,
                                     const std::string& instead, std::string next_command) {
  if (!has_credentials(url)) return {};
  return reject(
      ErrorCode::INVALID_PARAMS,
      std::string(field) + " must not have a user or password: the log would keep it; " + instead,
      {{"field", std::string(field)}}, {std::move(next_command)});
}

Decided<void> require_token(const char* field, const std::string& text, std::size_t bytes_max) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:/-").find(c) != std::string_view::npos;
  };
  if (!std::all_of(text.begin(), text.end(), is_plain)) {
    return reject(ErrorCode::INVALID_PARAMS,
                  std::string(field) +
                      " must be made of letters, digits and ._:/- only: it can't "
                      "be erased from the log later",
                  {{"field", std::string(field)}});
  }
  return require_at_most(field, text, bytes_max);
}

Decided<void> require_lock(const World& world, const std::optional<Token>& lock_token,
                           const Sender& by) {
  if (!lock_token) return {};
  if (world.find_lock_by_token(*lock_token) != nullptr) {
    return require_holder(world, *lock_token, by);
  }
  return reject(ErrorCode::LOCK_LOST, "no lock is held with this token",
                {{"lock_token", static_cast<std::int64_t>(*lock_token)}}, {"signalbox lock list"});
}

Decided<void> require_absolute(const char* field, const std::optional<std::string>& path) {
  if (!path) return {};
  if (!path->starts_with('/')) {
    return reject(ErrorCode::INVALID_PARAMS, std::string(field) + " must be an absolute path",
                  {{"field", std::string(field)}, {"value", *path}});
  }
  // The operating system would end the path there.
  if (path->find('\0') != std::string::npos) {
    return reject(ErrorCode::INVALID_PARAMS, std::string(field) + " must have no NUL",
                  {{"field", std::string(field)}});
  }
  return require_at_most(field, *path, limits::path_bytes_max);
}

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:@%+=,").find(c) != std::string_view::npos;
  };
  if (!text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), plain)) {
    return text;
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string recover_command(const std::string& loop, Token token, const std::string& reason) {
  return "signalbox tick recover " + shell_word(loop) + " --token " + std::to_string(token) +
         " --reason " + reason;
}

Decided<void> require_base(const std::string& base, const char* what) {
  TRY(require_line("base", base, limits::name_bytes_max));
  if (!base.starts_with('-') && !base.starts_with('^')) return {};
  return reject(ErrorCode::INVALID_PARAMS, "base must be " + std::string(what),
                {{"field", std::string("base")}, {"value", base}});
}

bool is_artifact_name(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  for (std::size_t from = 0; from <= name.size();) {
    const std::string_view part = name.substr(from, name.find('/', from) - from);
    if (part == "." || part == "..") return false;
    from += part.size() + 1;
  }
  return true;
}

Decided<void> require_artifacts(const std::vector<Artifact>& artifacts) {
  const auto bundles =
      static_cast<std::size_t>(std::count_if(artifacts.begin(), artifacts.end(), is_bundle));
  if (artifacts.size() - bundles > limits::artifacts_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many artifacts",
                  {{"artifacts", static_cast<std::int64_t>(artifacts.size() - bundles)},
                   {"artifacts_max", static_cast<std::int64_t>(limits::artifacts_max)}});
  }
  if (bundles > 1) {
    return reject(ErrorCode::INVALID_PARAMS, "artifacts must have at most one bundle",
                  {{"field", std::string("artifacts")}});
  }
  for (const Artifact& artifact : artifacts) {
    TRY(require_not_empty("artifacts.name", artifact.name, limits::name_bytes_max));
    if (!is_artifact_name(artifact.name)) {
      return reject(
          ErrorCode::INVALID_PARAMS,
          "artifacts.name must not have NUL, or a part \".\" or \"..\", without which a URL would "
          "name something else: give the artifact another name",
          {{"field", std::string("artifacts.name")}, {"name", artifact.name}});
    }
    TRY(require_at_most("artifacts.media_type", artifact.media_type, limits::name_bytes_max));
  }
  return {};
}

std::vector<std::string> commands_to_settle(const Run& run) {
  SIGNALBOX_CHECK(run.attempt.has_value());
  const std::string settle = "signalbox station settle --run " + to_string(run.id) + " --station " +
                             shell_word(run.definition().name) + " --token " +
                             std::to_string(run.attempt->token) + " --outcome ";
  return {settle + "failed --reason 'it does not run any more'", settle + "succeeded"};
}

}  // namespace signalbox
