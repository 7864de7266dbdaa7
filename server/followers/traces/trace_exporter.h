// Sends every span that ends to a collector, over OTLP/HTTP, on a thread of its own with the lowest
// priority. The engine never waits for it.
//
// The exporter follows the log from a cursor. So it holds one request in memory, however long the
// collector is unreachable. Delivery is at least once: after a kill, the spans that were sent since
// the cursor was saved are sent again, with the same ids and the same bytes.
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
  struct Figures {
    std::uint64_t exported = 0;  // spans that the collector took, since start()
    std::uint64_t failed = 0;    // spans that were dropped, or whose run couldn't be read
    Position through = 0;        // position up to which spans are sent; 0: not begun, or not active
  };

  // `note` is called on the exporter's thread when the collector stops taking spans, takes them
  // again (ok), or refuses some for good. Without an endpoint in `settings` start() does nothing.
  // `data` is the data directory, in which the cursor is saved.
  using Note = std::function<void(bool ok, const std::string& text)>;
  TraceExporter(const EventLog& log, Projector& projector, TraceSettings settings,
                const std::filesystem::path& data, Note note);
  // Calls stop().
  ~TraceExporter();

  void start();
  // Ends the thread, and within about a second a request that is under way. Blocks until then.
  void stop();

  // Has the traces of runs under way read again from the log, of which texts were redacted. A
  // request that wasn't answered yet is given up, and made again from the log. Any thread.
  void forget_runs();

  [[nodiscard]] const TraceResource& resource() const { return resource_; }
  [[nodiscard]] bool active() const { return !settings_.endpoint.empty(); }
  // Returns the counters. Any thread.
  [[nodiscard]] Figures figures() const {
    return {exported_.load(), failed_.load(), through_.load()};
  }

 private:
  using Wait = std::chrono::milliseconds;

  void run();
  Position first_position();
  enum class Delivered : std::uint8_t { done, outdated, stopped };
  // Retries until the collector took or refused the batch. It is outdated once forget_runs() was
  // called.
  Delivered deliver(const TraceSource::Batch& batch);
  void drop(std::uint64_t spans, const std::string& why);
  void report_outage(const std::string& why);
  void report_recovery();
  void keep_cursor(Position position);
  // Ends early after forget_runs(). Returns false if the thread is to stop.
  bool wait(Wait time);
  [[nodiscard]] bool stopping() const { return stopping_.load(); }
  [[nodiscard]] bool is_outdated() const { return forgets_runs_.load(); }

  const EventLog& log_;
  Projector& projector_;
  const TraceSettings settings_;
  const TraceResource resource_;
  const std::filesystem::path cursor_file_;
  const Note note_;
  TraceSource source_;
  // The exporter's thread only.
  bool outage_reported_ = false;
  std::uint64_t dropped_unreported_ = 0;  // spans
  std::chrono::steady_clock::time_point drop_reported_at_ = {};
  std::chrono::steady_clock::time_point cursor_kept_at_ = {};
  Position cursor_kept_ = 0;  // in the file
  std::atomic<std::uint64_t> exported_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::atomic<Position> through_ = 0;
  std::atomic<bool> forgets_runs_ = false;
  std::mutex mutex_;
  std::condition_variable interrupted_;  // by stop() or forget_runs()
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// Reads the cursor: the position up to which spans have been sent, kept across restarts. Returns
// nullopt if there is no such file, or none that can be read. Blocks.
//
// The file lies among the disposable ones (<data>/projections/). Without it the exporter begins as
// it does the first time: with what was recorded in the latest `backfill`. Spans that were sent
// before are then sent again, with the same ids; older ones that weren't sent stay unsent.
std::optional<Position> read_trace_cursor(const std::filesystem::path& file);

// Replaces the cursor's file atomically, and makes its directory as needed. Blocks.
Stored<void> write_trace_cursor(const std::filesystem::path& file, Position position);

}  // namespace signalbox
