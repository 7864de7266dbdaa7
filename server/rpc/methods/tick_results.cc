#include "server/rpc/methods/tick_results.h"

#include <algorithm>
#include <vector>

#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/followers/run_root/render_mirror.h"
#include "server/followers/run_root/tick_marker.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::object open_tick_to_json(const Api& api, const Tick& tick) {
  const std::string run_root = run_root_of(api, tick.run_root, tick.run_id);
  json::object object;
  object["loop"] = tick.loop;
  object["status"] = name_of(tick.status);
  object["token"] = to_json(tick.token);
  object["stage"] = tick.stage;
  object["reason"] = tick.reason;
  object["lease_ms"] = tick.lease_ms;
  if (tick.started_at_ns != 0) {
    object["started_at"] = format_time(tick.started_at_ns);
    object["expires_at"] = lease_end_text(tick.started_at_ns, tick.lease_ms);
  }
  object["incarnation"] = tick.incarnation;
  if (!tick.run_id.is_nil()) object["run_id"] = to_string(tick.run_id);
  if (!run_root.empty()) object["run_root"] = run_root;
  if (tick.lock_token != 0) object["lock_token"] = to_json(tick.lock_token);
  if (tick.halted_at != 0) object["halted_position"] = to_json(tick.halted_at);
  return object;
}

}  // namespace

std::string run_root_of(const Api& api, const std::string& named, const RunId& run_id) {
  if (!named.empty() || run_id.is_nil()) return named;
  return api.facts.data_directory + "/runs/" + to_string(run_id);
}

json::object begin_tick_result(const Api& api, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    const auto* started = event_as<TickStarted>(record.event);
    if (started == nullptr) continue;
    const std::string run_root = run_root_of(api, started->run_root, started->run_id);
    result["loop"] = started->loop;
    result["token"] = to_json(record.position);
    result["lease_ms"] = started->lease_ms;
    result["started_at"] = format_time(record.recorded_at_ns);
    result["expires_at"] = lease_end_text(record.recorded_at_ns, started->lease_ms);
    result["run_root"] = text_or_null(run_root);
    result["marker_path"] =
        text_or_null(run_root.empty() ? run_root : tick_marker_path(run_root).string());
  }
  return result;
}

json::object end_tick_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    if (const auto* succeeded = event_as<TickSucceeded>(record.event)) {
      result["loop"] = succeeded->loop;
      result["token"] = to_json(succeeded->token);
      result["outcome"] = "succeeded";
      result["ended_at"] = format_time(record.recorded_at_ns);
    }
    if (const auto* failed = event_as<TickFailed>(record.event)) {
      result["loop"] = failed->loop;
      result["token"] = to_json(failed->token);
      result["outcome"] = "failed";
      result["error"] = {{"code", failed->code}, {"message", failed->error}};
      result["ended_at"] = format_time(record.recorded_at_ns);
    }
  }
  return result;
}

json::object recover_tick_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["recovered"] = false;
  for (const Record& record : records) {
    if (const auto* recovered = event_as<TickRecovered>(record.event)) {
      result["recovered"] = true;
      result["loop"] = recovered->loop;
      result["token"] = to_json(recovered->token);
      result["actor"] = record.actor;
      result["recovered_at"] = format_time(record.recorded_at_ns);
    }
  }
  return result;
}

json::object open_ticks(const Api& api, const TickFilter& filter, std::size_t limit) {
  std::vector<const Tick*> ticks;
  for (const auto& [loop, tick] : api.engine.world().ticks) {
    const bool matches =
        (!filter.loop || loop == *filter.loop) && (!filter.run_id || tick.run_id == *filter.run_id);
    if (matches) ticks.push_back(&tick);
  }
  std::sort(ticks.begin(), ticks.end(), [](const Tick* left, const Tick* right) {
    return std::pair(right->token, left->loop) < std::pair(left->token, right->loop);
  });
  json::object result;
  json::array& open = result["open"].emplace_array();
  for (std::size_t place = 0; place < std::min(limit, ticks.size()); ++place) {
    open.push_back(open_tick_to_json(api, *ticks[place]));
  }
  result["open_total"] = ticks.size();
  return result;
}

Decided<json::object> tick_list_view(const Api& api, const TickLedger& ledger,
                                     const TickFilter& filter, std::size_t limit, Position cursor,
                                     json::object open) {
  const auto page = ledger.list(filter, limit, cursor);
  if (!page) return unreadable(page.error());
  json::array rows;
  for (const TickRow& row : page->rows) {
    rows.push_back(tick_row_to_json(row, run_root_of(api, row.run_root, row.run_id)));
  }
  open["rows"] = std::move(rows);
  open["next_cursor"] = page->next_cursor != 0 ? json::value(std::to_string(page->next_cursor))
                                               : json::value(nullptr);
  return open;
}

}  // namespace signalbox
