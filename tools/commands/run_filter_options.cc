#include "tools/commands/run_filter_options.h"

#include <array>
#include <utility>

#include "server/text/separated_text.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

using TextOption = std::pair<const char*, const std::optional<std::string>*>;

std::array<TextOption, 4> text_options(const RunFilterOptions& options) {
  return {{{"project", &options.project},
           {"label", &options.label},
           {"since", &options.since},
           {"until", &options.until}}};
}

}  // namespace

void add_run_filter_options(ToolCommand command, RunFilterOptions& options,
                            const std::string& only) {
  command.add_option("--status", options.statuses, only + " of this status, or of any of several")
      .one_of({"queued", "running", "paused", "succeeded", "failed", "canceled"})
      .list();
  command.add_option("--project", options.project, only + " of this project");
  command.add_option("--label", options.label, only + " with this label").type_name("NAME=VALUE");
  command
      .add_option("--since", options.since,
                  only + " started at or after this time, or not longer ago than this age (8h)")
      .type_name("MOMENT");
  command
      .add_option("--until", options.until,
                  only + " started before this time, or longer ago than this age")
      .type_name("MOMENT");
}

void set_run_filter(boost::json::object& params, const RunFilterOptions& options) {
  for (const auto& [name, value] : text_options(options)) set_param(params, name, *value);
}

std::vector<std::string> run_filter_words(const RunFilterOptions& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : text_options(options)) {
    if (*value) words.insert(words.end(), {"--" + std::string(name), **value});
  }
  if (!options.statuses.empty()) {
    words.insert(words.end(), {"--status", joined(options.statuses, ",")});
  }
  return words;
}

}  // namespace signalbox
