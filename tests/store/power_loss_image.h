// What a power loss leaves of a disk: what was synced, and of the rest nothing or any part.
//
// The model is POSIX's, read strictly, with one promise more that every journaling file system of
// Linux keeps: of the creations, renames and removals in one directory, those that survive are the
// first ones. For the rest:
//   - a file's sync keeps its bytes and its length, not its name: that takes its directory's sync;
//     and a directory's takes that of the one above it;
//   - of unsynced writes any first part survives, torn at any byte, and pages within it may be
//     zeros (space was reserved, and a later page was written back before an earlier one);
//   - what a failed sync should have written may be there or not, whatever later syncs say: the
//     kernel forgets that it was still to be written; a truncation goes through the journal and
//     waits for the next;
//   - reserving space or starting to write back promises nothing.
// What is synced never changes: a disk that lies about that, or whose bits rot, is for the tests of
// damage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "tests/store/power_loss_disk.h"

namespace signalbox::test {

struct PowerLoss {
  enum class Leaves { the_synced, a_random_part, everything };
  Leaves leaves = Leaves::the_synced;
  std::uint64_t seed = 0;  // for a random part
};

// Makes `to` what is found after a power loss that came when these operations were done.
void write_power_loss_image(std::span<const DiskOperation> done, PowerLoss loss,
                            const std::filesystem::path& to);

}  // namespace signalbox::test
