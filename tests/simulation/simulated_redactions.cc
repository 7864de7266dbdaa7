#include "tests/simulation/simulated_redactions.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "domain/check.h"
#include "domain/free_text.h"
#include "projections/world_codec.h"
#include "tests/simulation/schedule.h"

namespace signalbox::simulation {
namespace {

constexpr int records_looked_at_max = 20;
// Shorter texts, such as numbers, may be there by chance.
constexpr std::size_t judged_text_bytes_min = 8;

// Each mutant has to be found by the judge that it was made for, so that others keep all texts.
bool may_redact(Mutant mutant) {
  return mutant == Mutant::none || mutant == Mutant::text_left_in_snapshot;
}

// Returns true for a text that other judges know from the record as it was: what locks and ticks
// show, and in files of run roots, which keep it; what a worker or the machine is known by; and
// why a card is blocked, which says whether that is said already.
bool is_compared(const Record& record, std::string_view field) {
  const StreamKind kind = record.stream.kind;
  return kind == StreamKind::lock || kind == StreamKind::tick || field == "title" ||
         event_as<CardBlocked>(record.event) != nullptr || field.ends_with("external_ref") ||
         field.ends_with("resume_ref") || field.ends_with("progress_digest");
}

// Returns the message of a text that the world makes of a failure's code and message.
std::string_view message_of(std::string_view text) {
  constexpr std::string_view after_code = ": ";
  const std::size_t code_bytes = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  const bool has_code = code_bytes != 0 && code_bytes != std::string_view::npos &&
                        text.substr(code_bytes).starts_with(after_code);
  return has_code ? message_of(text.substr(code_bytes + after_code.size())) : text;
}

Record record_at(const EventLog& log, Position position) {
  const Commit commit = log.read_commit(position).value();
  return commit.at(position - commit.front().position);
}

}  // namespace

bool has_redactions(std::uint64_t seed, Mutant mutant) {
  return seed % 8 == 5 && may_redact(mutant);
}

std::int64_t SimulatedRedactions::pause_ns() {
  return environment_.redaction_random.between(500, 8000) * ns_per_ms;
}

std::int64_t SimulatedRedactions::duration_ns() {
  return environment_.redaction_random.between(1, 400) * ns_per_ms;
}

void SimulatedRedactions::fill(std::span<std::byte> bytes) {
  for (std::byte& each : bytes) {
    each = static_cast<std::byte>(environment_.redaction_random.below(256));
  }
}

bool SimulatedRedactions::crashes(const char* step) {
  if (environment_.faults.stopped() || environment_.crash_wanted ||
      !environment_.redaction_random.per_cent(4)) {
    return false;
  }
  environment_.crash(std::string("in a redaction, ") + step);
  return true;
}

std::optional<RedactionRequest> SimulatedRedactions::any_request() {
  for (int looked_at = 0; looked_at < records_looked_at_max && log_.tail() > 0; ++looked_at) {
    const Position position = 1 + environment_.redaction_random.below(log_.tail());
    const Record record = record_at(log_, position);
    RedactionRequest request{position, {}, "it was a key"};
    for (const FoundText& each : free_texts(record.event)) {
      const bool is_known = std::find(request.fields.begin(), request.fields.end(), each.field) !=
                            request.fields.end();
      if (is_known || is_blank(each.text) || is_compared(record, each.field)) continue;
      request.fields.push_back(each.field);
    }
    if (!request.fields.empty()) return request;
  }
  return std::nullopt;
}

Decided<PlannedRedaction> SimulatedRedactions::plan(const RedactionRequest& request) const {
  const Record record = record_at(log_, request.position);
  PlannedRedaction planned;
  planned.event.redacted_position = request.position;
  planned.event.event = std::string(tag_of(record.event).name);
  planned.event.fields = request.fields;
  planned.event.reason = request.reason;
  for (FoundText& each : free_texts(record.event)) {
    const bool is_wanted =
        std::find(request.fields.begin(), request.fields.end(), each.field) != request.fields.end();
    if (is_wanted && !is_blank(each.text)) planned.erased.push_back(std::move(each));
  }
  planned.replacement = without_free_texts(record.event, request.fields, Blank::telling);
  return planned;
}

std::vector<std::string> SimulatedRedactions::gone_texts(
    const std::vector<FoundText>& erased) const {
  std::set<std::string> gone;
  for (const FoundText& each : erased) {
    if (each.text.size() >= judged_text_bytes_min) gone.insert(each.text);
  }
  const auto scanned = log_.scan(1, log_.tail(), [&gone](Record&& record) {
    for (const FoundText& there : free_texts(record.event)) {
      // The failure that such a text was made of may still be there.
      std::erase_if(gone, [&there](const std::string& text) {
        return there.text.find(message_of(text)) != std::string::npos;
      });
    }
    return !gone.empty();
  });
  SIGNALBOX_CHECK(scanned.has_value());
  return {gone.begin(), gone.end()};
}

void SimulatedRedactions::ended(const RedactionOutcome& outcome, const World* world,
                                const Table& rows) {
  const PayloadRedacted& event = outcome.plan.event;
  const std::string what = "of #" + std::to_string(event.redacted_position);
  environment_.note("redacted texts " + what);
  answered_.insert_or_assign(event.redacted_position, outcome.plan.replacement);
  environment_.expect(outcome.redacted_at != 0 && outcome.redacted_at <= log_.tail(),
                      "the redaction " + what + " was answered, and isn't durable");
  examine_log();
  const std::string bytes = world == nullptr ? std::string() : encode_world(*world);
  for (const std::string& text : gone_texts(outcome.plan.erased)) {
    environment_.expect(bytes.find(text) == std::string::npos,
                        "the world still has a text " + what + ": " + text);
    bool is_there = false;
    const auto scanned =
        rows.scan({}, {}, ScanOrder::ascending, [&](std::string_view key, std::string_view value) {
          is_there = key.find(text) != std::string_view::npos ||
                     value.find(text) != std::string_view::npos;
          return !is_there;
        });
    SIGNALBOX_CHECK(scanned.has_value());
    environment_.expect(!is_there, "the read models still have a text " + what + ": " + text);
  }
}

// Each redacted record has its event, and the other way round; each answered one is as it was
// answered.
void SimulatedRedactions::examine_log() const {
  if (!environment_.redacts) return;
  std::set<Position> redacted;
  std::set<Position> from_events;
  const auto scanned = log_.scan(1, log_.tail(), [&](Record&& record) {
    if (record.redacted) redacted.insert(record.position);
    if (const auto* event = event_as<PayloadRedacted>(record.event)) {
      from_events.insert(event->redacted_position);
    }
    const auto answered = answered_.find(record.position);
    environment_.expect(answered == answered_.end() || answered->second == record.event,
                        "a text of #" + std::to_string(record.position) +
                            " was redacted, and it isn't what the answer says");
    return true;
  });
  SIGNALBOX_CHECK(scanned.has_value());
  environment_.expect(redacted == from_events,
                      "the log has another redacted record than its events say");
}

}  // namespace signalbox::simulation
