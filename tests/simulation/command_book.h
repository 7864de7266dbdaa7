// Records what clients sent and what they were answered. The audits compare the register with it.
#pragma once

#include <cstddef>
#include <functional>
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
  Token token = 0;                            // the token that the client showed, or 0
  std::optional<boost::json::object> result;  // the first result that acknowledges events
  bool has_id = true;                         // its records name the id
};

// Returns whether the result of a command acknowledges events.
[[nodiscard]] bool reports_events(const std::string& method, const boost::json::object& result);

class CommandBook {
 public:
  explicit CommandBook(Environment& environment) : environment_(environment) {}

  // Records a request, with a command id or without one. Repetitions of `id` change nothing.
  void sent(const std::string& id, const std::string& method, const boost::json::object& params,
            bool has_id = true);
  // Returns the request, or nullptr if nobody sent it.
  [[nodiscard]] const SentCommand* find(const std::string& id) const;
  // Returns whether somebody sent a request of which `is_it` is true. Looks at all of them.
  [[nodiscard]] bool any_sent(const std::function<bool(const SentCommand&)>& is_it) const;

  // Records a result that leaves the server. Returns true if it acknowledges events, which must
  // then be durable.
  bool answered(const std::string& id, boost::json::object result);

  [[nodiscard]] std::size_t size() const { return commands_.size(); }
  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_; }

 private:
  // Returns whether a repeated command is answered as at first.
  [[nodiscard]] bool repeats(const boost::json::object& first,
                             const boost::json::object& result) const;

  Environment& environment_;
  std::map<std::string, SentCommand> commands_;
  std::size_t acknowledged_ = 0;
};

}  // namespace signalbox::simulation
