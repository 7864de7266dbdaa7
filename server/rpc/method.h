// One row of the dispatch table, and the call that its handler gets.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include <boost/describe/class.hpp>
#include <boost/json/object.hpp>

#include "domain/access.h"
#include "server/rpc/api.h"
#include "server/rpc/responder.h"
#include "server/text/described_json.h"

namespace signalbox {

struct Call {
  boost::json::object params;  // valid during the call only: handlers copy what they keep
  Origin origin;
  Responder responder;
  Role role = Role::viewer;  // of the caller; a method without `needs` is called as viewer
};

// Carries out a call and answers its responder, now or later. Called on the engine's thread.
using Handler = std::function<void(Api& api, Call& call)>;

// Returns a handler that passes `part` beside the Api. `part` must outlive the handler.
template <class Part>
Handler with(Part& part, void (*handle)(Api& api, Call& call, Part& part)) {
  return [&part, handle](Api& api, Call& call) { handle(api, call, part); };
}

struct Method {
  std::string_view name;
  bool mutates;                        // accepts a command_id
  std::optional<Role> needs;           // the least role; nullopt: no authentication needed
  const described_json::Type* params;  // of the struct that they are read into
  Handler handle;
};

// The params of a method that has none.
struct NoParams {};
BOOST_DESCRIBE_STRUCT(NoParams, (), ())

// Returns the description of the struct that a method reads its params into.
template <class T>
constexpr const described_json::Type* params_of() {
  return &described_json::type_of<T>;
}

// INVALID_PARAMS, with the command that lists what there is, if a param that names one thing, such
// as `run_id` or `runner`, is an empty text: nothing has an empty name, so it is a mistake, such as
// a variable of a script that isn't set.
Decided<void> require_named(const Method& method, const boost::json::object& params);

// Returns whether only the server that writes the log can carry out the method: it records
// something, or acts for the log.
bool needs_writer(const Method& method);

// Returns whether the method can be asked about a moment of the past: it is a query, and its answer
// follows from the log. So can every query that isn't listed with what else its answer shows.
bool answers_about_past(const Method& method);

// Returns what a query shows that doesn't follow from the log as it was at a moment; empty for one
// that can be asked about the past, and for what isn't a query.
std::string_view shown_of_present(const Method& method);

// Returns NOT_ALLOWED, for a call about a moment of the past of any other method. It names the
// command that answers about the present.
Rejection not_about_past(const Method& method, const boost::json::object& params);

}  // namespace signalbox
