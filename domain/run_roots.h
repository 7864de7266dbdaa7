// An index of the run roots that open runs name, by place.
//
// It is derived from the runs, so that a start doesn't look at each of them. Two runs of an older
// log may have the same root. check_invariants() compares it with the runs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "domain/error.h"
#include "domain/ids.h"
#include "domain/run.h"

namespace signalbox {

struct World;

class RunRoots {
 public:
  // Add and remove an open run. One that names no root has a directory of its own, and isn't kept.
  void insert(const Run& run);
  void erase(const Run& run);

  // Returns an open run whose root is the place `run_root`, lies in it, or has it inside; nullopt
  // if there is none, or if `run_root` is empty. Paths are compared as they are written, in their
  // normal form: links aren't followed.
  [[nodiscard]] std::optional<RunId> overlapping(const std::string& run_root) const;

  friend bool operator==(const RunRoots&, const RunRoots&) = default;

 private:
  std::set<std::pair<std::string, RunId>> runs_;  // by normal path, which ends with '/'
};

// RUN_ROOT_TAKEN if the root, of a run that is to be open, is that of an open run, lies in it, or
// has it inside: they would write the same files, and work in each other's workspace.
Decided<void> require_free_root(const World& world, const std::string& run_root);

}  // namespace signalbox
