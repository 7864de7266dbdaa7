// The service's metrics in the Prometheus text format (version 0.0.4). Names end with their base
// unit, counters start with the process, and no label's values grow with the work, as ids or
// projects would.
//
// https://prometheus.io/docs/practices/naming/
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "projections/attention.h"
#include "server/cell/cell_view.h"
#include "server/rpc/connection_figures.h"
#include "server/rpc/service_condition.h"

namespace signalbox {

class ClaimQueue;
class Engine;
class EventFeed;
class EventLog;
struct FileRetentionReport;
class Projector;
class ServiceLoops;
class TraceExporter;
struct CommitOutcome;

// Called on the engine's thread.
class ServiceMetrics {
 public:
  struct Sources {
    const Engine& engine;
    const EventLog& log;
    const Projector& projector;
    const ClaimQueue& claims;
    EventFeed& feed;
    const TraceExporter& traces;
    const ServiceLoops& loops;
    std::function<bool()> retention_failed;  // whether the latest retention failed
    std::function<bool()> log_damaged;       // whether the latest check of its files had trouble
    std::function<std::size_t()> run_root_failures;
    std::function<bool()> reload_refused;  // whether the latest reload of the settings was refused
    std::function<std::int64_t()> certificate_not_after_ns;  // 0: there is no TLS
    std::string data_directory;
    std::function<ConnectionFigures()> connections;
    // The server's place in a cell; nullopt: it is in none.
    std::function<std::optional<CellView>()> cell = [] { return std::nullopt; };
    // The latest round of the file retention, dry or not; nullptr: there was none.
    std::function<const FileRetentionReport*()> files = nullptr;
    // Whether the latest round that was to remove files failed.
    std::function<bool()> files_failed = [] { return false; };
    // What is known beyond the log of what waits for a person.
    std::function<AttentionBounds()> attention = [] { return AttentionBounds(); };
    // How many conditions of the service itself need a person, by kind.
    std::function<std::map<ServiceCondition, double>()> conditions = [] {
      return std::map<ServiceCondition, double>();
    };
  };

  ServiceMetrics(Sources sources, std::int64_t started_at_ns);
  ServiceMetrics(const ServiceMetrics&) = delete;
  ServiceMetrics& operator=(const ServiceMetrics&) = delete;
  ~ServiceMetrics();

  // Counts the events of a batch of commits and how long writing it took. Called after each batch.
  void apply(const CommitOutcome& outcome);

  // Returns all metrics. Gauges are computed by this call, at a cost proportional to what is open.
  std::string text();

 private:
  struct Families;

  const Sources sources_;
  std::unique_ptr<Families> families_;
};

}  // namespace signalbox
