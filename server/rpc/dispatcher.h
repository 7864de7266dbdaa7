// Finds the method of a request and calls it. It routes and does nothing else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "server/rpc/method.h"

namespace signalbox {

class Dispatcher {
 public:
  explicit Dispatcher(Api& api);

  // Handles one line from `peer`; the answer goes there, now or later.
  void handle(std::string_view line, const std::string& actor, const std::shared_ptr<Peer>& peer);

  // From now on every request is answered with `why`.
  void refuse_all(Rejection why) { refusal_ = std::move(why); }

  // The table, by name.
  [[nodiscard]] const std::vector<Method>& methods() const { return methods_; }

 private:
  Api& api_;
  std::optional<Rejection> refusal_;
  std::vector<Method> methods_;
  boost::unordered_flat_map<std::string_view, const Method*> by_name_;
};

}  // namespace signalbox
