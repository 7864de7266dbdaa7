// What clients sent and what they were told: the record that the register is held against.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "domain/ids.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

struct SentCommand {
  std::string method;
  boost::json::object params;
  Token token = 0;                            // that the client showed, or 0
  std::optional<boost::json::object> result;  // the first one that tells of events
};

class CommandBook {
 public:
  explicit CommandBook(Environment& environment) : environment_(environment) {}

  void sent(const std::string& id, const std::string& method, const boost::json::object& params);
  [[nodiscard]] const SentCommand* find(const std::string& id) const;

  // A result leaves the server. True if it tells of events, which must be durable then.
  bool answered(const std::string& id, boost::json::object result);

  [[nodiscard]] std::size_t size() const { return commands_.size(); }
  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_; }

 private:
  Environment& environment_;
  std::map<std::string, SentCommand> commands_;
  std::size_t acknowledged_ = 0;
};

}  // namespace signalbox::simulation
