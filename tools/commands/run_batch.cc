#include "tools/commands/run_batch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "server/text/printable_text.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "store/sha256.h"
#include "tools/cli/invocation.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// A batch of 10,000 runs fits easily.
constexpr std::size_t batch_file_bytes_max = 16UL * 1024 * 1024;
constexpr const char* batch_file_end = ".json";

// Returns an empty path if nothing names one.
fs::path user_state_directory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return state;
  const char* home = std::getenv("HOME");
  return home == nullptr || *home != '/' ? fs::path() : fs::path(home) / ".local/state";
}

CallError no_batches(const std::string& why) {
  return io_error("the list of runs can't be kept: " + why +
                  "; XDG_STATE_HOME can name another place");
}

// An id may have any characters, so the file has its digest as its name.
fs::path batch_file(const fs::path& directory, const std::string& id, const std::string& command) {
  // The first line of the command is the server, on which ids are unique.
  const std::string server = command.substr(0, command.find('\n'));
  return directory / (to_hex(sha256(server + "\n" + id)) + batch_file_end);
}

// Others could have planted or changed what isn't the user's own.
bool is_own(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Called<void> require_own_directory(const fs::path& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) {
    return tl::unexpected(no_batches(system_error("look at", directory).message));
  }
  if (S_ISDIR(status.st_mode) && is_own(status)) return {};
  return tl::unexpected(no_batches(
      directory.string() + " must be a directory of your own that nobody else can write to"));
}

// Returns nullopt if there is no such file.
Called<std::optional<std::string>> read_own_file(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) return tl::unexpected(io_error(system_error("open", path).message));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return tl::unexpected(io_error(system_error("look at", path).message));
  }
  if (!is_own(status) || status.st_nlink != 1) {
    return tl::unexpected(io_error(path.string() + " isn't a file of yours alone; remove it"));
  }
  auto content = read_regular_file(file.get(), path, batch_file_bytes_max);
  if (!content) return tl::unexpected(io_error(content.error().message));
  return *std::move(content);
}

// Returns nullopt if there is no such file.
Called<std::optional<RunBatch>> read_batch(const fs::path& file) {
  const auto content = TRY(read_own_file(file));
  if (!content) return std::nullopt;
  json::error_code error;
  const json::value value = json::parse(*content, error);
  if (error || !value.is_object()) {
    return tl::unexpected(io_error(file.string() + " isn't the list of a batch; remove it"));
  }
  const json::object& stored = value.as_object();
  const json::array& runs = array_at(stored, "runs");
  if (!std::all_of(runs.begin(), runs.end(),
                   [](const json::value& run) { return run.is_object(); })) {
    return tl::unexpected(io_error(file.string() + " isn't the list of a batch; remove it"));
  }
  RunBatch batch;
  batch.id = text_at(stored, "batch");
  batch.command = text_at(stored, "command");
  batch.made_at_ns = static_cast<std::int64_t>(number_at(stored, "made_at_ns"));
  batch.finished = true_at(stored, "finished");
  batch.shown_only = true_at(stored, "shown_only");
  batch.runs = runs;
  batch.goes_on = true;
  return batch;
}

bool is_too_old(const RunBatch& batch, std::int64_t now_ns) {
  return now_ns - batch.made_at_ns > batch_ms_max * ns_per_ms;
}

constexpr std::string_view new_batch_begin = "batch-";
constexpr std::size_t time_digits_min = 19;  // of nanoseconds since 1970, from 2001 on

bool are_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string new_batch_id(std::int64_t now_ns) {
  return std::string(new_batch_begin) + std::to_string(now_ns) + "-" + std::to_string(::getpid());
}

bool is_new_batch_id(std::string_view id) {
  if (!id.starts_with(new_batch_begin)) return false;
  id.remove_prefix(new_batch_begin.size());
  const std::size_t end = id.find('-');
  return end != std::string_view::npos && end >= time_digits_min && are_digits(id.substr(0, end)) &&
         are_digits(id.substr(end + 1));
}

std::string RunBatch::command_id(const std::string& run_id) const {
  return id + "/" + std::to_string(made_at_ns) + "/" + run_id;
}

Called<RunBatches> RunBatches::open() {
  const fs::path state = user_state_directory();
  if (state.empty()) return tl::unexpected(no_batches("there is no HOME"));
  const fs::path directory = state / "signalbox-batches";
  if (auto made = make_directories(directory); !made) {
    return tl::unexpected(no_batches(made.error().message));
  }
  TRY(require_own_directory(directory));
  return RunBatches(directory);
}

Called<std::optional<RunBatch>> RunBatches::find(const std::optional<std::string>& id,
                                                 const std::string& command,
                                                 std::int64_t now_ns) const {
  std::optional<RunBatch> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != batch_file_end) continue;
    const bool is_named = id && entry->path() == batch_file(directory_, *id, command);
    const auto read = read_batch(entry->path());
    if (!read && is_named) return tl::unexpected(read.error());
    if (!read) {
      write_message(printable("skipped a list of runs: " + message_of(read.error())) + "\n");
      continue;
    }
    const std::optional<RunBatch>& batch = *read;
    if (!batch) continue;
    if (is_too_old(*batch, now_ns)) {
      std::error_code ignored;
      fs::remove(entry->path(), ignored);
      continue;
    }
    const bool is_asked = id ? is_named
                             : batch->command == command && !batch->finished &&
                                   !batch->shown_only &&
                                   (!found || batch->made_at_ns > found->made_at_ns);
    if (is_asked) found = batch;
  }
  if (found && found->command != command) {
    return tl::unexpected(usage_error("batch " + found->id +
                                      " is of another command or selects other runs; its list is "
                                      "frozen: repeat its own command, or name another batch"));
  }
  return found;
}

Called<void> RunBatches::write(const RunBatch& batch) const {
  const json::object stored{{"batch", batch.id},
                            {"command", batch.command},
                            {"made_at_ns", batch.made_at_ns},
                            {"shown_only", batch.shown_only},
                            {"finished", batch.finished},
                            {"runs", batch.runs}};
  const auto written = write_file_atomically(batch_file(directory_, batch.id, batch.command),
                                             json::serialize(stored));
  if (!written) return tl::unexpected(no_batches(written.error().message));
  return {};
}

}  // namespace signalbox
