// `what_if.run`: the recorded work under another policy. The simulation is `signalbox replay
// --what-if` in a process of its own, so that neither its time nor its memory is the service's.
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/access/caller.h"
#include "server/limits.h"
#include "server/rpc/askers.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/forecast.h"
#include "server/rpc/own_answer.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct WhatIfRequest {
  std::string policy;               // TOML, see replay/what_if/what_if_policy.h
  std::optional<std::string> from;  // a position, a time or an age
  std::optional<std::string> to;
  std::optional<std::uint64_t> seed;
};
BOOST_DESCRIBE_STRUCT(WhatIfRequest, (), (policy, from, to, seed))

// What a moment is, the process says. It would be given the part before a NUL, though.
Decided<void> check_moment(const char* field, const std::optional<std::string>& moment) {
  if (!moment || moment->empty()) return {};
  return require_line(field, *moment, limits::name_bytes_max);
}

Decided<void> check_what_if(const WhatIfRequest& request) {
  if (auto ok = require_at_most("policy", request.policy, limits::what_if_policy_bytes_max); !ok) {
    return ok;
  }
  TRY(check_moment("from", request.from));
  return check_moment("to", request.to);
}

// The result shows the log up to its `to`.
void answer_what_if(const Responder& responder, Decided<json::object> outcome) {
  if (!outcome) return responder.reject(outcome.error());
  const json::value* const to = outcome->if_contains("to");
  const Position shown = to == nullptr ? 0 : to->to_number<Position>();
  responder.result(*std::move(outcome), shown);
}

// Returns the words that say under which settings the service runs. Its file isn't read again: what
// was written there since isn't in force, and may be wrong.
std::vector<std::string> settings_in_force(const ServerFacts& facts, const BoardTexts& board) {
  return {"--config=/dev/null", "--jobs-max=" + std::to_string(facts.jobs_max),
          "--remote-jobs-max=" + std::to_string(facts.remote_jobs_max),
          "--board=heartbeat=" + board.heartbeat, "--board=synthesizer=" + board.synthesizer,
          "--board=prune=" + board.prune, "--board=prune_after=" + board.prune_after,
          "--board=time_zone=" + board.time_zone,
          // Where it is answered, ages count from now.
          "--socket=" + facts.socket_path};
}

// The answer to a forecast that nobody waits for, or that the service doesn't. Whoever has only
// ended the output of a connection over TCP reads it.
Rejection forecast_ended(bool is_stopping) {
  if (is_stopping) {
    return {ErrorCode::SHUTTING_DOWN,
            "the forecast wasn't made: the service stops",
            {},
            {"signalbox status"}};
  }
  return {
      ErrorCode::OVERLOADED,
      "the forecast wasn't made: over TCP a connection whose output is ended looks like a closed "
      "one, and the forecast's place was given to others: end the output after the answer",
      {},
      {"signalbox server limits"}};
}

// A process whose asker has gone is ended, as it holds one of the few places; one that may still be
// read only while others wait. Its thread asks the engine's now and then, since only that one knows
// of connections.
void run_what_if(Api& api, Call& call, const std::optional<ForecastParts>& parts,
                 const std::shared_ptr<Askers>& askers) {
  auto command = forecast_command(api.facts.data_directory,
                                  settings_in_force(api.facts, parts ? parts->board : BoardTexts{}),
                                  call.params);
  if (!command) return call.responder.reject(command.error());
  if (!parts) {
    return call.responder.reject({ErrorCode::INTERNAL, "no forecast is made here", {}, {}});
  }
  const Unwanted unwanted = askers->add(call.responder.peer());
  command->is_stopped = [unwanted, post = api.post, askers, is_stopping = parts->is_stopping] {
    post([askers, is_stopping] { is_stopping() ? askers->give_up() : askers->note_gone(); });
    return unwanted->load();
  };
  // Callers take turns.
  Lane lane{.name = "forecasts of " + call.origin.actor,
            .unwanted = unwanted,
            .has_place = !is_address(call.origin.actor)};
  lane.failed = [responder = call.responder, is_stopping = parts->is_stopping](LaneFailure why) {
    responder.reject(why == LaneFailure::unwanted ? forecast_ended(is_stopping())
                                                  : too_many_forecasts());
  };
  parts->pool.run(std::move(lane), [responder = call.responder, command = *std::move(command),
                                    is_stopping = parts->is_stopping] {
    auto outcome = make_forecast(command);
    return std::function<void()>([responder, outcome = std::move(outcome), is_stopping]() mutable {
      const bool is_ended = !outcome && outcome.error().code == ErrorCode::SHUTTING_DOWN;
      if (is_ended) outcome = tl::unexpected(forecast_ended(is_stopping()));
      answer_what_if(responder, std::move(outcome));
    });
  });
}

}  // namespace

Decided<OwnCommand> forecast_command(const std::string& data_directory,
                                     std::vector<std::string> in_force,
                                     const json::object& params) {
  const auto request = TRY(from_json<WhatIfRequest>(params));
  TRY(check_what_if(request));
  OwnCommand command;
  command.words = {"replay", "--what-if", "/dev/stdin", "--json", "--data", data_directory};
  std::move(in_force.begin(), in_force.end(), std::back_inserter(command.words));
  if (request.from && !request.from->empty()) command.words.push_back("--from=" + *request.from);
  if (request.to && !request.to->empty()) command.words.push_back("--to=" + *request.to);
  if (request.seed) command.words.push_back("--seed=" + std::to_string(*request.seed));
  command.input = request.policy;  // not an argument: other users can read those
  command.why_stopped = "nobody waits for it any more";
  command.ms_max = limits::what_if_ms_max;
  command.memory_bytes_max = limits::what_if_memory_bytes_max;
  return command;
}

Rejection too_many_forecasts() {
  return {
      ErrorCode::OVERLOADED,
      "as many forecasts wait as may, of yours or of all callers: try again once one of them is "
      "made",
      {{"what_if_waiting_max", static_cast<std::int64_t>(limits::what_if_waiting_max)},
       {"what_if_all_waiting_max", static_cast<std::int64_t>(limits::what_if_all_waiting_max)}},
      {"signalbox status"}};
}

Decided<json::object> make_forecast(const OwnCommand& command) {
  return answer_of_own_command(command,
                               {"the forecast wasn't made: ", "from", {"signalbox server limits"}});
}

std::vector<Method> what_if_methods(const std::optional<ForecastParts>& parts) {
  return {{"what_if.run", false, Role::viewer, params_of<WhatIfRequest>(),
           [parts, askers = std::make_shared<Askers>(/*gives_up_doubtful=*/true)](
               Api& api, Call& call) { run_what_if(api, call, parts, askers); }}};
}

}  // namespace signalbox
