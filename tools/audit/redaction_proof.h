// The proof that a log still replays after a redaction: it is folded with the replacement of the
// record, read-only, before anything is written.
//
// A fold aborts the process at an event that doesn't apply (SIGNALBOX_CHECK). It therefore runs in
// a child process, whose message is reported. The child is forked before this process opens a log:
// RocksDB starts threads, and a child of a process with threads may wait for ever for a lock that
// one of them held at the fork.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "domain/event.h"
#include "store/file_descriptor.h"
#include "tools/cli/call_error.h"

namespace signalbox {

class RedactionProof {
 public:
  struct Settings {
    std::filesystem::path data;
    Position position = 0;
    std::vector<std::string> fields;  // none: all free text
    std::string reason;
  };

  // Forks the child, which waits for prove(). Call it while the process has a single thread.
  static Called<RedactionProof> start(const Settings& settings);
  RedactionProof(RedactionProof&& other) noexcept;
  RedactionProof& operator=(RedactionProof&&) = delete;
  ~RedactionProof();  // without prove(), the child ends without a fold

  // Has the child plan the redaction and fold the log as it would be after it. Returns the log's
  // tail. Fails with REDACTION_IMPOSSIBLE and the reason: an event that no longer applies, or an
  // invariant that no longer holds. Blocks until the fold has ended.
  Called<Position> prove() &&;

 private:
  RedactionProof(pid_t child, Position position, FileDescriptor go, FileDescriptor answer);
  // Returns the status of waitpid().
  int await_end();

  pid_t child_;
  Position position_;
  FileDescriptor go_;
  FileDescriptor answer_;
};

}  // namespace signalbox
