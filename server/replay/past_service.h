// The service as it was at a position of its log: every query of the socket interface, answered by
// the very methods that answer it today, on the state that was folded up to there.
//
// Nothing is written, on the directory of a running server neither. Clocks stand still at the
// moment of the position's record; leases have their full length, as after a start just then.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "store/store_error.h"

namespace signalbox {

class EventLog;

class PastService {
 public:
  // `at` is at most the log's tail, and not 0. The newest snapshot of `data` before it is used;
  // read models are made anew, in memory: a second or two a million events, and a few hundred bytes
  // each.
  static Stored<std::unique_ptr<PastService>> open(const EventLog& log,
                                                   const std::filesystem::path& data, Position at);

  PastService(const PastService&) = delete;
  PastService& operator=(const PastService&) = delete;
  ~PastService();

  // The JSON-RPC answer, with "result" or "error". NOT_ALLOWED for methods that aren't queries:
  // what has been can't be changed.
  boost::json::object call(std::string_view method, const boost::json::object& params);

 private:
  struct Parts;
  explicit PastService(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace signalbox
