// An HTTP response before it is serialized: routes and problems produce it, HttpSession sends it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace signalbox {

struct HttpAnswer {
  unsigned status = 200;
  std::string media_type;  // empty: no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool close = false;    // close the connection after the response
  bool endless = false;  // no Content-Length: the body ends when the connection closes
};

}  // namespace signalbox
