#include "server/followers/run_root/render_timeout.h"

#include <cstdio>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "domain/refusals.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The fields that the checkpoints of stations and of ticks have in common.
struct TimeoutCheckpoint {
  std::string title;
  std::string stage;
  std::int64_t elapsed_ms = 0;
  std::int64_t timeout_ms = 0;
  std::string timer_origin_field;
  std::int64_t timer_origin_ns = 0;
  bool has_manifest = false;
  json::object more;  // fields of this kind only
  std::vector<std::string> next_commands;
};

// Formats milliseconds as seconds: 1500 as "1.5".
std::string seconds(std::int64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(ms) / 1000.0);
  std::string trimmed = text;
  while (trimmed.back() == '0') trimmed.pop_back();
  if (trimmed.back() == '.') trimmed.pop_back();
  return trimmed;
}

json::value seconds_number(std::int64_t ms) {
  if (ms % 1000 == 0) return ms / 1000;
  return static_cast<double>(ms) / 1000.0;
}

std::string json_text(const Record& record, const TimeoutCheckpoint& checkpoint,
                      const std::string& root) {
  json::object object;
  object["schema_version"] = "timeout_checkpoint.v1";
  object["created_at"] = format_time(record.recorded_at_ns);
  object["stage"] = checkpoint.stage;
  object["elapsed_s"] = seconds_number(checkpoint.elapsed_ms);
  object["timeout_s"] = seconds_number(checkpoint.timeout_ms);
  object["timer_origin_field"] = checkpoint.timer_origin_field;
  object["timer_origin"] = format_time(checkpoint.timer_origin_ns);
  object["manifest_path"] = checkpoint.has_manifest
                                ? json::value(root + "/" + run_root_path::manifest)
                                : json::value(nullptr);
  object["checkpoint_md_path"] = root + "/" + run_root_path::timeout_markdown;
  object["position"] = record.position;
  for (const auto& each : checkpoint.more) object[each.key()] = each.value();
  object["next_commands"] =
      json::array(checkpoint.next_commands.begin(), checkpoint.next_commands.end());
  return json::serialize(object) + "\n";
}

std::string markdown_text(const Record& record, const TimeoutCheckpoint& checkpoint,
                          const std::string& root) {
  std::string text = "# " + checkpoint.title + "\n\n";
  const auto row = [&text](const std::string& name, const std::string& value) {
    text += "* " + name + ": " + value + "\n";
  };
  row("when", format_time(record.recorded_at_ns));
  row("stage", checkpoint.stage);
  row("elapsed", seconds(checkpoint.elapsed_ms) + " s");
  row("allowed", seconds(checkpoint.timeout_ms) + " s");
  row("counted from",
      checkpoint.timer_origin_field + ", " + format_time(checkpoint.timer_origin_ns));
  for (const auto& each : checkpoint.more) {
    if (each.value().is_null()) continue;
    row(std::string(each.key()), each.value().is_string() ? std::string(each.value().get_string())
                                                          : json::serialize(each.value()));
  }
  if (checkpoint.has_manifest) row("manifest", root + "/" + run_root_path::manifest);
  row("position in the log", std::to_string(record.position));
  text += "\nTo go on from here:\n\n```sh\n";
  for (const std::string& command : checkpoint.next_commands) text += command + "\n";
  return text + "```\n";
}

std::vector<FileChange> both(const Record& record, const TimeoutCheckpoint& checkpoint,
                             const std::string& root) {
  return {{root, run_root_path::timeout_markdown, FileChange::Kind::write,
           markdown_text(record, checkpoint, root), record.position},
          {root, run_root_path::timeout_json, FileChange::Kind::write,
           json_text(record, checkpoint, root), record.position}};
}

}  // namespace

std::vector<FileChange> render_timeout(const Record& record, const WatchdogTimedOut& event,
                                       const std::string& root) {
  const std::string run = to_string(record.stream.run_id);
  TimeoutCheckpoint checkpoint;
  checkpoint.title = "Station " + event.station + " timed out";
  checkpoint.stage = event.station;
  checkpoint.elapsed_ms = event.elapsed_ms;
  checkpoint.timeout_ms = event.timeout_ms;
  checkpoint.timer_origin_field = event.timer_origin_field == TimerOrigin::started_at
                                      ? "stage.started_at"
                                      : "stage.last_progress_at";
  checkpoint.timer_origin_ns = event.timer_origin_ns;
  checkpoint.has_manifest = true;
  checkpoint.more["run_id"] = run;
  checkpoint.more["attempt"] = event.attempt;
  checkpoint.more["worker"] = event.worker;
  checkpoint.more["span_id"] = to_string(record.span_id);
  checkpoint.next_commands = {"signalbox run get " + run, "signalbox events --run " + run,
                              "signalbox run watch " + run};
  return both(record, checkpoint, root);
}

std::vector<FileChange> render_timeout(const Record& record, const TickTimedOut& event,
                                       const std::string& root) {
  TimeoutCheckpoint checkpoint;
  checkpoint.title = "A tick of " + event.loop + " timed out";
  checkpoint.stage = event.stage;
  checkpoint.elapsed_ms = event.elapsed_ms;
  checkpoint.timeout_ms = event.timeout_ms;
  checkpoint.timer_origin_field = "stage.started_at";
  checkpoint.timer_origin_ns = event.timer_origin_ns;
  checkpoint.has_manifest = !event.run_id.is_nil();
  checkpoint.more["loop"] = event.loop;
  checkpoint.more["token"] = event.token;
  checkpoint.more["run_id"] = id_or_null(event.run_id);
  checkpoint.next_commands = {
      "signalbox events --from " + std::to_string(event.token) + " --limit 50",
      "signalbox tick list --loop " + shell_word(event.loop),
      recover_command(event.loop, event.token)};
  return both(record, checkpoint, root);
}

}  // namespace signalbox
