// A server to whom something happens at the n-th system call of a kind on its write-ahead log.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/crash/server_process.h"

namespace signalbox::test {

// RocksDB numbers its files the same way in every new directory. "" if no server starts.
inline std::string first_wal_name() {
  static const std::string name = [] {
    const ScratchDirectory scratch;
    ServerProcess server(scratch.path() / "data");
    if (!server.start()) return std::string();
    for (const auto& file : std::filesystem::directory_iterator(server.data() / "log")) {
      if (file.path().extension() == ".log") return file.path().filename().string();
    }
    return std::string();
  }();
  return name;
}

// `what` is done to the n-th `call`: "error=EIO", "signal=KILL", … With `more` options of strace it
// is said there what is traced. As ServerProcess::launch_traced.
inline bool launch_with_wal_fault(ServerProcess& server, const std::string& call,
                                  const std::string& what, const std::string& when,
                                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> options{"-P", (server.data() / "log" / first_wal_name()).string(), "-e",
                                   "inject=" + call + ":" + what + ":when=" + when};
  options.insert(options.end(), more.begin(), more.end());
  if (more.empty()) options.insert(options.end(), {"-e", "trace=" + call});
  return server.launch_traced(options);
}

}  // namespace signalbox::test
