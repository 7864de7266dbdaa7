#include "server/executors/builtin/merge_input.h"

#include "server/git/git_names.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"

namespace signalbox {

tl::expected<MergeInput, Failure> read_merge_input(const BuiltinRequest& request) {
  auto input = parse_json(request.input).and_then([](const boost::json::value& value) {
    return from_json<MergeInput>(value);
  });
  if (input && is_branch_name(input->branch)) return *input;
  if (input) {
    return builtin_failure(ErrorClass::config, "MERGE_INPUT_INVALID",
                           "the run's input names no branch: " + input->branch);
  }
  return builtin_failure(
      ErrorClass::config, "MERGE_INPUT_INVALID",
      "the run's input must be {\"branch\", \"commit\", \"title\"}: " + input.error().message);
}

}  // namespace signalbox
