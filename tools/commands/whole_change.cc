#include "tools/commands/whole_change.h"

#include <cstdint>
#include <string>
#include <utility>

#include "domain/try.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// A worktree may change between two parts; so often it is read again.
constexpr int change_reads_max = 4;

// Adds the parts that follow the first one. Returns false if the text isn't the same any more.
Called<bool> add_later_parts(const Invocation& invocation, json::object params,
                             json::object& change) {
  const std::string digest = text_at(change, "sha256");
  const std::uint64_t end = number_at(change, "end");
  std::uint64_t next = number_at(change, "next_offset");
  std::string text = text_at(change, "text");
  while (next < end) {
    params["offset"] = next;
    const json::object part = TRY(call_unchanged(invocation, "run.diff", params));
    if (text_at(part, "sha256") != digest || number_at(part, "next_offset") <= next) return false;
    text += text_at(part, "text");
    next = number_at(part, "next_offset");
  }
  change["text"] = std::move(text);
  change["next_offset"] = end;
  change["is_cut"] = false;
  return true;
}

}  // namespace

Called<json::object> read_whole_change(const Invocation& invocation, json::object params) {
  TRY(complete_ids(invocation, params));
  for (int reads = 0; reads < change_reads_max; ++reads) {
    json::object change = TRY(call_unchanged(invocation, "run.diff", params));
    if (!true_at(change, "is_cut")) return change;
    if (TRY(add_later_parts(invocation, params, change))) return change;
  }
  CallError error = io_error("the change became another one while it was read; try again");
  error.exit_code = ExitCode::try_again;
  return tl::unexpected(std::move(error));
}

}  // namespace signalbox
