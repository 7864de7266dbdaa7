#include "server/rpc/peer.h"

#include <boost/json/serialize.hpp>

#include "server/rpc/shown_record.h"

namespace signalbox {

void Peer::notify(std::string_view method, const boost::json::object& params, bool) {
  std::string line = R"({"jsonrpc":"2.0","method":")";
  line += method;
  line += R"(","params":)";
  line += boost::json::serialize(params);
  line += '}';
  deliver(std::move(line));
}

void Peer::notify_record(const RecordNotice& notice) {
  std::string line = R"({"jsonrpc":"2.0","method":"event","params":)";
  notice.record.append_params(line, {.hides_tokens = notice.hides_tokens}, notice.subscription);
  line += '}';
  deliver(std::move(line));
}

}  // namespace signalbox
