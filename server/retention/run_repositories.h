// The repositories in which ended runs have worked: <data>/removed/repositories. Their refs are
// looked at in each round, also long after the files of those runs went, and their records, until
// none are left. Both calls that touch the disk block on it. One thread at a time.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "store/store_error.h"

namespace signalbox {

struct StoredRepositories {
  std::string schema = "run_repositories.v1";
  std::vector<std::string> paths;
};
BOOST_DESCRIBE_STRUCT(StoredRepositories, (), (schema, paths))

class RunRepositories {
 public:
  explicit RunRepositories(std::filesystem::path data) : directory_(std::move(data) / "removed") {}

  // Reads what an earlier process stored, until that succeeded once. A file that isn't there counts
  // as empty. After an error nothing may be saved: the file says of runs that the log has dropped
  // where they worked, and nothing else does. Errors as read_stored_json().
  [[nodiscard]] Stored<void> load();
  // Adds a repository; an empty path is none.
  void add(const std::string& path);
  // Removes a repository in which no ref of a run is left: another run adds it again.
  void remove(const std::string& path);
  // Stores what was added and removed, durably; does nothing if that was done. Errors: `full` or
  // `io`.
  Stored<void> save();

  // Returns whether there are as many as can be stored: further ones aren't, or aren't known at
  // all.
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] std::filesystem::path file() const;

  [[nodiscard]] const std::set<std::string>& paths() const { return paths_; }

 private:
  std::filesystem::path directory_;
  std::set<std::string> paths_;
  std::size_t bytes_ = 0;  // of all paths
  bool is_loaded_ = false;
  bool is_saved_ = true;
};

}  // namespace signalbox
