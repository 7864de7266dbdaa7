// Starts a server with a fault injected at the n-th system call of a kind on one of its write-ahead
// logs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/crash/server_process.h"

namespace signalbox::test {

// Returns the name of the first write-ahead log; "" if no server starts. RocksDB numbers files the
// same way in every new directory.
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

// Returns the first write-ahead log of a database: "log" or "projections/read_models".
inline std::filesystem::path first_wal(const ServerProcess& server, const char* database = "log") {
  return server.data() / database / first_wal_name();
}

// Starts the server so that `what` ("error=EIO", "signal=KILL", …) is injected at the calls `when`
// (as in strace's inject expression) of `call` on the file `wal`. If `more` strace options are
// given, they must include what to trace. Result as of ServerProcess::launch_traced().
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
