// The frozen list of a bulk action: the runs that it applies to, in a file of the user's, so that
// an action that was interrupted goes on with the same runs and not with those that match by then.
//
// The files are in signalbox-batches/ in the user's state directory, one for each batch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// A batch can be gone on with for so long; then it is removed.
inline constexpr std::int64_t batch_ms_max = 24LL * 60 * 60 * 1000;

struct RunBatch {
  std::string id;
  std::string command;  // the action and what selected the runs, as text
  std::int64_t made_at_ns = 0;
  bool shown_only = false;  // by --dry-run: it is applied where its id is named
  bool finished = false;    // each run was tried
  boost::json::array runs;  // {run_id, status, goal, last_position}
  bool goes_on = false;     // not stored: it was found, not made

  // Returns the id of the command for one run. A later batch may have the same name, so the time of
  // the list is part of it.
  [[nodiscard]] std::string command_id(const std::string& run_id) const;
};

// Returns the id of a batch that the user doesn't name.
std::string new_batch_id(std::int64_t now_ns);

// Returns whether new_batch_id() may have given this id: then the batch was made, and where its
// list isn't found it was removed.
bool is_new_batch_id(std::string_view id);

class RunBatches {
 public:
  // Takes the place of the files: $XDG_STATE_HOME, else ~/.local/state. Fails with IO_FAILED if it
  // can't be made, or if others could put lists there.
  static Called<RunBatches> open();

  // Returns the batch of this id or, without one, the newest batch of `command` that was begun and
  // isn't finished; nullopt if there is none. USAGE if the batch is of another command. Removes
  // batches that are too old; names those that can't be read on stderr, and fails with IO_FAILED if
  // the batch of this id can't. Blocks on the disk.
  [[nodiscard]] Called<std::optional<RunBatch>> find(const std::optional<std::string>& id,
                                                     const std::string& command,
                                                     std::int64_t now_ns) const;
  // Stores the batch, durably. Fails with IO_FAILED.
  [[nodiscard]] Called<void> write(const RunBatch& batch) const;

 private:
  explicit RunBatches(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::filesystem::path directory_;
};

}  // namespace signalbox
