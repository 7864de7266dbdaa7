// What the service counts and measures, in the Prometheus text format (version 0.0.4): names with
// their base unit at the end, counters since the start of the process, and no label that grows with
// what is worked on, such as an id or a project.
//
// https://prometheus.io/docs/practices/naming/
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace signalbox {

struct Api;
struct CommitOutcome;

// The engine's thread.
class ServiceMetrics {
 public:
  explicit ServiceMetrics(std::int64_t started_at_ns);
  ServiceMetrics(const ServiceMetrics&) = delete;
  ServiceMetrics& operator=(const ServiceMetrics&) = delete;
  ~ServiceMetrics();

  // After each commit: its events, and how long it took.
  void apply(const CommitOutcome& outcome);

  // All of it. What is a state rather than a count is looked up now: it costs what is open.
  std::string text(const Api& api);

 private:
  struct Families;

  std::unique_ptr<Families> families_;
};

}  // namespace signalbox
