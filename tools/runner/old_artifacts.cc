#include "tools/runner/old_artifacts.h"

#include <vector>

#include "domain/try.h"

namespace signalbox {

Stored<std::uint64_t> remove_old_artifacts(ArtifactStore& store, const std::set<Digest>& kept,
                                           std::int64_t before_ns) {
  std::uint64_t bytes = 0;
  for (int first = 0; first < 256; ++first) {
    const auto part = static_cast<std::uint8_t>(first);
    bytes += TRY(store.remove_unfinished(part, before_ns));
    std::vector<Digest> found;
    TRY(store.list(part, [&](const KeptBlob& blob) {
      if (!kept.contains(blob.sha256)) found.push_back(blob.sha256);
      return true;
    }));
    for (const Digest& each : found) bytes += TRY(store.remove_older(each, before_ns));
  }
  return bytes;
}

}  // namespace signalbox
