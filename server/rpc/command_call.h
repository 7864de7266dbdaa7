// The steps that mutating calls share: read the command, answer a repeated one from the log,
// decide, reply.
#pragma once

#include <functional>
#include <span>

#include "domain/command.h"
#include "server/engine/engine.h"
#include "server/rpc/method.h"
#include "server/text/described_json.h"

namespace signalbox {

// Builds a command's result from its events alone, so that a repeated command gets the same result.
using ResultOf = boost::json::object (*)(const Api& api, std::span<const Record> records);

// Returns true if call.origin.command_id was used before. The call is answered then, at once or
// when the first command is durable: with the first result and `replayed`, or with
// IDEMPOTENCY_CONFLICT for another request, UNKNOWN_OUTCOME, HISTORY_DROPPED or STORAGE_DAMAGED.
bool answered_before(Api& api, Call& call, ResultOf result_of);

// Turns RUN_NOT_FOUND into RUN_TERMINAL for a run that ended long ago, which the read model still
// has although the world has forgotten it. Returns any other rejection unchanged.
Rejection with_ended_run(Api& api, Rejection rejection);

// Returns the refusal of a command whose run root can't be read in time: OVERLOADED.
Rejection run_root_hangs(const std::string& run_root);

// Answers once the events so far are durable and the run root files that follow from them are
// written, so that the client finds those files when it gets the answer. If a file can't be
// written, the result has `files_error`: the command itself succeeded.
void answer_with_files(Api& api, const Responder& responder, Decided<boost::json::object> outcome);

// Applies one command in a commit of its own. Returns result_of its events, or `unchanged` if there
// is one and the command has no events; or why it was refused, as with_ended_run() says it.
Decided<boost::json::object> outcome_of(Api& api, const Origin& origin, const Command& command,
                                        ResultOf result_of,
                                        const std::function<boost::json::object()>& unchanged = {});

// Applies one command in a commit of its own and answers with its outcome.
void apply_command(Api& api, Call& call, const Command& command, ResultOf result_of);

// The handler of a method whose params are the command T.
template <class T, ResultOf result_of>
void handle_command(Api& api, Call& call) {
  const auto command = from_json<T>(call.params);
  if (!command) return call.responder.reject(command.error());
  apply_command(api, call, *command, result_of);
}

}  // namespace signalbox
