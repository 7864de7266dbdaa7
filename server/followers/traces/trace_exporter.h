// Tells a collector of every span that ends, over OTLP/HTTP, on a thread of its own with the lowest
// priority.
//
// It follows the log from a cursor, so what it holds is one request, however long the collector is
// away. A span is sent at least once: after a kill, what was sent since the cursor was kept comes
// again with the same ids and the same bytes. The engine never waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "domain/ids.h"
#include "server/followers/projector.h"
#include "server/followers/traces/otlp_json.h"
#include "server/followers/traces/trace_collector.h"
#include "server/followers/traces/trace_source.h"
#include "store/store_error.h"

namespace signalbox {

class TraceExporter {
 public:
  // Any thread.
  struct Figures {
    std::uint64_t exported = 0;  // spans that the collector took, since the start
    std::uint64_t failed = 0;    // spans that were dropped, or whose run couldn't be read
    Position through = 0;        // 0: it hasn't begun, or there is nothing to do
  };

  // `note` is called on the exporter's thread, when the collector doesn't take spans, takes them
  // again (ok), or refused some for good. Where settings have no endpoint, start() does nothing.
  using Note = std::function<void(bool ok, const std::string& text)>;
  TraceExporter(const EventLog& log, Projector& projector, TraceSettings settings,
                const std::filesystem::path& data, Note note);
  // Ends a request that is under way within a second or so.
  ~TraceExporter();

  void start();
  void stop();

  [[nodiscard]] const TraceResource& resource() const { return resource_; }
  [[nodiscard]] bool active() const { return !settings_.endpoint.empty(); }
  [[nodiscard]] Figures figures() const {
    return {exported_.load(), failed_.load(), through_.load()};
  }

 private:
  using Wait = std::chrono::milliseconds;

  void run();
  Position first_position();
  // False: it is to stop.
  bool deliver(const TraceSource::Batch& batch);
  void drop(std::uint64_t spans, const std::string& why);
  void have_trouble(const std::string& why);
  void end_trouble();
  void keep_cursor(Position position);
  bool wait(Wait time);
  [[nodiscard]] bool stopping() const { return stopping_.load(); }

  const EventLog& log_;
  Projector& projector_;
  const TraceSettings settings_;
  const TraceResource resource_;
  const std::filesystem::path cursor_file_;
  const Note note_;
  TraceSource source_;
  bool troubled_ = false;             // it was told; this and what follows: the thread's own
  std::uint64_t dropped_untold_ = 0;  // spans
  std::chrono::steady_clock::time_point drop_told_at_ = {};
  std::chrono::steady_clock::time_point cursor_kept_at_ = {};
  Position cursor_kept_ = 0;
  std::atomic<std::uint64_t> exported_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::atomic<Position> through_ = 0;
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// Up to where spans have been sent, across restarts.
//
// It lies among what is disposable (<data>/projections/). Without it the exporter begins as it does
// the first time: with what was recorded in the latest `backfill`. What was sent before is then
// sent again, with the same ids; what is older and wasn't sent stays unsent.
//
// Returns nothing where there is none, or none that can be read.
std::optional<Position> read_trace_cursor(const std::filesystem::path& file);

Stored<void> write_trace_cursor(const std::filesystem::path& file, Position position);

}  // namespace signalbox
