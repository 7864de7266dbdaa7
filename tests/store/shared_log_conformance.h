// The conformance suite of SharedLog, which every implementation passes: what its tests share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "store/shared_log.h"

namespace signalbox::test {

// A cell of its own in a shared log.
struct SharedLogUnderTest {
  virtual ~SharedLogUnderTest() = default;
  // Opens a connection with this deadline.
  virtual std::unique_ptr<SharedLog> open(std::chrono::milliseconds deadline) = 0;
  // Has writes wait without end from now on, or no longer.
  virtual void set_stuck(bool stuck) = 0;
};

struct SharedLogKind {
  const char* name;
  std::function<std::unique_ptr<SharedLogUnderTest>()> make;
};

// Shows a kind by its name, where googletest would show bytes.
inline void PrintTo(const SharedLogKind& kind, std::ostream* out) { *out << kind.name; }

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
