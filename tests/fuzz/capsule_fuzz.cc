// Capsules: a file that somebody sends. Nothing without the key's signature is accepted.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_target.h"
#include "tools/audit/capsule_replay.h"
#include "tools/audit/run_capsule.h"

namespace signalbox {

void fuzz_capsule(std::string_view input) {
  static const std::vector<NoteVerifier> trusted{NoteSigner::generate("log").verifier()};
  static const int file = memfd_create("capsule", MFD_CLOEXEC);
  SIGNALBOX_CHECK(ftruncate(file, 0) == 0);
  SIGNALBOX_CHECK(pwrite(file, input.data(), input.size(), 0) ==
                  static_cast<ssize_t>(input.size()));
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto ignore = [](const CapsuleArtifact&) -> Called<void> { return {}; };
  // What nobody vouches for is shown, too.
  if (const auto capsule = read_capsule(path, {}, ignore)) {
    static_cast<void>(capsule_run(*capsule, ""));
  }
  SIGNALBOX_CHECK(!read_capsule(path, trusted, ignore));
}

}  // namespace signalbox
