// The repositories in which ended runs have worked: <data>/removed/repositories. Their refs are
// looked at in each round, also long after the files of those runs went, and their records. Both
// calls that touch the disk block on it. One thread at a time.
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

  // Reads what an earlier process stored, at the first call. A file that is damaged counts as
  // empty: the repositories of other runs are found again.
  void load();
  // Adds a repository; an empty path is none.
  void add(const std::string& path);
  // Stores what was added, durably; does nothing if that was done. Errors: `full` or `io`.
  Stored<void> save();

  [[nodiscard]] const std::set<std::string>& paths() const { return paths_; }

 private:
  std::filesystem::path directory_;
  std::set<std::string> paths_;
  bool is_loaded_ = false;
  bool is_saved_ = true;
};

}  // namespace signalbox
