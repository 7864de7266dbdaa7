// `signalbox diff`: shows what changed between two moments of the log.
#include <memory>

#include "domain/try.h"
#include "store/rocks_event_log.h"
#include "tools/cli/commands.h"
#include "tools/cli/past_call.h"
#include "tools/replay/change_list.h"

namespace signalbox {
namespace {

struct DiffOptions {
  std::string from;
  std::string to;
  bool all = false;
};

Called<boost::json::object> run_diff(const Invocation& invocation, const DiffOptions& options) {
  const auto data = invocation.data_directory();
  const auto log =
      TRY(called(RocksEventLog::open(data, {.read_only = true, .believes_head = true})));
  const auto from = TRY(position_of_moment(invocation, *log, options.from));
  const auto to = TRY(options.to.empty() ? Called<Position>(log->tail())
                                         : position_of_moment(invocation, *log, options.to));
  if (from > to) {
    return tl::unexpected(usage_error("--from is at " + std::to_string(from) + ", after --to at " +
                                      std::to_string(to)));
  }
  if (!options.all) return list_changes(*log, data, from, to);
  ReplayWalk walk(*log, data);
  return world_difference(walk, from, to);
}

}  // namespace

void add_diff_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command =
      app.add_subcommand("diff", "What changed between two positions or times of the log");
  const auto options = std::make_shared<DiffOptions>();
  command.add_option("--from", options->from, "A position, a time (RFC 3339) or an age (90m)")
      .type_name("MOMENT")
      .required();
  command.add_option("--to", options->to, "Likewise; default: the end of the log")
      .type_name("MOMENT");
  command.add_flag("--all", options->all, "Everything that changed, field by field");
  command.footer(
      "Counts how runs, cards, projects, locks and loops ended up, and names first what\n"
      "failed or waits. With --all it shows each whose state differs, with the fields\n"
      "that changed. Reads only; the directory may be that of a running server.\n\n"
      "Examples:\n"
      "  signalbox diff --from 8h\n"
      "  signalbox diff --from 1200 --to 1300 --all --json");
  command.action([options, &invocation] {
    const View view = options->all ? view_world_difference : view_changes;
    return answer(invocation, run_diff(invocation, *options), view);
  });
}

}  // namespace signalbox
