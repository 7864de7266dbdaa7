// The way of a mutating call: read the command, answer a repeated one from the log, decide, reply.
#pragma once

#include <span>
#include <utility>

#include "server/engine/engine.h"
#include "server/rpc/method.h"
#include "server/text/described_json.h"

namespace signalbox {

// What a reply is made of, so that a repeated command gets the first one again: its events.
using ResultOf = boost::json::object (*)(const Api& api, std::span<const Record> records);

// True if call.origin.command_id was seen before; then the call has been answered, or will be:
// with the first result, or IDEMPOTENCY_CONFLICT.
bool answered_before(Api& api, Call& call, ResultOf result_of);

// RUN_NOT_FOUND becomes RUN_TERMINAL for a run that ended long ago: the world has forgotten it,
// the read model hasn't.
Rejection with_ended_run(Api& api, Rejection rejection);

// The described fields of T as JSON names them.
template <class T>
std::vector<std::string> field_names() {
  std::vector<std::string> names;
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto member) {
        using Field = std::remove_cvref_t<decltype(std::declval<T>().*member.pointer)>;
        names.emplace_back(described_json::json_name<Field>(member.name));
      });
  return names;
}

// Answers once the files in run roots that follow from the events so far are written, too: whoever
// gets the answer finds them there. A file that can't be written is told as `files_error` in the
// result: the command itself succeeded.
void answer_with_files(Api& api, const Responder& responder, Decided<boost::json::object> outcome);

// Applies one command in a commit of its own and answers with result_of its events.
template <class T>
void apply_command(Api& api, Call& call, const T& command, ResultOf result_of) {
  if (answered_before(api, call, result_of)) return;
  Decided<boost::json::object> outcome;
  {
    auto transaction = api.engine.begin(call.origin);
    const auto applied = transaction.apply(command);
    if (applied) {
      outcome = result_of(api, transaction.records());
    } else {
      outcome = tl::unexpected(with_ended_run(api, applied.error()));
    }
  }
  call.responder.answer(std::move(outcome));
}

// The whole of a simple method: params are the command.
template <class T, ResultOf result_of>
void handle_command(Api& api, Call& call) {
  const auto command = from_json<T>(call.params);
  if (!command) return call.responder.reject(command.error());
  apply_command(api, call, *command, result_of);
}

}  // namespace signalbox
