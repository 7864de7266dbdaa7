#include "server/rpc/askers.h"

#include <utility>

namespace signalbox {

Unwanted Askers::add(const std::shared_ptr<Peer>& peer) {
  note_gone();
  auto gone = std::make_shared<std::atomic<bool>>(given_up_);
  askers_.push_back({peer, gone});
  return gone;
}

void Askers::note_gone() {
  std::erase_if(askers_, [this](const Asker& asker) {
    if (asker.gone.use_count() == 1) return true;  // the work is done
    const auto peer = asker.peer.lock();
    if (peer && !peer->has_gone(counts_end_of_output_)) return false;
    *asker.gone = true;
    return true;
  });
}

void Askers::give_up() {
  given_up_ = true;
  for (const Asker& asker : std::exchange(askers_, {})) *asker.gone = true;
}

}  // namespace signalbox
