#include "server/rpc/methods/attention_views.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/refusals.h"
#include "projections/run_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/rpc/attempt_surroundings.h"
#include "server/rpc/methods/card_views.h"
#include "server/rpc/methods/service_conditions.h"
#include "server/rpc/methods/timeline_json.h"
#include "server/text/described_json.h"
#include "server/text/printable_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Records of a run among which its latest pause is looked for, from the end.
constexpr std::size_t sought_records_max = 256;

void add_known_text(json::object& object, const char* name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

}  // namespace

AttentionMoment attention_moment(const Api& api, const ServiceSources& sources,
                                 const AttentionQuestion& question) {
  AttentionMoment moment;
  moment.bounds = attention_bounds(api);
  // One more than the page has says whether there is another page.
  AttentionSelection selection(question.kinds, question.limit + 1, question.cursor);
  select_attention(api.engine.world(), moment.bounds, selection);
  if (selection.has(AttentionKind::service)) {
    for (AttentionItem& item : service_conditions(api, sources)) {
      if (selection.wants(item.kind, item.since_position)) selection.add(std::move(item));
    }
  }
  if (selection.has(AttentionKind::failed_run)) moment.open_roots = api.engine.world().run_roots;
  moment.items = selection.take();
  moment.counts = selection.counts();
  return moment;
}

namespace {

json::object item_to_json(const AttentionItem& item) {
  json::object object;
  object["id"] = name_of(item);
  object["kind"] = to_json(item.kind);
  object["since"] = time_or_null(item.since_ns);
  // Questions, reasons and goals may have several lines, and whatever else an agent printed.
  object["text"] = printable(item.text);
  object["next_commands"] = json::array(item.next_commands.begin(), item.next_commands.end());
  if (!item.run_id.is_nil()) object["run_id"] = to_string(item.run_id);
  if (!item.card_id.is_nil()) object["card_id"] = to_string(item.card_id);
  if (!item.card_id.is_nil() || item.condition == "paused") {
    object["since_position"] = to_json(item.since_position);
  }
  add_known_text(object, "project", item.project);
  add_known_text(object, "loop", item.loop);
  add_known_text(object, "station", item.station);
  if (item.asked != 0) object["asked"] = to_json(item.asked);
  if (item.kind == AttentionKind::halted_loop) object["token"] = to_json(item.token);
  if (item.kind == AttentionKind::failed_run) {
    object["failed_position"] = to_json(item.since_position);
  }
  add_known_text(object, "subject", printable(item.subject));
  return object;
}

// Returns whether the latest attempt of the run's station had a job whose output is kept here.
bool has_log(const Api& api, const RunIndex& index, const RunRow& row) {
  const auto pipeline = index.find_pipeline(row.pipeline_digest);
  if (!pipeline || !*pipeline) return false;
  const auto station =
      std::ranges::find((*pipeline)->stations, row.station, &StationDefinition::name);
  if (station == (*pipeline)->stations.end() || is_remote(*station)) return false;
  const auto positions = index.run_positions(row.run_id);
  if (!positions) return false;
  std::size_t looked_at = 0;
  for (auto position = positions->rbegin();
       position != positions->rend() && looked_at < sought_records_max; ++position, ++looked_at) {
    const auto records = api.log.read(*position, 1);
    if (!records || records->empty()) return false;
    if (event_as<StationSubmitIntended>(records->front().event) != nullptr) return true;
    if (event_as<StationClaimed>(records->front().event) != nullptr) return false;
  }
  return false;
}

// Leaves out what would be refused of the commands for a failed run, and adds the one that shows
// what its job printed, as run.why does.
void correct_commands(const Api& api, const RunIndex& index, const RunRow& row,
                      const RunRoots& open_roots, AttentionItem& item) {
  const auto records = api.log.read(row.started_position, 1);
  const auto* started =
      records && !records->empty() ? event_as<RunStarted>(records->front().event) : nullptr;
  const auto holder = started == nullptr ? std::nullopt : open_roots.overlapping(started->run_root);
  if (holder) {
    item.next_commands = {"signalbox run why " + to_string(*holder)};
  } else if (api.are_files_removed && api.are_files_removed(row.run_id)) {
    item.next_commands = {"signalbox run why " + to_string(row.run_id)};
    return;
  }
  if (!has_log(api, index, row)) return;
  item.next_commands.push_back("signalbox run logs " + to_string(row.run_id) + " --station " +
                               shell_word(row.station));
}

// Adds what the row and the record of an item say. What can't be read isn't shown: the rest is.
void add_details(const Api& api, const RunIndex& index, const RunRoots& open_roots,
                 AttentionItem& item) {
  if (item.since_position != 0) {
    const auto records = api.log.read(item.since_position, 1);
    if (records && !records->empty()) add_record(records->front(), item);
  }
  const bool is_about_run = !item.run_id.is_nil() && item.card_id.is_nil() && item.loop.empty();
  if (!is_about_run) return;
  const auto row = index.find(item.run_id);
  if (!row || !*row) return;
  add_row(**row, item);
  if (item.kind == AttentionKind::failed_run) {
    correct_commands(api, index, **row, open_roots, item);
  }
}

// Adds what an approval is about: the size of the run's newest change.patch, which files the work
// changes that decide how it is checked, and what of it was left out. Reads all records of the run.
void add_proposal(const Api& api, const RunIndex& index, const RunId& id, json::object& shown) {
  const auto history = read_history(api.log, index, id);
  if (!history || !*history) return;
  const RunHistory& run = **history;
  const RunTimeline timeline = fold_timeline(run.records, run.pipeline);
  const auto current = current_artifacts(timeline);
  const auto patch = current.find("change.patch");
  if (patch != current.end()) shown["patch_bytes"] = patch->second->bytes;
  add_findings(run, shown);
}

// Finds since when a run is paused whose attempt goes on.
void find_pause(const Api& api, const RunIndex& index, AttentionItem& item) {
  const auto positions = index.run_positions(item.run_id);
  if (!positions) return;
  std::size_t looked_at = 0;
  for (auto position = positions->rbegin();
       position != positions->rend() && looked_at < sought_records_max; ++position, ++looked_at) {
    const auto records = api.log.read(*position, 1);
    if (!records || records->empty()) return;
    if (event_as<RunPaused>(records->front().event) == nullptr) continue;
    item.since_position = *position;
    return;
  }
}

// Adds the failed runs that the world has forgotten, and removes those of cards. A retention that
// kept a run may have dropped the record of its end. Returns false if they can't be read.
bool complete_failed_runs(const RunIndex& index, AttentionMoment& moment) {
  auto failed = failed_runs(index, moment.bounds);
  if (!failed) return false;
  const auto is_listed = [&](const RunId& run_id) {
    return std::any_of(failed->items.begin(), failed->items.end(),
                       [&](const AttentionItem& item) { return item.run_id == run_id; });
  };
  for (const AttentionItem& item : moment.items) {
    if (item.kind != AttentionKind::failed_run || is_listed(item.run_id)) continue;
    const auto waits = is_failed_run(index, item.run_id, item.since_position);
    if (!waits) return false;
    if (*waits) failed->items.push_back(item);
  }
  std::erase_if(moment.items,
                [](const AttentionItem& item) { return item.kind == AttentionKind::failed_run; });
  moment.counts.erase(AttentionKind::failed_run);
  if (!failed->items.empty()) moment.counts[AttentionKind::failed_run] = failed->items.size();
  moment.is_capped = failed->is_capped;
  for (AttentionItem& item : failed->items) moment.items.push_back(std::move(item));
  return true;
}

// Adds what the world doesn't know: all failed runs, and since when runs are paused. Returns false
// if that can't be read.
bool complete_items(const Api& api, const RunIndex* index, const AttentionQuestion& question,
                    AttentionMoment& moment) {
  if (index == nullptr) return false;
  const AttentionSelection asked(question.kinds, 0, std::nullopt);
  if (asked.has(AttentionKind::failed_run) && !complete_failed_runs(*index, moment)) return false;
  for (AttentionItem& item : moment.items) {
    if (item.kind == AttentionKind::paused_run && item.is_later) find_pause(api, *index, item);
  }
  return true;
}

std::string cursor_of(const AttentionItem& item) {
  return std::to_string(item.since_position) + ':' + name_of(item);
}

}  // namespace

Decided<AttentionCursor> read_attention_cursor(const std::string& text) {
  AttentionCursor cursor;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, cursor.position);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != ':') {
    return reject(ErrorCode::INVALID_PARAMS, "cursor must be the next_cursor of a page",
                  {{"field", std::string("cursor")}}, {"signalbox inbox"});
  }
  cursor.name.assign(number.ptr + 1, end);
  return cursor;
}

json::object attention_page(const Api& api, const RunIndex* index, const AttentionMoment& moment,
                            const AttentionQuestion& question) {
  AttentionMoment waiting = moment;
  const bool is_complete = complete_items(api, index, question, waiting);
  sort_by_wait(waiting.items);
  json::object page;
  json::array& items = page["items"].emplace_array();
  json::value next_cursor;
  std::string last;  // cursor of the last item that is shown
  std::size_t proposals = 0;
  for (AttentionItem& item : waiting.items) {
    if (question.cursor && !is_after(item, *question.cursor)) continue;
    if (items.size() == question.limit) {
      next_cursor = last;
      break;
    }
    last = cursor_of(item);
    if (index != nullptr) add_details(api, *index, waiting.open_roots, item);
    json::object shown = item_to_json(item);
    if (index != nullptr && item.kind == AttentionKind::approval &&
        proposals++ < question.proposals_max) {
      add_proposal(api, *index, item.run_id, shown);
    }
    items.push_back(std::move(shown));
  }
  page["next_cursor"] = std::move(next_cursor);
  std::uint64_t total = 0;
  json::object& kinds = page["counts"].emplace_object();
  for (const auto& [kind, count] : waiting.counts) {
    kinds[boost::describe::enum_to_string(kind, "")] = count;
    total += count;
  }
  page["total"] = total;
  page["partial"] = !is_complete;
  if (waiting.is_capped) page["capped"] = true;
  return page;
}

}  // namespace signalbox
