// Where artifacts are read and stored: beside other files, or in lanes of their own for a store of
// objects, which may hang.
#pragma once

#include <functional>
#include <string>

#include "domain/error.h"
#include "server/rpc/api.h"
#include "store/store_error.h"

namespace signalbox {

// Runs `work` on a thread that may block, and what it returns on the engine's thread. If the store
// of objects doesn't answer in time, or too much of `caller` waits for it, calls `refuse` there
// instead. Callers take turns at that store. `name` is the lane of work on files.
void run_artifact_work(const Api& api, const std::string& caller, const std::string& name,
                       std::function<void(const Rejection& why)> refuse, BlockingPool::Work work);

// Returns STORAGE_AWAY if the store of objects failed for now, STORAGE_FULL if the disk did,
// ARTIFACT_NOT_FOUND if it isn't there, and else STORAGE_DAMAGED, for an artifact that can't be
// read. One that isn't in the directory of a server of a cell was taken by another server.
Rejection unreadable_artifact(const Api& api, const std::string& name, const StoreError& error);
// Returns STORAGE_AWAY or STORAGE_FULL, for one that can't be stored.
Rejection unstored_artifact(const std::string& name, const StoreError& error);

}  // namespace signalbox
