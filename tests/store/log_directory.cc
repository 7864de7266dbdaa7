#include "tests/store/log_directory.h"

#include "store/merkle_tree.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "tests/store/sample_events.h"

namespace signalbox::test {

std::unique_ptr<RocksEventLog> open_log(const std::filesystem::path& data,
                                        RocksEventLog::Options options) {
  auto log = RocksEventLog::open(data, std::move(options));
  if (!log) throw std::runtime_error(log.error().message);
  return std::move(*log);
}

void append_commits(EventLog& log, int commits) {
  for (int i = 0; i < commits; ++i) {
    const Position tail = log.tail();
    const Commit commit = sample_commit(tail + 1, 3);
    const AppendResult result = log.append(tail, {&commit, 1});
    if (result.status != AppendStatus::ok) throw std::runtime_error(result.message);
  }
}

Stored<std::vector<Record>> all_records(const EventLog& log) { return log.read(1, log.tail() + 1); }

Stored<std::vector<Record>> records_after_horizon(const EventLog& log) {
  return log.read(log.horizon().position + 1, log.tail() + 1);
}

PreparedDrop prepare_drop(const EventLog& log, const MerkleFrontier& tree,
                          std::vector<PositionRange> kept, std::string base) {
  Sha256 hashing;
  HistoryDropped event;
  event.horizon = tree.leaves;
  event.from = log.horizon().position + 1;
  event.archive = "/archive/1-" + std::to_string(tree.leaves);
  event.root = merkle_root(tree, hashing);
  event.base = sha256(base);
  Record record;
  record.position = log.tail() + 1;
  record.stream = Stream::server();
  record.recorded_at_ns = 1;
  record.actor = "uid:1000";
  record.event = ServerEvent(event);
  return {{record}, {tree.leaves, std::move(kept), std::move(base)}};
}

namespace {

using FileStates =
    std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>>;

// Returns the size and the time of the last change of each file below `directory`.
FileStates file_states(const std::filesystem::path& directory) {
  FileStates states;
  std::error_code vanished;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
    if (file.is_directory(vanished)) continue;
    states[file.path().string()] = {file.file_size(vanished), file.last_write_time(vanished)};
  }
  return states;
}

}  // namespace

void copy_directory(const std::filesystem::path& from, const std::filesystem::path& to) {
  // A kill stops everything at one moment, and a copy takes a while: one counts during which a log
  // that runs neither wrote nor deleted a file.
  std::error_code error;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const FileStates before = file_states(from);
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, error);
    if (!error && file_states(from) == before) return;
  }
  throw std::filesystem::filesystem_error("no copy that is whole", from, to, error);
}

std::vector<std::filesystem::path> database_files(const std::filesystem::path& data,
                                                  const std::string& extension_or_prefix) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(data / "log")) {
    if (file.path().extension() == extension_or_prefix ||
        file.path().filename().string().starts_with(extension_or_prefix)) {
      files.push_back(file.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace signalbox::test
