// What the service counts and measures, in the Prometheus text format (version 0.0.4): names with
// their base unit at the end, counters since the start of the process, and no label that grows with
// what is worked on, such as an id or a project.
//
// https://prometheus.io/docs/practices/naming/
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace signalbox {

class ClaimQueue;
class Engine;
class EventFeed;
class EventLog;
class Projector;
class TraceExporter;
struct CommitOutcome;

// The engine's thread.
class ServiceMetrics {
 public:
  struct Sources {
    const Engine& engine;
    const EventLog& log;
    const Projector& projector;
    const ClaimQueue& claims;
    EventFeed& feed;
    const TraceExporter& traces;
    std::function<bool()> retention_failed;  // the latest one
    std::string data_directory;
  };

  ServiceMetrics(Sources sources, std::int64_t started_at_ns);
  ServiceMetrics(const ServiceMetrics&) = delete;
  ServiceMetrics& operator=(const ServiceMetrics&) = delete;
  ~ServiceMetrics();

  // After each commit: its events, and how long it took.
  void apply(const CommitOutcome& outcome);

  // All of it. What is a state rather than a count is looked up now: it costs what is open.
  std::string text();

 private:
  struct Families;

  const Sources sources_;
  std::unique_ptr<Families> families_;
};

}  // namespace signalbox
