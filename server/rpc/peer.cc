#include "server/rpc/peer.h"

#include <boost/json/serialize.hpp>

namespace signalbox {

void Peer::notify(std::string_view method, const boost::json::object& params, bool) {
  std::string line = R"({"jsonrpc":"2.0","method":")";
  line += method;
  line += R"(","params":)";
  line += boost::json::serialize(params);
  line += '}';
  deliver(std::move(line));
}

}  // namespace signalbox
