// A client that waits for the server: whoever calls gets an answer, however often the server
// restarts meanwhile.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "tools/cli/client.h"

namespace signalbox {

class PatientClient {
 public:
  explicit PatientClient(std::filesystem::path socket) : socket_(std::move(socket)) {}

  // The result, or what the server refused it with. Where there is no answer it is asked again,
  // for ever: a mutating method needs a `command_id` in its params, so that it has one effect.
  Called<boost::json::object> call(std::string_view method, const boost::json::object& params);

 private:
  std::filesystem::path socket_;
  std::optional<Client> client_;
};

}  // namespace signalbox
