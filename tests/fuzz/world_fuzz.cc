// Snapshots and bases: the encoded world.
#include "projections/world_codec.h"
#include "projections/world_digest.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_world(std::string_view input) {
  const auto world = decode_world(input);
  if (!world) return;
  const auto again = decode_world(encode_world(*world));
  SIGNALBOX_CHECK(again && world_digest(*again) == world_digest(*world));
}

}  // namespace signalbox
