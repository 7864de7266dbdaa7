// `signalbox cell seed`: copies the log of a server of a cell, so that another one can begin with
// it.
#include <algorithm>
#include <memory>
#include <string>

#include "domain/try.h"
#include "server/cell/cell_mark.h"
#include "store/log_copy.h"
#include "tools/cli/absolute_path.h"
#include "tools/cli/call_error.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/progress_line.h"
#include "tools/commands/copy_directory.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns the cell that the data directory is of.
Called<std::string> cell_of(const std::filesystem::path& data) {
  auto cell = TRY(called(read_mark(data)));
  if (cell) return *std::move(cell);
  return tl::unexpected(usage_error(data.string() +
                                    " isn't the data directory of a server that has joined a cell: "
                                    "name that of one with --data"));
}

Called<json::object> seed(const Invocation& invocation, const std::string& given) {
  const std::filesystem::path data = invocation.data_directory();
  TRY(invocation.require_present("copies the log as it is now"));
  const std::string target = TRY(absolute_path("DIR", given));
  const std::string cell = TRY(cell_of(data));
  const auto seen = TRY(called(read_seen(data, cell)));
  CopyDirectory directory = TRY(CopyDirectory::begin(target, data, "signalbox cell seed"));
  LogCopy copy;
  {
    const auto show = progress_on_stderr();
    copy = TRY(called(copy_log(data, directory.path(), /*env=*/nullptr,
                               [&show](const LogCopyProgress& done) { show(part_of(done)); })));
  }
  // Without the marks the new server could begin a cell of its own with this log, or go on without
  // one. A replica has nothing that the cell's log hasn't acknowledged.
  TRY(called(mark_as_replica(directory.path(), cell)));
  TRY(called(note_seen(directory.path(), cell, std::max(seen.value_or(0), copy.position()))));
  TRY(directory.finish());
  Sha256 sha256;
  return json::object{{"cell", cell},
                      {"directory", target},
                      {"position", copy.position()},
                      {"root", to_hex(merkle_root(copy.frontier, sha256))},
                      {"bytes", copy.bytes}};
}

std::string seed_view(const json::object& result, const Terminal&) {
  const std::string position = std::to_string(number_at(result, "position"));
  return text_at(result, "directory") + " has the log of the cell " + text_at(result, "cell") +
         " up to " + position + ", " + shown_size(number_at(result, "bytes")) + "\nMerkle root " +
         text_at(result, "root") +
         "\n\nCopy it to the new server's machine as the data directory, for the user of its\n"
         "service, put a signalbox.toml there, and start the server: it follows from there.\n"
         "Do it while the cell's database has what comes after " +
         position +
         " (cell.keep, by\ndefault 3 days). Then remove the directory here: it has texts that are "
         "redacted\nfrom now on.\n";
}

}  // namespace

void add_cell_seed_command(ToolCommand cell, Invocation& invocation) {
  ToolCommand command =
      cell.add_subcommand("seed", "Copy a server's log for a new server of the cell to begin with");
  const auto target = std::make_shared<std::string>();
  command.add_option("DIR", *target, "The directory to make; its parent must be there").required();
  command.footer(
      "Run it on the machine of a server of the cell, as the user of its service; one\n"
      "that stands by has the most time for it. The server goes on meanwhile. DIR has\n"
      "the log as it was at one moment, checked against its Merkle tree, and nothing of\n"
      "the server itself: no id, no settings, no key. It appears when it is complete;\n"
      "until then it is DIR.incomplete. A terminal shows how far it is.\n\n"
      "Examples:\n"
      "  signalbox cell seed /var/tmp/seed --data /var/lib/signalbox\n"
      "  rsync -a /var/tmp/seed/ new-machine:/var/lib/signalbox/");
  command.action(
      [target, &invocation] { return answer(invocation, seed(invocation, *target), seed_view); });
}

}  // namespace signalbox
