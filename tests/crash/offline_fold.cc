#include "tests/crash/offline_fold.h"

#include <gtest/gtest.h>

#include "domain/evolve.h"
#include "domain/invariants.h"
#include "projections/world_digest.h"
#include "store/rocks_event_log.h"

namespace signalbox::test {

std::optional<Digest> OfflineFold::digest_at(Position position) {
  RocksEventLog::Options options;
  options.read_only = true;
  if (world_.position > 0) options.verified = Checkpoint{world_.position, frontier_};
  const auto log = RocksEventLog::open(data_, std::move(options));
  if (!log) {
    ADD_FAILURE() << log.error().message;
    return std::nullopt;
  }
  std::optional<Digest> digest;
  const auto check_position = [&] {
    if (world_.position != position) return;
    const auto broken = broken_invariants(world_);
    for (const std::string& each : broken) ADD_FAILURE() << "at " << position << ": " << each;
    digest = world_digest(world_);
  };
  check_position();
  const auto folded = (*log)->scan(world_.position + 1, (*log)->tail(), [&](Record&& record) {
    evolve(world_, record);
    check_position();
    return true;
  });
  if (!folded) ADD_FAILURE() << folded.error().message;
  frontier_ = (*log)->frontier();
  EXPECT_TRUE(digest) << "the log ends at " << world_.position << ", before " << position;
  return digest;
}

void OfflineFold::check_digest(Connection& server) {
  const boost::json::object status = result_of(server.call("server.status", {}));
  ASSERT_FALSE(status.empty());
  const auto digest = digest_at(number_of(status.at("position")));
  ASSERT_TRUE(digest);
  EXPECT_EQ(to_hex(*digest), status.at("state_digest").as_string());
}

}  // namespace signalbox::test
