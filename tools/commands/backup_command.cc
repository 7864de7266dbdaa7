// `signalbox backup`: copies what a server keeps for good, while it goes on.
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "server/cell/cell_mark.h"
#include "server/platform/directory_artifacts.h"
#include "store/durable_file.h"
#include "store/log_copy.h"
#include "tools/cli/absolute_path.h"
#include "tools/cli/call_error.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/progress_line.h"
#include "tools/commands/copy_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

using Show = std::function<void(const ProgressLine::Part&)>;

constexpr const char* command_name = "signalbox backup";
constexpr std::size_t settings_bytes_max = 1024 * 1024;
// Where the artifacts are that a store of objects keeps (artifact_settings.h).
constexpr const char* store_settings = "store.json";

struct CopiedArtifacts {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> damaged;  // why; the copy hasn't these
};

Called<void> require_single_server(const fs::path& data) {
  std::error_code failed;
  if (!fs::is_directory(data / "log", failed)) {
    return tl::unexpected(usage_error(data.string() +
                                      " isn't the data directory of a server, or isn't this user's "
                                      "to read: name one with --data"));
  }
  const auto cell = TRY(called(read_mark(data)));
  if (!cell) return {};
  return tl::unexpected(usage_error(
      data.string() + " is of a server of the cell " + *cell +
          ", whose log is in its database: back that up, or copy this server's log of it",
      {"signalbox cell seed DIR --data " + for_the_shell(data.string())}));
}

// Copies a file as it is now, if it is there.
Called<void> copy_small_file(const fs::path& from, const fs::path& to) {
  auto content = read_file(from, settings_bytes_max);
  if (!content && content.error().kind == StoreError::Kind::not_found) return {};
  const std::string bytes = TRY(called(std::move(content)));
  return called(replace_file(to, bytes));
}

// Copies the files of the directory, of which none is large.
Called<void> copy_small_files(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  if (!fs::is_directory(fs::symlink_status(from, failed))) return {};
  TRY(called(make_directories(to)));
  fs::directory_iterator each(from, failed);
  for (; !failed && each != fs::directory_iterator(); each.increment(failed)) {
    if (!fs::is_regular_file(each->symlink_status(failed))) continue;
    TRY(copy_small_file(each->path(), to / each->path().filename()));
  }
  if (!failed) return {};
  return tl::unexpected(io_error("can't read " + from.string() + ": " + failed.message()));
}

// Adds a blob to the copy. Its digest is compared; one that was removed meanwhile is of a run whose
// files a retention has removed.
Called<void> copy_blob(const DirectoryArtifacts& from, DirectoryArtifacts& to, const KeptBlob& blob,
                       CopiedArtifacts& copied) {
  const auto content = from.get(blob.sha256);
  if (!content) {
    switch (content.error().kind) {
      case StoreError::Kind::not_found:
        return {};
      case StoreError::Kind::damaged:
        copied.damaged.push_back(content.error().message);
        return {};
      default:
        return tl::unexpected(from_store_error(content.error()));
    }
  }
  TRY(called(to.put_content(blob.sha256, *content)));
  ++copied.count;
  copied.bytes += content->size();
  return {};
}

// Fails for a directory of blobs that is there and can't be read: list() would leave it out.
Called<void> require_readable(const fs::path& blobs) {
  std::error_code failed;
  fs::directory_iterator each(blobs, failed);
  while (!failed && each != fs::directory_iterator()) each.increment(failed);
  if (!failed || failed == std::errc::no_such_file_or_directory) return {};
  return tl::unexpected(io_error("can't read " + blobs.string() + ": " + failed.message()));
}

// After the log: a blob is stored before the event that names it, so none of the log's is missed.
Called<CopiedArtifacts> copy_artifacts(const fs::path& from, const fs::path& to, const Show& show) {
  CopiedArtifacts copied;
  std::error_code failed;
  if (!fs::is_directory(from, failed)) return copied;
  TRY(called(make_directories(to)));
  TRY(copy_small_file(from / store_settings, to / store_settings));
  const DirectoryArtifacts source(from);
  DirectoryArtifacts target(to);
  for (int first = 0; first <= 0xff; ++first) {
    Digest begin{};
    begin.bytes[0] = static_cast<std::uint8_t>(first);
    TRY(require_readable(source.path_of(begin).parent_path()));
    Called<void> done;
    TRY(called(source.list(static_cast<std::uint8_t>(first), [&](const KeptBlob& blob) {
      done = copy_blob(source, target, blob, copied);
      show({"copying artifacts", copied.count, 0, copied.bytes});
      return done.has_value();
    })));
    TRY(std::move(done));
  }
  return copied;
}

Called<json::object> back_up(const Invocation& invocation, const std::string& given) {
  const fs::path data = invocation.data_directory();
  TRY(invocation.require_present("copies the log as it is now"));
  const std::string target = TRY(absolute_path("DIR", given));
  TRY(require_single_server(data));
  CopyDirectory directory = TRY(CopyDirectory::begin(target, data, command_name));
  LogCopy log;
  CopiedArtifacts artifacts;
  {
    const Show show = progress_on_stderr();
    log = TRY(called(copy_log(data, directory.path(), /*env=*/nullptr,
                              [&show](const LogCopyProgress& done) { show(part_of(done)); })));
    artifacts = TRY(copy_artifacts(data / "artifacts", directory.path() / "artifacts", show));
  }
  TRY(copy_small_file(data / "signalbox.toml", directory.path() / "signalbox.toml"));
  // Runners prove themselves with keys that are derived from it: without it none could report the
  // jobs that it has, and no other could do them.
  TRY(copy_small_file(data / "jobs.key", directory.path() / "jobs.key"));
  // What an earlier version decided about runners, as far as the log doesn't have it yet.
  TRY(copy_small_file(data / "runners.json", directory.path() / "runners.json"));
  // Which runs can't be retried any more, since their files are gone.
  TRY(copy_small_files(data / "removed", directory.path() / "removed"));
  TRY(directory.finish());
  Sha256 sha256;
  return json::object{
      {"directory", target},
      {"position", log.position()},
      {"root", to_hex(merkle_root(log.frontier, sha256))},
      {"bytes", log.bytes},
      {"artifacts", artifacts.count},
      {"artifact_bytes", artifacts.bytes},
      {"damaged_artifacts", json::array(artifacts.damaged.begin(), artifacts.damaged.end())}};
}

std::string artifacts_text(std::uint64_t count, std::uint64_t bytes) {
  if (count == 0) return "no artifacts";
  return std::to_string(count) + (count == 1 ? " artifact, " : " artifacts, ") + shown_size(bytes);
}

std::string backup_view(const json::object& result, const Terminal&) {
  std::string text =
      text_at(result, "directory") + " has the log up to " +
      std::to_string(number_at(result, "position")) + ", " +
      shown_size(number_at(result, "bytes")) + ", and " +
      artifacts_text(number_at(result, "artifacts"), number_at(result, "artifact_bytes")) +
      "\nMerkle root " + text_at(result, "root") + "\n";
  const json::array& damaged = array_at(result, "damaged_artifacts");
  for (const json::value& each : damaged) {
    text += "not in the copy: " + std::string(each.as_string()) + "\n";
  }
  return text +
         "\nIt is a data directory: bring it to another machine, and try it there with\n"
         "`signalbox replay --data DIR --verify`.\n";
}

}  // namespace

void add_backup_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command =
      app.add_subcommand("backup", "Copy the log and the artifacts of a server that goes on");
  const auto target = std::make_shared<std::string>();
  command.add_option("DIR", *target, "The directory to make; its parent must be there").required();
  command.footer(
      "Run it on the machine of the server, as the user of its service. DIR has the log\n"
      "as it was at one moment, checked against its Merkle tree, the artifacts, each\n"
      "compared with its digest, signalbox.toml, jobs.key, runners.json and removed/;\n"
      "not jobs and workspaces, nor what signalbox.toml names, such as the audit key:\n"
      "keep that elsewhere. It appears when it is complete; until then it is\n"
      "DIR.incomplete. A damaged artifact is left out and named, and the exit code is\n"
      "78; one that is gone isn't noticed.\n\n"
      "Examples:\n"
      "  sudo install -d -o signalbox -m 700 /var/backups/signalbox\n"
      "  sudo -u signalbox signalbox backup /var/backups/signalbox/$(date +%F) \\\n"
      "    --data /var/lib/signalbox\n"
      "  sudo -u signalbox signalbox replay --verify \\\n"
      "    --data /var/backups/signalbox/2026-11-29");
  command.action([target, &invocation] {
    const auto result = back_up(invocation, *target);
    const ExitCode code = answer(invocation, result, backup_view);
    const bool is_whole = !result || array_at(*result, "damaged_artifacts").empty();
    return is_whole ? code : ExitCode::damaged;
  });
}

}  // namespace signalbox
