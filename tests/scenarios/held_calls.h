// Delays, fails or kills a server that runs at some of its system calls, through strace.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include "tests/eventually.h"
#include "tests/scenarios/child_process.h"

namespace signalbox {

// Returns a value of a status file in /proc, such as "Z (zombie)"; "" without the file.
inline std::string field_of(const std::filesystem::path& status, const std::string& name) {
  std::ifstream file(status);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return line.substr(std::min(line.size(), name.size() + 1));
  }
  return "";
}

// Does to the server, at each of these system calls ("fdatasync,fsync"), what strace's `inject`
// says ("delay_enter=60000000"). Returns the pid of the tracer once it has all threads; those that
// begin later are traced from their beginning. The tracer's output is appended to files in
// `directory`.
inline pid_t hold_calls(pid_t server, const std::string& calls, const std::string& how,
                        const std::filesystem::path& directory) {
  const std::string process = std::to_string(server);
  const pid_t tracer = spawn_process({"strace", "-f", "-qq", "-o", "/dev/null", "-p", process, "-e",
                                      "trace=" + calls, "-e", "inject=" + calls + ":" + how},
                                     directory / "strace.out", directory / "strace.err");
  EXPECT_TRUE(eventually([&] {
    std::error_code ended;
    for (const auto& thread :
         std::filesystem::directory_iterator("/proc/" + process + "/task", ended)) {
      if (field_of(thread.path() / "status", "TracerPid:") == "0") return false;
    }
    return true;
  }));
  return tracer;
}

}  // namespace signalbox
