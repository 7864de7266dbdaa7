// Tests which job a process is taken for.
#include "server/executors/process/job_processes.h"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/eventually.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/scenarios/child_process.h"

namespace signalbox {
namespace {

// A line of shells, each the child of the one before it, with a process that sleeps at its end.
class LineOfProcesses {
 public:
  explicit LineOfProcesses(int length) {
    const std::filesystem::path script = directory_.path() / "line.sh";
    std::ofstream(script) << R"(
if [ "$1" -gt 0 ]; then
  sh "$0" $(($1 - 1)) "$2"
else
  echo $$ > "$2.new" && mv "$2.new" "$2"
  exec sleep 600
fi
exit 0
)";
    first_ = spawn_process({"sh", script, std::to_string(length), pid_file()},
                           directory_.path() / "out", directory_.path() / "err");
    EXPECT_TRUE(eventually([this] { return std::filesystem::exists(pid_file()); }));
    std::ifstream(pid_file()) >> last_;
  }
  LineOfProcesses(const LineOfProcesses&) = delete;
  LineOfProcesses& operator=(const LineOfProcesses&) = delete;
  // Ends the last process, and with it all the others.
  ~LineOfProcesses() {
    ::kill(last_ > 0 ? last_ : first_, SIGKILL);
    ::waitpid(first_, nullptr, 0);
  }
  [[nodiscard]] pid_t last() const { return last_; }

 private:
  [[nodiscard]] std::string pid_file() const { return (directory_.path() / "pid").string(); }

  const TemporaryDirectory directory_;
  pid_t first_ = -1;
  pid_t last_ = -1;
};

ProcessJob job_of_end(const LineOfProcesses& line) {
  const TemporaryDirectory jobs;
  return job_of_process(line.last(), jobs.path(),
                        [](std::string_view) { return std::optional<std::string>(); });
}

// A job decides how many parents its processes have, and the engine's thread looks at them.
TEST(JobProcesses, ALineOfParentsIsFollowedSoFarAndNoFurther) {  // G6, G10
  const ProcessJob found = job_of_end(LineOfProcesses(10));
  EXPECT_FALSE(found.process_is_gone);
  EXPECT_FALSE(found.job_id);
  EXPECT_TRUE(job_of_end(LineOfProcesses(200)).process_is_gone) << "nobody can say";
}

}  // namespace
}  // namespace signalbox
