// The marker files of ticks, in run roots: they follow from durable events, a moment later, and so
// a crash may come in between. A start sets them right.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "domain/command.h"
#include "domain/world.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class RunRoots {
 public:
  explicit RunRoots(Environment& environment) : environment_(environment) {}

  void follow(const Record& record, Owner owner);
  // At a start: the world tells which markers there are.
  void reconcile(const World& world);
  [[nodiscard]] FoundMarker read(const std::string& loop) const;
  // T2: a marker for each tick without an end, and no other. Only while nothing is being written.
  void examine(const World& world) const;

 private:
  void set(const std::string& loop, Token token, Owner owner);  // 0: remove it

  Environment& environment_;
  std::map<std::string, Token> markers_;  // by loop
  Owner writer_ = outside;                // whose writes are under way
  int writes_ = 0;
};

}  // namespace signalbox::simulation
