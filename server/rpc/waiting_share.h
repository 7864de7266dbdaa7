// The share of a queue of waiting requests that one sender may take, so that nobody keeps all
// others from waiting.
#pragma once

#include <cstddef>
#include <cstdint>

#include "domain/error.h"
#include "server/engine/engine.h"
#include "server/limits.h"

namespace signalbox {

// OVERLOADED if the sender of one more request has its share of a queue of `size` requests.
// `count_own` returns how many of these are the sender's; it is called only where that may matter.
template <class CountOwn>
Decided<void> require_share(std::size_t size, const Origin& origin, const CountOwn& count_own) {
  const bool is_job = origin.job_token != 0;
  const std::size_t own_max = is_job ? waiting_of_job_max : waiting_of_sender_max;
  if (size < own_max || count_own() < own_max) return {};
  return reject(ErrorCode::OVERLOADED, "too many of your requests wait already; end some first",
                {{is_job ? "waiting_of_job_max" : "waiting_of_sender_max",
                  static_cast<std::int64_t>(own_max)}},
                {"signalbox status"});
}

// The same for a queue of requests that have an `origin`.
template <class Queue>
Decided<void> require_share_of(const Queue& waiting, const Origin& origin) {
  return require_share(waiting.size(), origin, [&] {
    std::size_t own = 0;
    for (const auto& each : waiting) own += each.origin.actor == origin.actor ? 1 : 0;
    return own;
  });
}

}  // namespace signalbox
