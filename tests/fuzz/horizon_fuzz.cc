// The horizon that a retention leaves.
#include "store/horizon.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_horizon(std::string_view input) {
  const auto horizon = decode_horizon(input);
  if (horizon) SIGNALBOX_CHECK(decode_horizon(encode_horizon(*horizon)) == *horizon);
}

}  // namespace signalbox
