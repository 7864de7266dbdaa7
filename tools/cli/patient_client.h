// A client that repeats a call until the server answers it, over any number of restarts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "tools/cli/client.h"

namespace signalbox {

class PatientClient {
 public:
  explicit PatientClient(ServerAddress server) : server_(std::move(server)) {}

  // Returns the result, or the error that the server refused it with. Blocks and repeats the call
  // until there is an answer, without limit. A mutating method needs a `command_id` in its params,
  // so that repeating it has one effect.
  Called<boost::json::object> call(std::string_view method, const boost::json::object& params);

 private:
  ServerAddress server_;
  std::optional<Client> client_;
};

}  // namespace signalbox
