#include "server/rpc/assignment.h"

#include <algorithm>
#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/attempt_end.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/rpc/past_reads.h"
#include "server/text/described_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Appends the JSON that `text` is; null if it is empty.
void append_json_or_null(const std::string& text, std::string& out) {
  if (text.empty()) {
    out += "null";
    return;
  }
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error) {
    append_json_string(out, text);
  } else {
    out += json::serialize(value);
  }
}

void append_texts(const Api& api, const RunId& id, const std::string& goal,
                  const std::string& input, const std::string& run_root,
                  const std::string& previous, std::string& claim) {
  claim += R"(,"goal":)";
  append_json_string(claim, goal);
  claim += R"(,"input":)";
  append_json_or_null(input, claim);
  claim += R"(,"run_root":)";
  append_json_string(
      claim, run_root.empty() ? api.facts.data_directory + "/runs/" + to_string(id) : run_root);
  claim += R"(,"previous":)";
  if (previous.empty()) {
    claim += "null";
  } else {
    append_json_string(claim, previous);
  }
}

// Returns the value that Run::previous had when the claim was granted, by reading the run's records
// backwards from there.
std::string previous_before(const Api& api, const Record& claimed) {
  const auto positions = api.projector.index().run_positions(claimed.stream.run_id);
  if (!positions) return {};
  auto before = std::lower_bound(positions->begin(), positions->end(), claimed.position);
  while (before != positions->begin()) {
    const auto record = api.log.read(*--before, 1);
    if (!record || record->empty()) return {};
    const Event& event = record->front().event;
    if (const auto* failed = event_as<StationAttemptFailed>(event)) {
      return previous_text(failed->failure, failed->result);
    }
    if (const auto* deferred = event_as<StationDeferred>(event)) {
      if (!deferred->note.empty()) return deferred->note;
    }
    if (const auto* retried = event_as<RunRetried>(event)) return retried->previous;
    if (event_as<StationSucceeded>(event) != nullptr) return {};
    if (event_as<StationApproved>(event) != nullptr) return {};
  }
  return {};
}

// Appends the fields for an attempt that is over, from the log and the read models: the world no
// longer has them, since the run may have ended or gone on.
void append_from_log(const Api& api, const Record& claimed, std::string& claim) {
  // The read models lag behind the log by up to a second.
  if (!api.projector.wait_for(claimed.position)) return;
  const RunId& id = claimed.stream.run_id;
  const auto row = api.projector.index().find(id);
  if (!row || !*row) return;
  const auto first = api.log.read((*row)->started_position, 1);
  if (!first || first->empty()) return;
  const auto* started = event_as<RunStarted>(first->front().event);
  if (started == nullptr) return;
  append_texts(api, id, started->goal, started->input, started->run_root,
               previous_before(api, claimed), claim);
}

}  // namespace

void append_assignment(const Api& api, const Record& claimed, std::string& claim) {
  const Run* run = api.engine.world().find_run(claimed.stream.run_id);
  // These fields don't change while the attempt is under way.
  const bool under_way = run != nullptr && run->attempt && run->attempt->token == claimed.position;
  if (!under_way) {
    claim += from_past<std::string>(api, "assignment " + std::to_string(claimed.position),
                                    [&api, claimed] {
                                      std::string texts;
                                      append_from_log(api, claimed, texts);
                                      return texts;
                                    });
    return;
  }
  append_texts(api, run->id, run->goal, run->input, run->run_root, run->previous, claim);
}

}  // namespace signalbox
