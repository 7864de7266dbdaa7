#include "server/platform/private_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "domain/try.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr mode_t rights_of_others = 0077;

// Levels of directories in a part whose modes are looked at: the walk has each level open. The
// service's own aren't as deep; what is deeper is a job's, and closed to others by those above it.
constexpr int levels_max = 32;

// A directory that the service keeps in its data directory.
struct Part {
  const char* name;
  // Few files, some of which earlier versions made with modes that the umask left. In the other
  // parts each file has always had its mode, unless the part as a whole was copied.
  bool is_small = false;
  // Returns true for a directory, below that of a job or a run, whose content is the job's.
  bool (*is_jobs_own)(const std::string& name) = nullptr;
};

constexpr Part parts[] = {
    {"log", true},
    {"projections", true},
    {"artifacts"},
    // Git and its filters write here as well, with modes of their own.
    {"workspaces", true},
    {"removed", true},
    {"jobs", false, [](const std::string& name) { return name == "artifacts"; }},
    {"runs", false,
     [](const std::string& name) { return name == "workspace" || name.starts_with("merge-"); }},
};

// Directories in a data directory whose modes are their makers': a runner's beside the service, and
// what a file system has at its top.
constexpr std::array<std::string_view, 3> other_parts = {"runner", "uploads", "lost+found"};

bool is_part(const std::string& name) {
  return std::any_of(std::begin(parts), std::end(parts),
                     [&name](const Part& part) { return name == part.name; }) ||
         std::find(other_parts.begin(), other_parts.end(), name) != other_parts.end();
}

// Returns whether it has, or may have, what only a data directory has.
bool is_data_directory(const fs::path& directory) {
  for (const char* const name : {"log/CURRENT", "anchor", "signalbox.toml"}) {
    struct stat status {};
    if (::lstat((directory / name).c_str(), &status) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR) return true;  // the opening of the log says what it is
  }
  return false;
}

// Returns the names of what is in it that the service doesn't make, sorted: with `any_kind` files
// as well, else directories only.
std::vector<std::string> foreign_names(const fs::path& directory, bool any_kind) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code unknown;
    std::string name = each->path().filename().string();
    const bool is_directory = each->symlink_status(unknown).type() == fs::file_type::directory;
    if ((is_directory || any_kind) && !is_part(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Tightening {
 public:
  // Returns false if nothing is there that could be changed.
  bool tighten(const fs::path& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || S_ISLNK(status.st_mode)) return false;
    if ((status.st_mode & rights_of_others) == 0 || status.st_uid != ::geteuid()) return true;
    const mode_t mode = status.st_mode & 07777 & ~rights_of_others;
    if (::fchmodat(AT_FDCWD, path.c_str(), mode, AT_SYMLINK_NOFOLLOW) == 0) {
      ++result_.tightened;
    } else if (errno != ENOENT && result_.error.empty()) {
      result_.error = system_error("change the mode of", path).message;
    }
    return true;
  }

  // The part's own directory is changed last, so that after a crash the next start continues.
  void tighten(const fs::path& data, const Part& part) {
    const fs::path directory = data / part.name;
    struct stat status {};
    if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
    if ((status.st_mode & rights_of_others) == 0 && !part.is_small) return;
    std::error_code error;
    fs::recursive_directory_iterator each(directory, fs::directory_options::skip_permission_denied,
                                          error);
    const fs::recursive_directory_iterator end;
    for (; !error && each != end; each.increment(error)) {
      tighten(each->path());
      const bool below_job = each.depth() == 1;
      if (each.depth() + 1 >= levels_max) each.disable_recursion_pending();
      if (part.is_jobs_own != nullptr && below_job &&
          part.is_jobs_own(each->path().filename().string())) {
        each.disable_recursion_pending();
      }
    }
    if (error && result_.error.empty()) {
      result_.error = "can't list " + directory.string() + ": " + error.message();
    }
    if (!error) tighten(directory);
  }

  void tighten_files(const fs::path& data) {
    std::error_code error;
    for (fs::directory_iterator each(data, error), end; !error && each != end;
         each.increment(error)) {
      std::error_code unknown;
      if (each->symlink_status(unknown).type() == fs::file_type::regular) tighten(each->path());
    }
  }

  [[nodiscard]] PrivateDirectory result() const { return result_; }

 private:
  PrivateDirectory result_;
};

}  // namespace

void keep_owner_bits() {
  const mode_t found = ::umask(rights_of_others);
  ::umask(found & rights_of_others);
}

Stored<void> make_data_directory(const std::filesystem::path& data) {
  TRY(make_directories(data));
  if (is_data_directory(data)) return {};
  struct stat status {};
  const bool is_known = ::stat(data.c_str(), &status) == 0;
  if (is_known && (status.st_mode & rights_of_others) == 0) return {};  // nobody is locked out
  const bool all_may_write = is_known && (status.st_mode & S_ISVTX) != 0;
  const std::vector<std::string> others = foreign_names(data, all_may_write);
  if (others.empty()) return {};
  const std::size_t more = others.size() - 1;
  return store_failure(
      StoreError::Kind::unsupported,
      data.string() + " is no data directory: it has no log, and others keep " + others.front() +
          (more > 0 ? " and " + std::to_string(more) + " more" : "") +
          " there, who couldn't open it any more. Name one that is empty or isn't there yet, "
          "such as " +
          (data / "signalbox").string(),
      data.string());
}

PrivateDirectory make_private(const std::filesystem::path& data) {
  Tightening tightening;
  // The data directory may be named by a link.
  std::error_code error;
  const fs::path directory = fs::canonical(data, error);
  if (error || !tightening.tighten(directory)) return tightening.result();
  tightening.tighten_files(directory);
  for (const Part& part : parts) tightening.tighten(directory, part);
  return tightening.result();
}

}  // namespace signalbox
