#include "server/rpc/method.h"

#include <algorithm>
#include <array>

#include <boost/json/serialize.hpp>

#include "domain/refusals.h"

namespace signalbox {
namespace {

// Queries of the present only: a stream, a file of this process's measurements, a repository and
// the output of a job as they are now, who asks, and the tree over the whole log, which has the
// trees of the past in it, and its records. `what_if.run` and `state.diff` take the part of the log
// that they are about as params.
constexpr std::array<std::string_view, 11> present_only = {
    "events.subscribe", "server.metrics", "run.diff",         "run.log",
    "what_if.run",      "server.whoami",  "audit.checkpoint", "audit.tile",
    "audit.records",    "state.diff",     "cell.get"};

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

bool takes_part_of_log(const Method& method) {
  return method.name == "what_if.run" || method.name == "state.diff";
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
  if (takes_part_of_log(method)) {
    return name + " takes the part of the log as `from` and `to`, so it takes no `at`";
  }
  const bool is_query = !method.mutates && method.needs == Role::viewer;
  return is_query ? name + " shows the present only, so it takes no `at`"
                  : name + " isn't a query: what has been can't be changed";
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

// access.list is a query although it needs a higher role.
bool answers_about_past(const Method& method) {
  if (method.mutates || std::ranges::count(present_only, method.name) > 0) return false;
  return method.needs == Role::viewer || method.name == "access.list";
}

Rejection not_about_past(const Method& method, const boost::json::object& params) {
  return {ErrorCode::NOT_ALLOWED,
          why_not_about_past(method),
          {{"method", std::string(method.name)}},
          {command_about_present(method, params)}};
}

}  // namespace signalbox
