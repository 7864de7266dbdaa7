#include "server/rpc/artifact_work.h"

#include <utility>

#include "server/limits.h"
#include "server/platform/artifact_store.h"

namespace signalbox {
namespace {

Rejection store_is_late() {
  return {ErrorCode::STORAGE_AWAY,
          "the store of artifacts doesn't answer, or too many of your requests wait for it: try "
          "again soon",
          {{"artifact_store_answer_ms_max", limits::artifact_store_answer_ms_max}},
          {"signalbox status"}};
}

Rejection store_is_away(const std::string& name, const StoreError& error) {
  return {ErrorCode::STORAGE_AWAY,
          "the store of artifacts can't be used: " + error.message,
          {{"artifact", name}},
          {"signalbox status"}};
}

Rejection kept_elsewhere(const std::string& name) {
  return {
      ErrorCode::ARTIFACT_NOT_FOUND,
      "the artifact isn't at this server: the one that took it for the cell has it in its own "
      "directory. Ask that one, and keep artifacts in a store of objects, which all servers use",
      {{"artifact", name}},
      {"signalbox cell status"}};
}

Rejection is_missing(const std::string& name, const StoreError& error) {
  return {ErrorCode::ARTIFACT_NOT_FOUND,
          "the log has the artifact, and its content isn't where artifacts are kept: bring it from "
          "a backup: " +
              error.message,
          {{"artifact", name}, {"path", error.file}},
          {}};
}

}  // namespace

void run_artifact_work(const Api& api, const std::string& caller, const std::string& name,
                       std::function<void(const Rejection& why)> refuse, BlockingPool::Work work) {
  if (!api.artifact_store) return api.blocking.run({.name = name}, std::move(work));
  Lane lane{.name = "store of artifacts for " + caller,
            .deadline_ms = limits::artifact_store_answer_ms_max};
  lane.failed = [refuse = std::move(refuse)](LaneFailure) { refuse(store_is_late()); };
  api.artifact_store->run(std::move(lane), std::move(work));
}

Rejection unreadable_artifact(const Api& api, const std::string& name, const StoreError& error) {
  if (is_store_away(error)) return store_is_away(name, error);
  if (error.kind == StoreError::Kind::full) return unstored_artifact(name, error);
  const bool is_of_a_cell = api.refuses_commands && !api.artifact_store;
  if (error.kind == StoreError::Kind::not_found) {
    return is_of_a_cell ? kept_elsewhere(name) : is_missing(name, error);
  }
  return {ErrorCode::STORAGE_DAMAGED,
          error.message,
          {{"artifact", name}, {"path", error.file}},
          {"signalbox replay --verify"}};
}

Rejection unstored_artifact(const std::string& name, const StoreError& error) {
  if (is_store_away(error)) return store_is_away(name, error);
  return {ErrorCode::STORAGE_FULL,
          "the artifact could not be stored: " + error.message,
          {{"artifact", name}, {"path", error.file}},
          {"df -h", "signalbox status"}};
}

}  // namespace signalbox
