// A server to whom something happens at the n-th system call of a kind on a write-ahead log of its.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/crash/server_process.h"

namespace signalbox::test {

// RocksDB numbers its files the same way in every new directory. "" if no server starts.
inline std::string first_wal_name() {
  static const std::string name = [] {
    const TemporaryDirectory scratch;
    ServerProcess server(scratch.path() / "data");
    if (!server.start()) return std::string();
    for (const auto& file : std::filesystem::directory_iterator(server.data() / "log")) {
      if (file.path().extension() == ".log") return file.path().filename().string();
    }
    return std::string();
  }();
  return name;
}

// The first write-ahead log of one of its databases: "log", "projections/read_models".
inline std::filesystem::path first_wal(const ServerProcess& server, const char* database = "log") {
  return server.data() / database / first_wal_name();
}

// `what` is done to the n-th `call` on the file `wal`: "error=EIO", "signal=KILL", … With `more`
// options of strace it is said there what is traced. As ServerProcess::launch_traced.
inline bool launch_with_wal_fault(ServerProcess& server, const std::filesystem::path& wal,
                                  const std::string& call, const std::string& what,
                                  const std::string& when,
                                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> options{"-P", wal.string(), "-e",
                                   "inject=" + call + ":" + what + ":when=" + when};
  options.insert(options.end(), more.begin(), more.end());
  if (more.empty()) options.insert(options.end(), {"-e", "trace=" + call});
  return server.launch_traced(options);
}

}  // namespace signalbox::test
