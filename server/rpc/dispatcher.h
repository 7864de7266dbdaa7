// Finds the method of a request and calls it. It routes and does nothing else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "server/access/principal.h"
#include "server/rpc/method.h"

namespace signalbox {

class Dispatcher {
 public:
  Dispatcher(Api& api, std::vector<Method> methods);

  // Handles one line from `peer`; the answer goes there, now or later. FORBIDDEN where the method
  // needs more than the principal's role.
  void handle(std::string_view line, const Principal& principal, const std::shared_ptr<Peer>& peer);
  // A line from somebody who isn't known, for the reason `why` (as Authentication gives it): it is
  // the answer, but to the one method that needs no role, server.authenticate.
  void handle_unknown(std::string_view line, const std::string& actor, const Rejection& why,
                      const std::shared_ptr<Peer>& peer);

  // From now on every request is answered with `why`.
  void refuse_all(Rejection why) { refusal_ = std::move(why); }

  // The table, by name.
  [[nodiscard]] const std::vector<Method>& methods() const { return methods_; }

 private:
  void route(std::string_view line, const std::string& actor, std::optional<Role> role,
             const Rejection* why, const std::shared_ptr<Peer>& peer);

  Api& api_;
  std::optional<Rejection> refusal_;
  const std::vector<Method> methods_;
  boost::unordered_flat_map<std::string_view, const Method*> by_name_;
};

}  // namespace signalbox
