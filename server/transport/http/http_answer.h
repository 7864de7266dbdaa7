// An answer before it is written: what routes and problems make, and the session sends.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace signalbox {

struct HttpAnswer {
  unsigned status = 200;
  std::string media_type;  // empty: there is no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool close = false;    // the connection, after it
  bool endless = false;  // the body ends where the connection does
};

}  // namespace signalbox
