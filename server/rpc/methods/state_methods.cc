// `state.get`: everything that is known of one run, card, lock, loop or project, as the log folds
// it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/noun_state.h"

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

void get_state(Api& api, Call& call) {
  const auto params = from_json<GetState>(call.params);
  if (!params) return call.responder.reject(params.error());
  if (auto ok = require_at_most("stream", params->stream, stream_bytes_max); !ok) {
    return call.responder.reject(ok.error());
  }
  const auto stream = parse_stream(params->stream);
  if (!stream) {
    return call.responder.reject(
        {ErrorCode::INVALID_PARAMS,
         "stream must be server, access, or the kind and the name of one, such as lock/deploy",
         {{"field", std::string("stream")}, {"value", params->stream}},
         {"signalbox rpc events.read '{\"backwards\":true,\"limit\":1}'"}});
  }
  auto state = noun_state(api.engine.world(), *stream);
  json::object result;
  result["stream"] = to_string(*stream);
  json::value& shown = result["state"];
  if (state) shown = std::move(*state);
  if (call.role == Role::viewer) hide_grants(shown);
  call.responder.result(std::move(result));
}

}  // namespace

std::vector<Method> state_methods() {
  return {{"state.get", false, Role::viewer, params_of<GetState>(), get_state}};
}

}  // namespace signalbox
