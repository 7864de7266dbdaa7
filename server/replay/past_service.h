// The service as it was at a position of its log. It answers every query of the socket interface
// with the same methods as the live service, on the state folded up to that position.
//
// Nothing is written, so the data directory may be that of a running server. The clock stands still
// at the time of the position's record. Leases of attempts and locks end when they did; steps and
// timeouts have their full length, as after a start at that moment. One thread.
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
  // Builds the service at position `at`, from 1 up to the log's tail. It starts from the newest
  // snapshot in `data` (the data directory) before `at`, and rebuilds the read models in memory.
  // That costs one to two seconds per million events and a few hundred bytes per event. Fails if
  // `at` was dropped from the log, and as the log does. `log` outlives the service. Blocks.
  static Stored<std::unique_ptr<PastService>> open(const EventLog& log,
                                                   const std::filesystem::path& data, Position at);

  PastService(const PastService&) = delete;
  PastService& operator=(const PastService&) = delete;
  ~PastService();

  // Calls a method and returns the JSON-RPC response, with "result" or "error". The error is
  // NOT_ALLOWED for methods that aren't queries, because the past can't be changed. Blocks.
  boost::json::object call(std::string_view method, const boost::json::object& params);

 private:
  struct Parts;
  explicit PastService(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace signalbox
