// The function that libFuzzer calls: https://llvm.org/docs/LibFuzzer.html
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  signalbox::fuzz_one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
