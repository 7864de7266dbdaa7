// Askers: the connections that wait for results that take long. Once a connection has closed, the
// work that it asked for is ended, and its place given to others.
//
// Called on the engine's thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "server/platform/blocking_pool.h"
#include "server/rpc/peer.h"

namespace signalbox {

class Askers {
 public:
  // Over TCP, somebody who has ended the connection's output can't be told from one who has closed
  // it, and may still read. `gives_up_doubtful` says whether the work of those is ended while
  // somebody waits who is there in any case.
  explicit Askers(bool gives_up_doubtful) : gives_up_doubtful_(gives_up_doubtful) {}

  // Returns a flag that is set by the calls below once the peer has gone. The work that it is for
  // keeps it until it is done.
  Unwanted add(const std::shared_ptr<Peer>& peer);
  // Sets the flags of those who have gone.
  void note_gone();
  // Sets all flags, whoever waits, and those of all who ask from now on.
  void give_up();

 private:
  struct Asker {
    std::weak_ptr<Peer> peer;
    std::shared_ptr<std::atomic<bool>> gone;
  };

  void drop_gone(bool counts_end_of_output);

  const bool gives_up_doubtful_;
  bool given_up_ = false;
  std::vector<Asker> askers_;
};

}  // namespace signalbox
