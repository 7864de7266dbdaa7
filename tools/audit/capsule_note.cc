#include "tools/audit/capsule_note.h"

#include "store/base64.h"

namespace signalbox {

std::string capsule_note_text(const TreeHead& head, const RunId& run_id, std::uint64_t records,
                              const Digest& lines) {
  const auto base64 = [](const Digest& digest) {
    return to_base64({reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()});
  };
  return "signalbox run capsule 1\norigin " + head.origin + "\nrun " + to_string(run_id) +
         "\nsize " + std::to_string(head.size) + "\nroot " + base64(head.root) + "\nrecords " +
         std::to_string(records) + "\nlines " + base64(lines) + "\n";
}

}  // namespace signalbox
