// An outside worker: claims, beats, completes or fails or defers; and sometimes stops for longer
// than its lease and goes on as if nothing had been, or dies and comes back without a memory.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/caller.h"

namespace signalbox::simulation {

class WorkerClient {
 public:
  WorkerClient(Environment& environment, Network& network, CommandBook& book, std::string name)
      : environment_(environment), caller_(environment, network, book, std::move(name)) {}

  void begin() { later(0, &WorkerClient::claim); }

 private:
  using Step = void (WorkerClient::*)();

  // Unless the worker has died until then.
  void later(std::int64_t delay_ms, Step step);
  void claim();
  void take(const boost::json::object& claim);
  void work();
  void beat();
  void set_external_ref();
  void defer();
  void complete();
  // A word of the holder was refused: another one has the station, or nobody.
  void lose(const std::string& code);
  [[nodiscard]] boost::json::object held() const;

  Environment& environment_;
  Caller caller_;
  std::uint64_t life_ = 0;
  std::string run_id_;
  std::string station_;
  Token token_ = 0;
  std::int64_t lease_ms_ = 0;
  std::int64_t beats_left_ = 0;
  std::uint64_t progress_ = 0;
};

}  // namespace signalbox::simulation
