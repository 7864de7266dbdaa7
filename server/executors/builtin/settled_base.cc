#include "server/executors/builtin/settled_base.h"

#include <string_view>

#include "domain/limits.h"
#include "server/platform/atomic_file.h"
#include "server/text/separated_text.h"

namespace signalbox {

std::string read_settled(const BuiltinRequest& request, const std::string& name) {
  const auto text = read_regular_file(request.run_root / name, 4 * limits::name_bytes_max);
  if (!text) return {};
  std::string_view rest = *text;
  const std::string_view line = take_until(rest, '\n');
  const std::string_view run_id = take_until(rest, '\n');
  // Earlier versions didn't write whose it is: in the run's own root it is this run's.
  const bool is_own_root = request.run_root.filename() == request.run_id;
  const bool is_own = run_id.empty() ? is_own_root : run_id == request.run_id;
  return is_own ? std::string(line) : std::string();
}

Stored<void> write_settled(const BuiltinRequest& request, const std::string& name,
                           const std::string& line) {
  return write_file_atomically(request.run_root / name, line + "\n" + request.run_id + "\n");
}

}  // namespace signalbox
