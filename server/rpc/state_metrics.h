// The metrics of the state that the log leads to: what is open, held or waits. They are apart from
// those of the process, since nobody knows them while the log of a cell is away.
#pragma once

#include <memory>
#include <vector>

#include <prometheus/metric_family.h>

#include "domain/world.h"
#include "projections/attention.h"

namespace signalbox {

class StateMetrics {
 public:
  StateMetrics();
  StateMetrics(const StateMetrics&) = delete;
  StateMetrics& operator=(const StateMetrics&) = delete;
  ~StateMetrics();

  // Returns the metrics of this state, at a cost proportional to what is open. `bounds` says which
  // jobs nobody can see.
  [[nodiscard]] std::vector<prometheus::MetricFamily> measure(const World& world,
                                                              const AttentionBounds& bounds);

 private:
  struct Families;

  std::unique_ptr<Families> families_;
};

}  // namespace signalbox
