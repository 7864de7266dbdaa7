// The functions that libFuzzer calls: https://llvm.org/docs/LibFuzzer.html. All targets are one
// program, since linking a program takes longer than compiling its target. It fuzzes the target of
// the name under which it was started: libFuzzer starts other processes under the same name, and
// lets no argument be taken away.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"

namespace signalbox {
namespace {

struct FuzzTarget {
  std::string_view program;
  void (*fuzz)(std::string_view input);
};

constexpr std::array fuzz_targets{
    FuzzTarget{"fuzz_capsule", fuzz_capsule},   FuzzTarget{"fuzz_frame", fuzz_frame},
    FuzzTarget{"fuzz_horizon", fuzz_horizon},   FuzzTarget{"fuzz_http", fuzz_http},
    FuzzTarget{"fuzz_json", fuzz_json},         FuzzTarget{"fuzz_note", fuzz_note},
    FuzzTarget{"fuzz_payload", fuzz_payload},   FuzzTarget{"fuzz_pipeline", fuzz_pipeline},
    FuzzTarget{"fuzz_policy", fuzz_policy},     FuzzTarget{"fuzz_request", fuzz_request},
    FuzzTarget{"fuzz_run_root", fuzz_run_root}, FuzzTarget{"fuzz_s3_answer", fuzz_s3_answer},
    FuzzTarget{"fuzz_schedule", fuzz_schedule}, FuzzTarget{"fuzz_transcript", fuzz_transcript},
    FuzzTarget{"fuzz_world", fuzz_world},
};

void (*fuzz_one_input)(std::string_view input) = nullptr;

}  // namespace
}  // namespace signalbox

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  const std::string_view path = (*argv)[0];
  const std::string_view program = path.substr(path.rfind('/') + 1);
  for (const signalbox::FuzzTarget& target : signalbox::fuzz_targets) {
    if (target.program == program) signalbox::fuzz_one_input = target.fuzz;
  }
  if (signalbox::fuzz_one_input != nullptr) return 0;
  std::fprintf(stderr,
               "Start this program by the name of one of its targets, which are links to it:\n");
  for (const signalbox::FuzzTarget& target : signalbox::fuzz_targets) {
    std::fprintf(stderr, "  %s\n", target.program.data());
  }
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  signalbox::fuzz_one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
