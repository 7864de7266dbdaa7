#include "tools/commands/run_batch.h"

#include <cstdlib>
#include <system_error>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "store/durable_file.h"
#include "store/sha256.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Of 10,000 runs, with room.
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

// Returns nullopt if there is no such file.
Called<std::optional<RunBatch>> read_batch(const fs::path& file) {
  const auto content = read_regular_file(file, batch_file_bytes_max);
  if (!content && content.error().kind == StoreError::Kind::not_found) return std::nullopt;
  if (!content) return tl::unexpected(io_error(content.error().message));
  json::error_code error;
  const json::value value = json::parse(*content, error);
  if (error || !value.is_object()) {
    return tl::unexpected(io_error(file.string() + " isn't the list of a batch; remove it"));
  }
  const json::object& stored = value.get_object();
  RunBatch batch;
  batch.id = text_at(stored, "batch");
  batch.command = text_at(stored, "command");
  batch.made_at_ns = static_cast<std::int64_t>(number_at(stored, "made_at_ns"));
  batch.finished = true_at(stored, "finished");
  batch.runs = array_at(stored, "runs");
  batch.of_cards = number_at(stored, "of_cards");
  batch.goes_on = true;
  return batch;
}

bool is_too_old(const RunBatch& batch, std::int64_t now_ns) {
  return now_ns - batch.made_at_ns > batch_ms_max * ns_per_ms;
}

}  // namespace

Called<RunBatches> RunBatches::open() {
  const fs::path state = user_state_directory();
  if (state.empty()) return tl::unexpected(no_batches("there is no HOME"));
  const fs::path directory = state / "signalbox-batches";
  if (auto made = make_directories(directory); !made) {
    return tl::unexpected(no_batches(made.error().message));
  }
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
    auto batch = TRY(read_batch(entry->path()));
    if (!batch) continue;
    if (is_too_old(*batch, now_ns)) {
      std::error_code ignored;
      fs::remove(entry->path(), ignored);
      continue;
    }
    const bool is_asked = id ? entry->path() == batch_file(directory_, *id, command)
                             : batch->command == command && !batch->finished &&
                                   (!found || batch->made_at_ns > found->made_at_ns);
    if (is_asked) found = std::move(batch);
  }
  if (found && found->command != command) {
    return tl::unexpected(usage_error("batch " + found->id +
                                      " is of another command or selects other runs; its list is "
                                      "frozen: repeat its own command, or name another batch"));
  }
  return found;
}

Called<void> RunBatches::write(const RunBatch& batch) const {
  const json::object stored{
      {"batch", batch.id},          {"command", batch.command},   {"made_at_ns", batch.made_at_ns},
      {"finished", batch.finished}, {"of_cards", batch.of_cards}, {"runs", batch.runs}};
  const auto written = write_file_atomically(batch_file(directory_, batch.id, batch.command),
                                             json::serialize(stored));
  if (!written) return tl::unexpected(no_batches(written.error().message));
  return {};
}

}  // namespace signalbox
