#include "server/executors/process/internal_command.h"

#include <string_view>
#include <vector>

#include "server/executors/builtin/builtin_station.h"
#include "server/executors/checks/checks_station.h"
#include "server/executors/coderunner/coderunner_station.h"
#include "server/executors/process/shim.h"

namespace signalbox {

std::optional<int> run_internal_command(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + (argc > 0 ? argc : 1));
  if (arguments.size() == 3 && arguments[0] == "shim" && arguments[1] == "--job-dir") {
    return run_shim(arguments[2]);
  }
  if (arguments.size() == 2 && arguments[0] == "builtin") return run_builtin(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "coderunner" && arguments[1] == "--job-dir") {
    return run_coderunner(arguments[2]);
  }
  if (arguments.size() == 3 && arguments[0] == "checks" && arguments[1] == "--job-dir") {
    return run_checks_station(arguments[2]);
  }
  return std::nullopt;
}

}  // namespace signalbox
