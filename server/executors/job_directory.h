// The files of one job, <data>/jobs/<job id>/, and what they say about it.
//
//   spec.json    what to run; written before the shim starts
//   shim.lock    made by the shim that executes the job, locked while it lives: at most one ever is
//   cancel       somebody wants the job to end
//   paused       its run is paused: the job isn't ended for its time
//   stdout.log, stderr.log   bounded (bounded_log.h), each with a .length once it is long
//   artifacts/   what the job leaves
//   result.json  how it ended (shim_result.h); written last, atomically
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "server/executors/executor.h"
#include "store/store_error.h"

namespace signalbox {

struct JobDirectory {
  std::filesystem::path root;

  [[nodiscard]] std::filesystem::path spec() const { return root / "spec.json"; }
  [[nodiscard]] std::filesystem::path lock() const { return root / "shim.lock"; }
  [[nodiscard]] std::filesystem::path cancel() const { return root / "cancel"; }
  [[nodiscard]] std::filesystem::path paused() const { return root / "paused"; }
  [[nodiscard]] std::filesystem::path stdout_log() const { return root / "stdout.log"; }
  [[nodiscard]] std::filesystem::path stderr_log() const { return root / "stderr.log"; }
  [[nodiscard]] std::filesystem::path artifacts() const { return root / "artifacts"; }
  [[nodiscard]] std::filesystem::path result() const { return root / "result.json"; }

  // See executor.h. A directory without shim.lock is `absent`: nothing of the job ever ran.
  [[nodiscard]] Stored<JobState> state() const;
};

}  // namespace signalbox
