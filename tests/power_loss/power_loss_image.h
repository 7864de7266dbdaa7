// Computes the files that a power loss leaves on a disk: everything that was synced, and nothing or
// any part of the rest.
//
// The model is POSIX, read strictly, with one more guarantee that every journaling file system of
// Linux gives: of the creations, renames and removals in one directory a prefix survives. Besides:
//   - the sync of a file makes its bytes and its length durable; its name needs the sync of its
//     directory, and the name of a directory the sync of its parent;
//   - of unsynced writes any prefix survives, torn at any byte, and pages within it may be
//     zeros (space was reserved, and a later page was written back before an earlier one);
//   - bytes whose sync failed may be on the disk or not, whatever later syncs return, because the
//     kernel forgets that they were still to be written; a truncation goes through the journal and
//     waits for the next sync;
//   - reserving space, or starting write-back, guarantees nothing.
// Synced bytes never change. Disks that lie about syncs, or whose bits rot, are for the tests of
// damage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "tests/power_loss/power_loss_disk.h"

namespace signalbox::test {

// The part of the unsynced operations that survives.
struct PowerLoss {
  enum class Leaves { the_synced, a_random_part, everything };
  Leaves leaves = Leaves::the_synced;
  std::uint64_t seed = 0;  // for a_random_part
};

// Replaces the directory `to` by the files that a power loss after the operations `done` leaves.
void write_power_loss_image(std::span<const DiskOperation> done, PowerLoss loss,
                            const std::filesystem::path& to);

}  // namespace signalbox::test
