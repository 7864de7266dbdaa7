// `signalbox events`: reads or follows the log.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "domain/try.h"
#include "server/text/separated_text.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/event_stream.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/nearest_word.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/terminal.h"
#include "tools/cli/text_table.h"
#include "tools/views/event_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::uint64_t page_events_max = 1000;

struct EventsOptions {
  std::optional<std::string> from;
  std::uint64_t limit = 100;
  std::optional<std::string> run_id;
  std::optional<std::string> span_id;
  std::vector<std::string> types;
  std::optional<std::string> stream, actor;
  bool backwards = false;
  bool follow = false;
  bool list_types = false;
};

json::object filter_params(const EventsOptions& options) {
  json::object params;
  set_param(params, "from", options.from);
  set_param(params, "run_id", options.run_id);
  set_param(params, "span_id", options.span_id);
  if (!options.types.empty()) {
    params["types"] = json::array(options.types.begin(), options.types.end());
  }
  set_param(params, "stream", options.stream);
  set_param(params, "actor", options.actor);
  if (options.backwards) params["backwards"] = true;
  return params;
}

bool is_position(const std::string& moment) {
  return moment.find_first_not_of("0123456789") == std::string::npos;
}

// Returns the position that a moment is; 0 if it is a time or an age, or isn't given.
std::uint64_t position_named(const std::optional<std::string>& moment) {
  return moment ? whole_number<std::uint64_t>(*moment).value_or(0) : 0;
}

// Returns the position of the first event from a time or an age on. A subscription begins with a
// position.
Called<std::uint64_t> position_from(const Invocation& invocation, const std::string& moment) {
  const auto page = TRY(call_server(invocation, "events.read", {{"from", moment}, {"limit", 1}}));
  const json::array& events = array_at(page, "events");
  if (events.empty()) return number_at(page, "next_from");
  return number_at(events.front().as_object(), "position");
}

// Reads pages up to the limit or the end: a page may have fewer events than asked for, or none,
// although more follow.
Called<json::object> read_events(const Invocation& invocation, const EventsOptions& options) {
  json::object params = filter_params(options);
  TRY(complete_ids(invocation, params));
  json::array events;
  for (;;) {
    params["limit"] = std::min(options.limit - events.size(), page_events_max);
    auto page = call_server(invocation, "events.read", params);
    if (!page) return page;
    for (const json::value& each : array_at(*page, "events")) events.push_back(each);
    if (!true_at(*page, "more") || events.size() >= options.limit) {
      (*page)["events"] = std::move(events);
      return page;
    }
    params["from"] = number_at(*page, "next_from");
  }
}

// Adds the type that was probably meant to a refusal of one that there isn't.
CallError with_type_meant(CallError error, const EventsOptions& options) {
  for (const std::string& type : options.types) {
    if (name_meant(error.error, "types", type)) break;
  }
  return error;
}

ExitCode follow(const Invocation& invocation, const EventsOptions& options) {
  const Terminal terminal = output_terminal(invocation);
  LogView log(/*named=*/true);
  json::object filter = filter_params(options);
  if (options.from && !is_position(*options.from)) {
    const auto first = position_from(invocation, *options.from);
    if (!first) return answer(invocation, tl::unexpected(first.error()), {});
    filter["from"] = *first;
  }
  const auto followed = follow_events(
      invocation, std::move(filter),
      [&](const json::object& event) {
        if (invocation.json) {
          write_json(event);
        } else {
          write_out(event_line(event, terminal, wall_clock_ns()));
        }
        return true;
      },
      [&](const std::string& name, const json::object& params) {
        if (invocation.json) {
          json::object line = params;
          line["type"] = name;
          write_json(line);
        } else if (name == "agent.log") {
          write_out(log.lines(params, terminal));
        } else {
          write_out(broadcast_line(name, params, terminal, wall_clock_ns()));
        }
      });
  if (followed) return ExitCode::ok;
  return answer(invocation, tl::unexpected(with_type_meant(followed.error(), options)), {});
}

// On a terminal below the names of the nouns, with lines that are broken between words.
std::string view_event_types(const json::object& result, const Terminal& terminal) {
  TextTable table({{"noun"}, {"type"}, {"what it says"}});
  std::map<std::string, std::vector<std::pair<std::string, Cell>>> sentences;
  std::vector<std::string> nouns;
  for (const json::value& each : array_at(result, "types")) {
    const json::object& type = each.as_object();
    const std::string noun = text_at(type, "noun");
    const std::string name = text_at(type, "type");
    const std::string sentence = text_at(type, "sentence");
    table.add({{noun}, {name}, {sentence}});
    auto& of_noun = sentences[noun];
    if (of_noun.empty()) nouns.push_back(noun);
    of_noun.push_back({name, {sentence}});
  }
  if (!terminal.columns) return table.text(terminal);
  std::string text;
  for (const std::string& noun : nouns) {
    text += (text.empty() ? "" : "\n") + styled(terminal, Style::strong, printable(noun)) + "\n" +
            named_values(sentences[noun], terminal);
  }
  return text;
}

ExitCode events(const Invocation& invocation, const EventsOptions& options) {
  if (options.list_types) {
    return call_and_answer(invocation, "events.types", {}, view_event_types);
  }
  if (options.follow) return follow(invocation, options);
  return answer(invocation, read_events(invocation, options).map_error([&options](CallError error) {
    return with_type_meant(std::move(error), options);
  }),
                [&options](const json::object& result, const Terminal& terminal) {
                  std::string text;
                  if (result.contains("history_from")) {
                    write_message("the log is complete from position " +
                                  text_at(result, "history_from") +
                                  " on; older records remain only for open runs and cards\n");
                  }
                  for (const json::value& each : array_at(result, "events")) {
                    text += event_line(each.as_object(), terminal, wall_clock_ns());
                  }
                  const std::uint64_t end = number_at(result, "position");
                  if (!options.backwards && position_named(options.from) > end) {
                    write_message("the log ends at " + std::to_string(end) +
                                  "; --follow waits for what comes next\n");
                  }
                  const bool is_filtered = options.run_id || options.span_id || options.stream ||
                                           options.actor || !options.types.empty();
                  if (text.empty() && is_filtered && !true_at(result, "more")) {
                    write_message("no event matches\n");
                  }
                  if (true_at(result, "more")) {
                    text += std::string("more: ") + (options.backwards ? "--backwards " : "") +
                            "--from " + text_at(result, "next_from") + "\n";
                  }
                  return text;
                });
}

}  // namespace

void add_events_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("events", "Read or follow the log's events");
  const auto options = std::make_shared<EventsOptions>();
  command
      .add_option("--from", options->from,
                  "The first position, or a time (RFC 3339) or an age (1h); default: the first "
                  "there is, or with --follow the next event")
      .type_name("MOMENT");
  command.add_option("--limit", options->limit, "The maximum number of events, without --follow")
      .range(std::uint64_t{1}, std::uint64_t{1'000'000})
      .shows_default();
  command.add_option("--run", options->run_id, "Only events of this run");
  command.add_option("--span", options->span_id,
                     "Only this span: a run's, which is its id, or an attempt's");
  command.add_option("--type", options->types, "Only events of this type, or of any of several")
      .list();
  command.add_option("--stream", options->stream,
                     "Only events of this stream, such as lock/deploy");
  command.add_option("--actor", options->actor, "Only events of this actor");
  command.add_flag("--backwards", options->backwards,
                   "The newest first, from --from or the end of the log on");
  command.add_flag("--list-types", options->list_types,
                   "The types of events there are, with a sentence each");
  command.add_flag("--follow", options->follow, "Follow new events until interrupted");
  command.excludes("--follow", {"--stream", "--actor", "--backwards"});
  command.footer(
      "With --follow --json the output is a stream of JSON objects, one event a line.\n"
      "With --follow, --type also takes names of broadcasts: heartbeat.tick, agent.log,\n"
      "...\n\n"
      "Examples:\n"
      "  signalbox events --from 120 --limit 1\n"
      "  signalbox events --backwards --limit 20\n"
      "  signalbox events --from 1h --actor uid:1000\n"
      "  signalbox events --run \"$run\" --type StationSucceeded --json\n"
      "  signalbox events --span \"$run\"\n"
      "  signalbox events --follow --type agent.log\n"
      "  signalbox events --follow --json | jq -r .type");
  command.action([options, &invocation] { return events(invocation, *options); });
}

}  // namespace signalbox
