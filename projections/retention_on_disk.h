// What a retention needs of the disk: room for its read models, and for what it stores.
#pragma once

#include <filesystem>
#include <functional>

#include "projections/retention_plan.h"

namespace signalbox {

// Where a plan has its tables: of a retention, of one that is only tried out, and of a drop that
// the cell has recorded.
enum class PlanScratch { retention, dry_run, followed_drop };
[[nodiscard]] std::filesystem::path scratch_of(const std::filesystem::path& data,
                                               PlanScratch scratch);

// Returns what `plan` does, which gets an empty table in `scratch`, since its read models may
// exceed memory. The directory is removed before and after. Errors as those of the plan, and of the
// disk.
Stored<RetentionPlan> plan_on_disk(const std::filesystem::path& scratch,
                                   const std::function<Stored<RetentionPlan>(Table&)>& plan);

// Removes the tables that killed plans have left: they have texts of the log, which may be redacted
// since. The command line may try out a retention meanwhile, which removes its own. Not together
// with other plans. Fails with `io`.
Stored<void> remove_left_plans(const std::filesystem::path& data);

// Returns how many bytes a drop writes into the log at most: the base, and the hashes of what is
// dropped (leaf_groups.h).
std::uintmax_t drop_bytes(const HistoryDrop& drop);

// Fails with `full` unless the disk of the data directory has space for what the drop writes, which
// is in the write-ahead log first, and for what the service itself writes meanwhile: a retention
// must not fill the disk of the log.
Stored<void> require_drop_space(const std::filesystem::path& data, const HistoryDrop& drop);

}  // namespace signalbox
