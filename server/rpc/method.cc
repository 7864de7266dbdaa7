#include "server/rpc/method.h"

#include <algorithm>
#include <array>

#include <boost/json/serialize.hpp>

#include "domain/refusals.h"

namespace signalbox {
namespace {

// Queries whose answer doesn't follow from the log as it was at a moment, and why: the end of a
// sentence that begins with "it shows".
struct PresentOnly {
  std::string_view method;
  std::string_view shows;
};

constexpr std::string_view part_of_log = "the part of the log that its params name";

constexpr std::array<PresentOnly, 14> present_only = {{
    {"events.subscribe", "what happens from a moment on"},
    {"server.metrics", "what this process has measured"},
    {"server.whoami", "who asks"},
    {"run.diff", "the worktree and the branches as they are in the repository now"},
    {"run.log", "what is in the files of the job now; when it printed what isn't recorded"},
    {"project.check", "what the repository has now"},
    {"loop.plan_files", "which files are on the disk now"},
    {"cell.get", "which servers share the log now, and who of them writes it"},
    {"audit.checkpoint", "the tree over the whole log, which has those of all moments in it"},
    {"audit.tile", "the tree over the whole log, which has those of all moments in it"},
    {"audit.records", part_of_log},
    {"what_if.run", part_of_log},
    {"state.diff", part_of_log},
    {"server.authenticate", "who asks"},
}};

// Methods without a command id that act for the log.
constexpr std::array<std::string_view, 4> acting = {"run.rebuild_artifacts", "loop.trigger",
                                                    "cell.switch", "cell.upgrade"};

// Params that name one thing, with the command that lists what there is. The `key` of a runner is
// a secret, and what is wrong with a secret isn't said.
struct NamingParam {
  std::string_view param;
  std::string_view family;  // of methods; empty: all
  const char* list;         // empty: there is none
};
constexpr std::array<NamingParam, 13> naming_params = {{
    {"run_id", "", "signalbox run list"},
    {"card_id", "", "signalbox card list"},
    {"id", "run.", "signalbox run list"},
    {"id", "card.", "signalbox card list"},
    {"name", "project.", "signalbox project list"},
    {"name", "", ""},
    {"project", "", "signalbox project list"},
    {"runner", "", "signalbox runner list"},
    {"loop", "", "signalbox loop list"},
    {"key", "lock.", "signalbox lock list"},
    {"station", "", ""},
    {"step", "", ""},
    {"stream", "", ""},
}};

const NamingParam* find_naming(std::string_view method, std::string_view param) {
  const auto* const found = std::ranges::find_if(naming_params, [&](const NamingParam& each) {
    return each.param == param && method.starts_with(each.family);
  });
  return found == naming_params.end() ? nullptr : found;
}

// Of a command that a refusal names.
constexpr std::size_t named_params_bytes_max = 4096;

// Returns nullptr for a method that isn't listed.
const PresentOnly* find_present_only(const Method& method) {
  const auto* const found = std::ranges::find(present_only, method.name, &PresentOnly::method);
  return found == present_only.end() ? nullptr : found;
}

// Returns the params that ask for the same without `at`. A part of the log that isn't said ends,
// for a forecast, or begins, for a difference, at that moment.
boost::json::object params_without_moment(const Method& method, boost::json::object params) {
  if (method.name == "what_if.run") params.emplace("policy", "");
  const boost::json::value* const at = params.if_contains("at");
  if (at == nullptr) return params;
  const std::string moment =
      at->is_string() ? std::string(at->get_string()) : boost::json::serialize(*at);
  const bool is_moment = at->is_string() || at->is_number();
  params.erase("at");
  if (is_moment && method.name == "what_if.run") params.emplace("to", moment);
  if (is_moment && method.name == "state.diff") params.emplace("from", moment);
  return params;
}

bool has_needed_params(const Method& method, const boost::json::object& params) {
  return std::ranges::all_of(method.params->fields, [&params](const described_json::Field& field) {
    return !field.type->is_required() || params.contains(field.name);
  });
}

// Returns the command that does the same at present. Without the params that it needs, or with too
// many to be pasted, it is the one that says what they are.
std::string command_about_present(const Method& method, const boost::json::object& given) {
  constexpr const char* describe_methods = "signalbox rpc --describe";
  if (method.name == "events.subscribe") return "signalbox events --follow";
  const boost::json::object params = params_without_moment(method, given);
  const std::string text = boost::json::serialize(params);
  const bool is_whole = has_needed_params(method, params) && text.size() <= named_params_bytes_max;
  const bool has_secret = !method.needs;  // it says who calls
  if (!is_whole || has_secret) return describe_methods;
  const boost::json::value* const run_id = params.if_contains("run_id");
  const bool names_run = run_id != nullptr && run_id->is_string();
  if (names_run && method.name == "run.diff") {
    return "signalbox run diff " + shell_word(std::string(run_id->get_string()));
  }
  if (names_run && method.name == "run.log") {
    return "signalbox run logs " + shell_word(std::string(run_id->get_string()));
  }
  std::string command = "signalbox rpc " + std::string(method.name);
  if (!params.empty()) command += " " + shell_word(text);
  return command;
}

std::string why_not_about_past(const Method& method) {
  const std::string name(method.name);
  const PresentOnly* const present = find_present_only(method);
  if (present == nullptr) return name + " isn't a query: what has been can't be changed";
  return name + " takes no `at`: it shows " + std::string(present->shows);
}

}  // namespace

Decided<void> require_named(const Method& method, const boost::json::object& params) {
  for (const described_json::Field& field : method.params->fields) {
    const boost::json::value* const given = params.if_contains(field.name);
    if (given == nullptr || !given->is_string() || !given->get_string().empty()) continue;
    const NamingParam* const naming = find_naming(method.name, field.name);
    // An optional text may be empty for nothing.
    const bool is_id = field.name == "run_id" || field.name == "card_id";
    if (naming == nullptr || (!field.type->is_required() && !is_id)) continue;
    Rejection rejection{ErrorCode::INVALID_PARAMS,
                        std::string(field.name) + " must not be empty",
                        {{"field", std::string(field.name)}},
                        {}};
    if (*naming->list != '\0') rejection.next_commands.emplace_back(naming->list);
    return tl::unexpected(std::move(rejection));
  }
  return {};
}

bool needs_writer(const Method& method) {
  return method.mutates || method.needs == Role::runner ||
         std::ranges::find(acting, method.name) != acting.end();
}

std::string_view shown_of_present(const Method& method) {
  const PresentOnly* const present = find_present_only(method);
  return present == nullptr ? std::string_view() : present->shows;
}

bool answers_about_past(const Method& method) {
  return !needs_writer(method) && find_present_only(method) == nullptr;
}

Rejection not_about_past(const Method& method, const boost::json::object& params) {
  return {ErrorCode::NOT_ALLOWED,
          why_not_about_past(method),
          {{"method", std::string(method.name)}},
          {command_about_present(method, params)}};
}

}  // namespace signalbox
