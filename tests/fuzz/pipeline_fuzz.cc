// Pipelines, what-if policies and the checks of a repository, all in TOML.
#include "server/executors/checks/instructions.h"
#include "server/replay/what_if/what_if_policy.h"
#include "server/rpc/pipeline_json.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_pipeline(std::string_view input) {
  static_cast<void>(checks_in_toml(input));
  static_cast<void>(checks_in_markdown(input));
  static_cast<void>(read_what_if_policy(input, {}));
  const auto tables = json_from_toml(input);
  if (!tables) return;
  const auto pipeline = pipeline_from_json(*tables);
  if (!pipeline) return;
  const auto again = pipeline_from_json(pipeline_to_json(*pipeline));
  SIGNALBOX_CHECK(again && *again == *pipeline);
}

}  // namespace signalbox
