#include "server/board/policy_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/board/policy_keys.h"
#include "server/git/git_command.h"
#include "server/git/git_names.h"
#include "server/git/path_facts.h"
#include "server/git/tree_entry.h"
#include "server/platform/atomic_file.h"
#include "store/file_descriptor.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

}  // namespace

// The attributes by which a change of a file is detected. All zero: there is no file.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  // ctime, which programs can't set back

  friend bool operator==(const Stamp&, const Stamp&) = default;
};

using Stamps = std::vector<Stamp>;

namespace {

constexpr int read_attempts_max = 8;

std::int64_t in_ns(const timespec& time) { return time.tv_sec * ns_per_s + time.tv_nsec; }

Stamp stamp_from(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_size, in_ns(status.st_mtim),
          in_ns(status.st_ctim)};
}

// Returns the stamp of what is at `path` (a symbolic link itself); nullopt on error, with errno.
std::optional<Stamp> stamp_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return stamp_from(status);
  return errno == ENOENT || errno == ENOTDIR ? std::optional(Stamp{}) : std::nullopt;
}

// Returns true if no stamp is so recent, or in the future, that a further change could leave it
// equal.
bool is_settled(const Stamps& stamps, std::int64_t now_ns) {
  return std::all_of(stamps.begin(), stamps.end(), [now_ns](const Stamp& stamp) {
    return std::max(stamp.modified_ns, stamp.changed_ns) <= now_ns - policy_settled_ns;
  });
}

tl::unexpected<StoreError> refuse(const fs::path& path, const std::string& why,
                                  StoreError::Kind kind = StoreError::Kind::io) {
  return store_failure(kind, path.string() + " " + why, path.string());
}

struct Content {
  bool is_there = false;
  std::string text;
};

// Reads the file of a directory, and sets `stamps` to its stamp. If the file changes meanwhile, it
// is read again, up to read_attempts_max times.
Stored<Content> content_of_file(const fs::path& path, std::int64_t now_ns, Stamps& stamps) {
  WholeReading reading;
  for (int attempt = 0; attempt < read_attempts_max; ++attempt) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) {
      if (errno == ELOOP) return refuse(path, "is a symbolic link; put a regular file there");
      if (errno != ENOENT) return tl::unexpected(system_error("open", path));
      if (!has_target(path.parent_path())) {
        return refuse(path.parent_path(), "isn't there", StoreError::Kind::not_found);
      }
      stamps = {Stamp{}};
      return Content{};
    }
    struct stat before {};
    struct stat after {};
    if (::fstat(file.get(), &before) != 0) return tl::unexpected(system_error("look at", path));
    auto text = TRY(read_regular_file(file.get(), path, policy_file_bytes_max));
    if (::fstat(file.get(), &after) != 0) return tl::unexpected(system_error("look at", path));
    stamps = {stamp_from(before)};
    const bool changed = stamp_from(before) != stamp_from(after);
    if (reading.is_whole(text, changed, !is_settled(stamps, now_ns))) {
      return Content{true, std::move(text)};
    }
  }
  return refuse(path, "is changed while it is read; it is read again at the next tick");
}

tl::unexpected<StoreError> git_failed(const fs::path& repository, const GitOutcome& outcome) {
  return refuse(repository,
                "doesn't have its " + std::string(policy_file_name) + ": " + outcome.message);
}

// Reads the file of a branch's last commit.
Stored<Content> content_of_branch(const fs::path& repository, const std::string& branch) {
  const GitOutcome listed =
      git(repository, {"ls-tree", "-l", "-z", "--end-of-options", branch, "--", policy_file_name});
  if (!listed.ok) return git_failed(repository, listed);
  if (listed.output.empty()) return Content{};

  const TreeEntry entry = parse_tree_entry(listed.output);
  const fs::path shown = repository / (branch + ":" + policy_file_name);
  if (!entry.is_regular) return refuse(shown, "is not a regular file");
  if (entry.bytes > policy_file_bytes_max) {
    return refuse(shown, "is longer than " + std::to_string(policy_file_bytes_max) + " bytes");
  }
  GitOutcome content = git(repository, {"cat-file", "blob", entry.object});
  if (!content.ok) return git_failed(repository, content);
  return Content{true, std::move(content.output)};
}

// Returns the stamps of the files of which one has to change when the branch changes; nullopt if
// files don't show that.
std::optional<Stamps> stamps_of_branch(const fs::path& repository, const std::string& branch) {
  if (has_target(repository / "reftable")) return std::nullopt;
  Stamps stamps;
  for (const fs::path& path : {repository / branch, repository / "packed-refs"}) {
    const auto stamp = stamp_of(path);
    if (!stamp) return std::nullopt;
    stamps.push_back(*stamp);
  }
  // A symbolic ref changes with the branch that it names.
  const auto text = read_regular_file(repository / branch, policy_file_bytes_max);
  if (text ? text->starts_with("ref:") : text.error().kind != StoreError::Kind::not_found) {
    return std::nullopt;
  }
  return stamps;
}

}  // namespace

// The cache entry of a repository.
struct PolicyReader::Known {
  std::string base;
  std::string branch;            // with "refs/heads/"; empty: the repository isn't bare
  std::optional<Stamps> stamps;  // nullopt: has to be read again
  std::shared_ptr<const PolicyReading> reading;
  // The error for the branch as `stamps` has it, and when it occurred.
  std::optional<StoreError> failure;
  std::int64_t failed_ns = 0;
};

// A fast check of one or two system calls. Only an existing file counts as unchanged: if the file
// is missing, the directory may be, too, or it may have become a bare repository.
bool PolicyReader::is_unchanged(const fs::path& repository, const std::string& base,
                                const Known& known) {
  if (!known.reading || !known.stamps || known.failure || known.base != base) return false;
  if (known.branch.empty()) {
    return known.stamps->front() != Stamp{} &&
           stamp_of(repository.string() + "/" + policy_file_name) == known.stamps->front();
  }
  return *known.stamps != Stamps(2) &&
         stamp_of(repository.string() + "/" + known.branch) == known.stamps->front() &&
         stamp_of(repository.string() + "/packed-refs") == known.stamps->back();
}

PolicyReader::PolicyReader() : none_(std::make_shared<PolicyReading>()) {}
PolicyReader::~PolicyReader() = default;

Stored<std::shared_ptr<const PolicyReading>> PolicyReader::read(const fs::path& repository,
                                                                const std::string& base,
                                                                std::int64_t now_ns) {
  Known& known = known_of(repository);
  if (is_unchanged(repository, base, known)) return known.reading;
  const fs::path file = repository / policy_file_name;

  std::string branch;
  if (has_bare_layout(repository)) {
    if (!is_branch_name(base)) return refuse(repository, "has no branch \"" + base + "\"");
    branch = "refs/heads/" + base;
  }
  std::optional<Stamps> stamps;
  if (!branch.empty()) {
    stamps = stamps_of_branch(repository, branch);
  } else if (const auto stamp = stamp_of(file)) {
    stamps = Stamps{*stamp};
  }
  const bool is_known = known.reading && !known.failure && known.branch == branch && known.stamps &&
                        stamps && *known.stamps == *stamps;
  const bool is_missing_repository =
      stamps && branch.empty() && stamps->front() == Stamp{} && !has_target(repository);
  if (is_known && !is_missing_repository) return known.reading;
  // The branch didn't change since git failed a moment ago, so git would fail again.
  const bool is_known_failure = known.failure && !branch.empty() && known.branch == branch &&
                                known.stamps && stamps && *known.stamps == *stamps &&
                                now_ns - known.failed_ns < policy_failure_kept_ns &&
                                now_ns >= known.failed_ns;
  if (is_known_failure) return tl::unexpected(*known.failure);

  {
    const std::lock_guard lock(mutex_);
    ++reads_;
  }
  Stamps read_stamps = stamps.value_or(Stamps{});
  auto content = branch.empty() ? content_of_file(file, now_ns, read_stamps)
                                : content_of_branch(repository, branch);
  known.base = base;
  known.branch = branch;
  known.stamps.reset();
  known.failure.reset();
  if (!content) {
    if (stamps && is_settled(read_stamps, now_ns)) {
      known.stamps = read_stamps;
      known.failure = content.error();
      known.failed_ns = now_ns;
    }
    return tl::unexpected(content.error());
  }
  if (stamps && is_settled(read_stamps, now_ns)) known.stamps = read_stamps;

  if (!content->is_there) {
    known.reading = none_;
  } else if (!known.reading || !known.reading->is_there || known.reading->text != content->text) {
    auto reading = std::make_shared<PolicyReading>();
    reading->is_there = true;
    reading->text = std::move(content->text);
    reading->digest = sha256(reading->text);
    reading->policy = parse_policy_file(reading->text, &reading->warnings);
    known.reading = std::move(reading);
  }
  return known.reading;
}

std::size_t PolicyReader::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

PolicyReader::Known& PolicyReader::known_of(const fs::path& repository) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Known>& known = known_[repository.string()];
  if (!known) known = std::make_unique<Known>();
  return *known;
}

}  // namespace signalbox
