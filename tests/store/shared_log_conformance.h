// What tests give to a shared log: links of a chain, and beats.
#pragma once

#include <chrono>
#include <string>

#include "store/shared_log.h"

namespace signalbox::test {

// Longer than anything takes that is to succeed.
inline constexpr std::chrono::milliseconds patient_deadline{60'000};

// Returns the link that a cell begins with, whose log has this tail.
inline ChainLink first_link(Position last = 0) {
  ChainLink link;
  link.last = last;
  link.head = "the first head";
  return link;
}

// Returns the link of a writer with this epoch after `before`, with any bytes.
inline ChainLink link_after(const ChainLink& before, std::uint64_t epoch, Position events = 3) {
  ChainLink link;
  link.epoch = epoch;
  link.epoch_before = before.epoch;
  link.before = before.prev;
  link.prev = before.last;
  link.last = before.last + events;
  link.head = std::string("head\0after ", 11) + std::to_string(link.last);
  append_link_entry(std::string("\0\xff'\\ by epoch ", 14) + std::to_string(epoch), link.bytes);
  return link;
}

// Returns a beat that says nothing else.
inline Beat beat_of(std::uint64_t epoch, std::uint64_t beat) {
  return {epoch, beat, 0, 0, false, ""};
}

}  // namespace signalbox::test
