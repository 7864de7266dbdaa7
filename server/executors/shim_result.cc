#include "server/executors/shim_result.h"

#include "server/platform/stored_json.h"

namespace signalbox {

Stored<void> write_shim_result(const std::filesystem::path& path, const ShimResult& result) {
  return write_stored_json(path, result);
}

Stored<ShimResult> read_shim_result(const std::filesystem::path& path) {
  return read_stored_json<ShimResult>(path);
}

}  // namespace signalbox
