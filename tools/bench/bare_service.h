// The bare path: the least that gives the workers of the load the answers that the service gives.
//
// It parses requests, decides on a map, encodes and hashes the same events, and writes the same
// answers. It knows no roles, command ids, leases that end, timers, queries, read models or
// recovery, so the distance between it and the service is what those cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/stream_parser.hpp>

#include "domain/ids.h"
#include "store/sha256.h"

namespace signalbox {

class BareService {
 public:
  struct Reply {
    std::size_t connection = 0;
    std::string line;
  };

  // Decides on the request in `line`, which has no line end. Its records and replies, and those of
  // claims that waited for what it has done, are added to records() and replies().
  void handle(std::size_t connection, std::string_view line);
  // Forgets the claims that wait for work on a connection that is closed.
  void forget(std::size_t connection);

  // Return what was added since the last clear(). The records have to be durable before a reply
  // leaves. A record is its length in 4 bytes, little-endian, 32 bytes of SHA-256 over the previous
  // digest and the rest, and the rest; the digest before the first record is zero.
  [[nodiscard]] const std::string& records() const { return records_; }
  [[nodiscard]] const std::vector<Reply>& replies() const { return replies_; }
  void clear();

 private:
  struct Run {
    Uuid id;
    std::string goal;
    std::vector<std::string> stations;
    std::size_t station = 0;
    Token token = 0;  // 0: the station is ready
  };
  struct Claim {
    std::size_t connection = 0;
    std::string id;  // of the request, as JSON
    std::string worker;
  };

  void start_run(std::size_t connection, const std::string& id, const boost::json::object& params);
  void claim(Claim claim, const boost::json::object& params);
  void complete(std::size_t connection, const std::string& id, const boost::json::object& params);
  void serve_waiting_claims();
  // Gives the station that has been ready longest to `worker`, and adds the claim to `out`. Returns
  // whether there was one.
  bool give_next(std::string_view worker, std::string& out);
  void record(char type, const Run& run, std::string_view text);
  void reply(std::size_t connection, const std::string& id, std::string_view result);
  void refuse(std::size_t connection, const std::string& id, std::string_view message);
  Uuid new_uuid();

  std::unordered_map<Uuid, Run, UuidHash> runs_;
  std::deque<Uuid> ready_;                                // of their stations, oldest first
  std::deque<Claim> waiting_;                             // oldest first
  std::unordered_map<std::size_t, std::string> workers_;  // by connection
  Position position_ = 0;
  std::int64_t now_ns_ = 0;
  std::uint64_t ids_made_ = 0;
  Digest digest_;
  Sha256 sha256_;
  boost::json::stream_parser parser_;
  std::string records_;
  std::vector<Reply> replies_;
};

}  // namespace signalbox
