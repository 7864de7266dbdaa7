// `state.get` and `state.diff`: everything that is known of one run, card, lock, loop or project,
// as the log folds it, and what of that differs between two moments.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/access/caller.h"
#include "server/engine/engine.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/query_params.h"
#include "server/rpc/noun_state.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Of the longest name of a kind, `project`.
constexpr std::size_t stream_bytes_max =
    std::string_view("project/").size() + limits::name_bytes_max;

struct GetState {
  std::string stream;  // as in an event
};
BOOST_DESCRIBE_STRUCT(GetState, (), (stream))

struct DiffState {
  std::string stream;             // as in an event
  std::string from;               // a position, a time or an age
  std::optional<std::string> to;  // likewise; default: now
};
BOOST_DESCRIBE_STRUCT(DiffState, (), (stream, from, to))

using Grants = std::set<std::uint64_t>;

// The fields that have a token, or the position of an event that may be the grant of one: a lease
// that wasn't renewed yet was renewed last by its grant, and nothing changed since.
constexpr std::array<std::string_view, 6> grant_fields{
    "token", "lock_token", "renewed_at", "lease_renewed_at", "changed_at", "last_progress_at"};

// Calls `see` with each key and value below `value`.
template <class Value, class See>
void for_each_field(Value& value, const See& see) {
  if (auto* const array = value.if_array()) {
    for (auto& each : *array) for_each_field(each, see);
  }
  auto* const object = value.if_object();
  if (object == nullptr) return;
  for (auto& each : *object) {
    see(std::string_view(each.key()), each.value());
    for_each_field(each.value(), see);
  }
}

std::uint64_t number_of(const json::value& value) {
  json::error_code error;
  const auto number = value.is_number() ? value.to_number<std::uint64_t>(error) : 0;
  return error ? 0 : number;
}

// Hides the tokens in a state from a viewer, under each of their names. Other numbers that are the
// same as a token stay. The rest of what a viewer doesn't see is hidden in every answer
// (hide_tokens() in responder.h).
void hide_grants(json::value& state) {
  Grants grants;
  for_each_field(std::as_const(state), [&grants](std::string_view key, const json::value& value) {
    if (key == "token" || key == "lock_token") grants.insert(number_of(value));
  });
  grants.erase(0);
  for_each_field(state, [&grants](std::string_view key, json::value& value) {
    const bool may_be_grant =
        std::find(grant_fields.begin(), grant_fields.end(), key) != grant_fields.end();
    if (may_be_grant && grants.contains(number_of(value))) value = nullptr;
  });
}

Decided<Stream> read_stream(const std::string& text) {
  TRY(require_at_most("stream", text, stream_bytes_max));
  if (auto stream = parse_stream(text)) return std::move(*stream);
  return reject(
      ErrorCode::INVALID_PARAMS,
      "stream must be server, access, or the kind and the name of one, such as lock/deploy",
      {{"field", std::string("stream")}, {"value", text}},
      {"signalbox rpc events.read '{\"backwards\":true,\"limit\":1}'"});
}

void get_state(Api& api, Call& call) {
  const auto params = from_json<GetState>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto stream = read_stream(params->stream);
  if (!stream) return call.responder.reject(stream.error());
  auto state = noun_state(api.engine.world(), *stream);
  json::object result;
  result["stream"] = to_string(*stream);
  json::value& shown = result["state"];
  if (state) shown = std::move(*state);
  if (sees_no_tokens(call.role)) hide_grants(shown);
  call.responder.result(std::move(result));
}

// Returns the state in a result of state.get.
std::optional<json::object> state_in(const json::object& result) {
  const json::object* const state = result.at("state").if_object();
  return state == nullptr ? std::nullopt : std::optional(*state);
}

// Returns the event that ended a run which has this state, if it ended after `from`.
std::optional<Event> end_after(const EventLog& log, Position from, const Stream& stream,
                               const std::optional<json::object>& state) {
  if (!is_ended_run(stream, state)) return std::nullopt;
  const Position ended_at = number_of(state->at("ended_at"));
  if (ended_at <= from) return std::nullopt;
  auto records = log.read(ended_at, 1);
  if (!records || records->empty()) return std::nullopt;
  return std::move(records->front().event);
}

// Called on a thread that may block.
json::object diff_results(const EventLog& log, const Stream& stream, const json::object& before,
                          const json::object& after) {
  const auto was = state_in(before);
  const auto is = state_in(after);
  const auto end = end_after(log, number_of(before.at("position")), stream, is);
  const auto fields = differences_of(stream, was, is, end ? &*end : nullptr);
  json::object result;
  result["stream"] = to_string(stream);
  result["change"] = fields.empty() ? json::value(nullptr) : json::value(change_between(was, is));
  result["fields"] = describe_differences(fields);
  return result;
}

// The states are the answers of state.get, with what that hides from the caller.
void diff_state(Api& api, Call& call) {
  read_moment(call.params, "from");
  read_moment(call.params, "to");
  const auto params = from_json<DiffState>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto stream = read_stream(params->stream);
  if (!stream) return call.responder.reject(stream.error());
  if (!api.compare_past) {
    return call.responder.reject({ErrorCode::NOT_ALLOWED,
                                  "the answers are about one moment already",
                                  {{"method", std::string("state.diff")}},
                                  {"signalbox diff --from 1 --all"}});
  }
  const json::object request{{"jsonrpc", "2.0"},
                             {"id", 1},
                             {"method", "state.get"},
                             {"params", {{"stream", params->stream}}}};
  // Whoever may ask for the difference may ask for the state; who sees no tokens sees less of it.
  const Principal asker{call.origin.actor, sees_no_tokens(call.role) ? Role::viewer : Role::worker};
  api.compare_past(
      {json::serialize(request), params->from, params->to.value_or(""), asker,
       !is_address(asker.actor),
       [&log = api.log, stream = *stream](const json::object& before, const json::object& after) {
         return diff_results(log, stream, before, after);
       }},
      call.responder);
}

}  // namespace

std::vector<Method> state_methods() {
  return {{"state.get", false, Role::viewer, params_of<GetState>(), get_state},
          {"state.diff", false, Role::viewer, params_of<DiffState>(), diff_state}};
}

}  // namespace signalbox
