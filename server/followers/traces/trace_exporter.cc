#include "server/followers/traces/trace_exporter.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/followers/traces/trace_limits.h"
#include "server/platform/atomic_file.h"
#include "server/platform/clock.h"
#include "server/platform/thread_priority.h"
#include "server/text/separated_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

// Spans that end at about the same time go into one request.
constexpr std::chrono::milliseconds gather_pause{500};
constexpr std::chrono::seconds cursor_pause{1};
constexpr std::chrono::minutes drop_note_pause{1};

// Returns between 3/4 and 5/4 of `ms`, so that many exporters don't retry at the same time.
std::chrono::milliseconds jittered(std::int64_t ms) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<std::int64_t> share(ms * 3 / 4, ms * 5 / 4);
  return std::chrono::milliseconds(share(random));
}

}  // namespace

TraceExporter::TraceExporter(const EventLog& log, Projector& projector, TraceSettings settings,
                             const std::filesystem::path& data, Note note)
    : log_(log),
      projector_(projector),
      settings_(std::move(settings)),
      resource_(trace_resource(settings_.service_name, data.string())),
      cursor_file_(data / "projections" / "trace_cursor"),
      note_(std::move(note)),
      source_({log_, projector_.index(),
               [this](Position position) { return projector_.follow_to(position); },
               [this](const RunId& run_id, const std::string& why) {
                 note_(false, "no trace of run " + to_string(run_id) + ": " + why);
               }}) {}

TraceExporter::~TraceExporter() { stop(); }

void TraceExporter::start() {
  if (active()) thread_ = std::thread([this] { run(); });
}

void TraceExporter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  interrupted_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TraceExporter::forget_runs() {
  {
    const std::lock_guard lock(mutex_);
    forgets_runs_ = true;
  }
  interrupted_.notify_all();
}

bool TraceExporter::wait(Wait time) {
  std::unique_lock lock(mutex_);
  interrupted_.wait_for(lock, time, [this] { return stopping() || is_outdated(); });
  return !stopping();
}

Position TraceExporter::first_position() {
  const auto cursor = read_trace_cursor(cursor_file_);
  if (cursor && *cursor <= log_.tail()) return *cursor;
  const std::int64_t from_ns = SystemClock().wall_ns() - settings_.backfill_ms * ns_per_ms;
  const auto found = position_at(log_, from_ns);
  const Position position = found ? *found : log_.tail();
  note_(true, "traces: nothing says what was sent before; spans are sent that end after position " +
                  std::to_string(position) + " (traces.backfill)");
  return position;
}

void TraceExporter::run() {
  set_thread_niceness(lowest_niceness);
  Position after = first_position();
  through_ = after;
  while (!stopping()) {
    if (forgets_runs_.exchange(false)) source_.forget_runs();
    const auto batch = source_.next(after);
    if (!batch) {
      report_outage(batch.error().message);
      wait(std::chrono::milliseconds(limits::trace_backoff_ms_min));
      continue;
    }
    const Delivered delivered = batch->spans.empty() ? Delivered::done : deliver(*batch);
    if (delivered == Delivered::stopped) break;
    if (delivered == Delivered::outdated) continue;
    failed_ += batch->lost;
    after = batch->through;
    through_ = after;
    keep_cursor(after);
    if (after == log_.tail() || batch->spans.size() < limits::trace_batch_spans_max / 2) {
      wait(gather_pause);
    }
  }
  cursor_kept_at_ = {};
  keep_cursor(after);
}

TraceExporter::Delivered TraceExporter::deliver(const TraceSource::Batch& batch) {
  const std::string body = otlp_request(resource_, batch.spans);
  const std::uint64_t spans = batch.spans.size();
  std::int64_t backoff_ms = settings_.backoff_ms;
  for (int failures = 0;;) {
    // Spans that were read before a redaction may have the text.
    if (is_outdated()) return Delivered::outdated;
    const auto delivery =
        deliver_spans(settings_, body, [this] { return stopping() || is_outdated(); });
    if (delivery.outcome == TraceDelivery::Outcome::taken) {
      const std::uint64_t rejected = std::min(delivery.rejected, spans);
      exported_ += spans - rejected;
      report_recovery();
      if (rejected > 0) drop(rejected, delivery.message);
      return Delivered::done;
    }
    if (stopping()) return Delivered::stopped;
    if (is_outdated()) return Delivered::outdated;
    if (delivery.outcome == TraceDelivery::Outcome::failing) ++failures;
    if (delivery.outcome == TraceDelivery::Outcome::refused ||
        failures >= limits::trace_failing_tries_max) {
      drop(spans, delivery.message);
      return Delivered::done;
    }
    report_outage(delivery.message);
    const Wait pause = delivery.after_ms ? Wait(*delivery.after_ms) : jittered(backoff_ms);
    backoff_ms = std::min(2 * backoff_ms, limits::trace_backoff_ms_max);
    if (!wait(pause)) return Delivered::stopped;
  }
}

// Notes at most once a minute: a collector that refuses one batch refuses the next.
void TraceExporter::drop(std::uint64_t spans, const std::string& why) {
  failed_ += spans;
  dropped_unreported_ += spans;
  const auto now = std::chrono::steady_clock::now();
  if (now - drop_reported_at_ < drop_note_pause &&
      drop_reported_at_.time_since_epoch().count() != 0) {
    return;
  }
  drop_reported_at_ = now;
  note_(false, "traces: the collector refused " +
                   std::to_string(std::exchange(dropped_unreported_, 0)) +
                   " spans for good: " + why);
}

void TraceExporter::report_outage(const std::string& why) {
  if (std::exchange(outage_reported_, true)) return;
  note_(false, "traces: no spans are sent: " + why + "; it is tried again");
}

void TraceExporter::report_recovery() {
  if (std::exchange(outage_reported_, false)) note_(true, "traces: spans are sent again");
}

// Saves at most once per cursor_pause: spans sent since then are only sent twice after a kill.
void TraceExporter::keep_cursor(Position position) {
  const auto now = std::chrono::steady_clock::now();
  if (position == cursor_kept_ || now - cursor_kept_at_ < cursor_pause) return;
  cursor_kept_at_ = now;
  if (auto kept = write_trace_cursor(cursor_file_, position); !kept) {
    report_outage(kept.error().message);
    return;
  }
  cursor_kept_ = position;
}

std::optional<Position> read_trace_cursor(const std::filesystem::path& file) {
  constexpr std::size_t cursor_bytes_max = 64;
  auto text = read_regular_file(file, cursor_bytes_max);
  if (!text || !text->ends_with('\n')) return std::nullopt;
  text->pop_back();
  return whole_number<Position>(*text);
}

Stored<void> write_trace_cursor(const std::filesystem::path& file, Position position) {
  TRY(make_directories(file.parent_path()));
  return write_file_atomically(file, std::to_string(position) + "\n");
}

}  // namespace signalbox
