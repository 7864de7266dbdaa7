#include "server/followers/run_root/render_lock.h"

#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"

namespace signalbox {

std::string lock_file_text(const MirroredLock& lock) {
  boost::json::object object;
  object["schema_version"] = "lock.v1";
  object["key"] = lock.key;
  object["owner"] = lock.owner;
  object["token"] = lock.token;
  object["lease_ms"] = lock.lease_ms;
  object["acquired_at"] = format_time(lock.acquired_at_ns);
  object["expires_at"] = format_time(lock.expires_at_ns);
  object["reason"] = lock.reason;
  return boost::json::serialize(object) + "\n";
}

}  // namespace signalbox
