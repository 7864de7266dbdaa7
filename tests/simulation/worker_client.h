// An outside worker: it claims stations, sends heartbeats, and completes, fails or defers them.
// Sometimes it stops for longer than its lease and goes on with its old token, is stuck, or dies
// and restarts without a memory. S3 S4 L8 W1 W5
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class WorkerClient final : public Client {
 public:
  using Client::Client;

  void begin() override { later(0, &WorkerClient::claim); }

 private:
  void claim();
  void on_claimed(const Reply& reply);
  void take(const boost::json::object& claim);
  void work();
  void beat();
  void on_beat(const Reply& reply);
  void set_external_ref();
  void on_ref_set(const Reply& reply);
  void request_approval();
  void on_requested(const Reply& reply);
  void defer();
  void on_deferred(const Reply& reply);
  void complete();
  void on_completed(const Reply& reply);
  // Returns false if the holder was refused: another one has the station, or nobody.
  bool keeps(const Reply& reply);
  [[nodiscard]] boost::json::object held() const;

  std::string run_id_;
  std::string station_;
  Token token_ = 0;
  Token lock_token_ = 0;  // that the latest claim showed
  std::int64_t lease_ms_ = 0;
  std::int64_t beats_left_ = 0;
  std::uint64_t progress_ = 0;
  bool is_stuck_ = false;  // sends heartbeats without progress
};

}  // namespace signalbox::simulation
