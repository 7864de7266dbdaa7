// What a simulated server tells whoever judges it. It decides nothing by this.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "domain/world.h"
#include "store/event_log.h"

namespace signalbox::simulation {

class Witness {
 public:
  virtual ~Witness() = default;
  // Records are decided and applied, but not durable yet.
  virtual void applied(const World& world, std::span<const Record> records) = 0;
  // The log has everything up to its tail durably.
  virtual void durable(const EventLog& log) = 0;
  // The lease of a token was renewed without a record.
  virtual void renewed(Token token) = 0;
  // A request is handled now, on a connection that has shown `token`.
  virtual void handled(const std::string& id, const std::optional<Uuid>& token) = 0;
  // The disk is full: what wasn't durable is dropped.
  virtual void rolled_back() = 0;
  // There is space again, and the server has set all deadlines anew.
  virtual void has_space() = 0;
};

}  // namespace signalbox::simulation
