#include "server/executors/coderunner/codex_rollout.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <vector>

#include "server/executors/coderunner/codex_usage.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr int rollout_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Directories of a year, a month and a day, below `sessions`.
constexpr int rollout_levels = 3;

// Returns whether the name is rollout-YYYY-MM-DDTHH-MM-SS-<thread>.jsonl. The length is compared,
// since the id of another thread may end in this one.
bool is_rollout_of(const std::string& name, const std::string& thread) {
  constexpr std::string_view begin = "rollout-";
  constexpr std::size_t time_bytes = std::string_view("YYYY-MM-DDTHH-MM-SS").size();
  const std::string end = "-" + thread + ".jsonl";
  return name.size() == begin.size() + time_bytes + end.size() && name.starts_with(begin) &&
         name.ends_with(end);
}

// A search for the file, of which the directories of the newest days come first.
class RolloutSearch {
 public:
  explicit RolloutSearch(const std::string& thread) : thread_(thread) {}

  // Returns the open file in this directory, which has so many levels of directories below it; not
  // open if there is none.
  FileDescriptor find(const FileDescriptor& directory, int levels) {
    for (const std::string& name : names_in(directory, levels)) {
      const int flags =
          levels > 0 ? rollout_directory_flags : O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
      FileDescriptor entry(::openat(directory.get(), name.c_str(), flags));
      if (!entry) continue;
      if (levels == 0) return entry;
      FileDescriptor found = find(entry, levels - 1);
      if (found) return found;
    }
    return {};
  }

 private:
  // Returns the names of the entries to look at.
  std::vector<std::string> names_in(const FileDescriptor& directory, int levels) {
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator entry(held_directory(directory), error);
    for (; !error && entry != fs::directory_iterator() && entries_left_ > 0;
         entry.increment(error)) {
      --entries_left_;
      std::string name = entry->path().filename().string();
      const bool is_wanted = levels > 0 ? name.find_first_not_of("0123456789") == std::string::npos
                                        : is_rollout_of(name, thread_);
      if (is_wanted) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end(), std::greater<>());
    return names;
  }

  const std::string& thread_;
  std::size_t entries_left_ = codex_rollout_entries_max;
};

}  // namespace

CodexRollout::CodexRollout(fs::path codex_home, std::string thread)
    : home_(std::move(codex_home)),
      thread_(std::move(thread)),
      searches_left_(codex_rollout_searches_max) {}

std::optional<TokenCounts> CodexRollout::total() {
  if (!file_) open();
  struct stat status {};
  if (!file_ || ::fstat(file_.get(), &status) != 0) return total_;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  // Shorter than it was: somebody has written it anew.
  const std::uint64_t from = size < offset_ ? 0 : offset_;
  const std::uint64_t newest = size - std::min<std::uint64_t>(size, codex_rollout_read_bytes_max);
  if (!lines_ || from != offset_ || from < newest) begin_at(std::max(from, newest));
  read_to(size);
  return total_;
}

// codex creates the file a while after it has named the thread.
void CodexRollout::open() {
  if (home_.empty() || thread_.empty() || searches_left_ == 0) return;
  --searches_left_;
  const fs::path sessions = home_ / "sessions";
  const FileDescriptor top(::open(sessions.c_str(), rollout_directory_flags));
  if (!top) return;
  FileDescriptor found = RolloutSearch(thread_).find(top, rollout_levels);
  struct stat status {};
  if (!found || ::fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  file_ = std::move(found);
}

void CodexRollout::begin_at(std::uint64_t offset) {
  offset_ = offset;
  in_cut_line_ = offset > 0;
  lines_.emplace([this](std::string_view line) {
    if (const auto total = total_in_rollout_line(line, thread_)) total_ = total;
  });
}

void CodexRollout::read_to(std::uint64_t size) {
  std::array<char, 64UL * 1024> bytes{};
  while (offset_ < size) {
    const std::size_t wanted = std::min<std::uint64_t>(bytes.size(), size - offset_);
    const ssize_t got = ::pread(file_.get(), bytes.data(), wanted, static_cast<off_t>(offset_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    offset_ += static_cast<std::uint64_t>(got);
    add({bytes.data(), static_cast<std::size_t>(got)});
  }
}

void CodexRollout::add(std::string_view bytes) {
  if (in_cut_line_) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    in_cut_line_ = false;
    bytes.remove_prefix(end + 1);
  }
  lines_->add(bytes);
}

fs::path codex_home_of_job() {
  const char* const own = std::getenv("CODEX_HOME");
  if (own != nullptr && *own != '\0') return own;
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? fs::path(home) / ".codex" : fs::path();
}

}  // namespace signalbox
