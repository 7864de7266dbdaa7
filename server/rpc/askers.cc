#include "server/rpc/askers.h"

#include <algorithm>
#include <utility>

namespace signalbox {

Unwanted Askers::add(const std::shared_ptr<Peer>& peer) {
  auto gone = std::make_shared<std::atomic<bool>>(given_up_);
  askers_.push_back({peer, gone});
  note_gone();
  return gone;
}

void Askers::note_gone() {
  std::erase_if(askers_, [](const Asker& asker) {
    return asker.gone.use_count() == 1;  // the work is done
  });
  drop_gone(/*counts_end_of_output=*/false);
  if (!gives_up_doubtful_) return;
  const bool anybody_waits = std::ranges::any_of(askers_, [](const Asker& asker) {
    const auto peer = asker.peer.lock();
    return peer && !peer->has_gone(/*counts_end_of_output=*/true);
  });
  if (anybody_waits) drop_gone(/*counts_end_of_output=*/true);
}

void Askers::drop_gone(bool counts_end_of_output) {
  std::erase_if(askers_, [counts_end_of_output](const Asker& asker) {
    const auto peer = asker.peer.lock();
    if (peer && !peer->has_gone(counts_end_of_output)) return false;
    *asker.gone = true;
    return true;
  });
}

void Askers::give_up() {
  given_up_ = true;
  for (const Asker& asker : std::exchange(askers_, {})) *asker.gone = true;
}

}  // namespace signalbox
