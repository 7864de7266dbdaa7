#include "server/rpc/noun_state.h"

#include <algorithm>
#include <utility>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// More fields than this that disappear together, as when a run ends, become one line.
constexpr std::size_t removed_fields_max = 4;

std::string text_of_value(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

// Returns whether `value` is a field's default.
bool is_unset(const json::value& value) {
  if (value.is_null()) return true;
  if (const bool* flag = value.if_bool()) return !*flag;
  if (const auto* text = value.if_string()) {
    return text->find_first_not_of("0-") == json::string::npos;  // a zero digest or id as well
  }
  if (const auto* array = value.if_array()) return array->empty();
  if (const auto* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(),
                       [](const auto& each) { return is_unset(each.value()); });
  }
  return value.to_number<double>() == 0;
}

class Comparison {
 public:
  void compare(const json::object& before, const json::object& after, const std::string& path) {
    std::vector<FieldDifference> removed;
    for (const auto& each : before) {
      const std::string field =
          path.empty() ? std::string(each.key()) : path + "." + std::string(each.key());
      if (const json::value* now = after.if_contains(each.key())) {
        compare(each.value(), *now, field);
      } else if (!is_unset(each.value())) {
        removed.push_back({field, text_of_value(each.value()), {}});
      }
    }
    if (removed.size() > removed_fields_max) {
      removed = {{std::to_string(removed.size()) + " other fields", "", ""}};
    }
    found.insert(found.end(), removed.begin(), removed.end());
    for (const auto& each : after) {
      if (before.contains(each.key())) continue;
      add_new(each.value(),
              path.empty() ? std::string(each.key()) : path + "." + std::string(each.key()));
    }
  }

  std::vector<FieldDifference> found;

 private:
  void compare(const json::value& before, const json::value& after, const std::string& path) {
    if (before == after) return;
    const auto* array_before = before.if_array();
    const auto* array_after = after.if_array();
    if (before.is_object() && after.is_object()) {
      compare(before.get_object(), after.get_object(), path);
    } else if (array_before != nullptr && array_after != nullptr) {
      compare(*array_before, *array_after, path);
    } else {
      found.push_back({path, text_of_value(before), text_of_value(after)});
    }
  }
  void compare(const json::array& before, const json::array& after, const std::string& path) {
    const std::size_t common = std::min(before.size(), after.size());
    for (std::size_t index = 0; index < std::max(before.size(), after.size()); ++index) {
      const std::string field = path + "[" + std::to_string(index) + "]";
      if (index < common) {
        compare(before[index], after[index], field);
      } else if (index < before.size()) {
        found.push_back({field, text_of_value(before[index]), {}});
      } else {
        add_new(after[index], field);
      }
    }
  }
  void add_new(const json::value& value, const std::string& path) {
    if (is_unset(value)) return;
    if (const auto* object = value.if_object()) {
      for (const auto& each : *object) add_new(each.value(), path + "." + std::string(each.key()));
    } else if (const auto* array = value.if_array()) {
      for (std::size_t index = 0; index < array->size(); ++index) {
        add_new((*array)[index], path + "[" + std::to_string(index) + "]");
      }
    } else {
      found.push_back({path, {}, text_of_value(value)});
    }
  }
};

template <class T>
std::optional<json::object> state_of(const T* noun) {
  if (noun == nullptr) return std::nullopt;
  return to_json(*noun).as_object();
}

template <class Nouns>
auto find_in(const Nouns& nouns, const std::string& name) -> decltype(&nouns.begin()->second) {
  const auto found = nouns.find(name);
  return found == nouns.end() ? nullptr : &found->second;
}

// Sets `waiting` to null for stations that don't wait: it is meaningless for them.
json::object state_of_run(const Run& run) {
  json::object state = *state_of(&run);
  for (json::value& station : state.at("stations").as_array()) {
    if (station.at("status") != "waiting") station.at("waiting") = nullptr;
  }
  return state;
}

// With what is decided about runners, by id.
std::optional<json::object> state_of_server(const World& world) {
  auto state = state_of(&world.server);
  if (world.runners.empty()) return state;
  json::object& runners = (*state)["runners"].emplace_object();
  for (const auto& [runner, decision] : world.runners) runners[runner] = to_json(decision);
  return state;
}

}  // namespace

std::optional<json::object> noun_state(const World& world, const Stream& stream) {
  switch (stream.kind) {
    case StreamKind::server:
      return state_of_server(world);
    case StreamKind::run:
      if (const Run* run = world.find_run(stream.run_id)) return state_of_run(*run);
      return state_of(world.ended_runs.find(stream.run_id));
    case StreamKind::lock:
      if (const Lock* lock = world.find_lock(stream.name)) return state_of(lock);
      return state_of(world.ended_locks.find(stream.name));
    case StreamKind::tick: {
      auto tick = state_of(world.find_tick(stream.name));
      if (const auto loop = state_of(find_in(world.loops, stream.name))) {
        if (!tick) tick.emplace();
        (*tick)["loop"] = *loop;
      }
      return tick;
    }
    case StreamKind::project:
      return state_of(world.find_project(stream.name));
    case StreamKind::card:
      return state_of(world.board.find(stream.run_id));
    case StreamKind::access:
      return state_of(&world.access);
  }
  return std::nullopt;
}

std::optional<Stream> parse_stream(std::string_view text) {
  if (text == "server") return Stream::server();
  if (text == "access") return Stream::access();
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash + 1 == text.size()) return std::nullopt;
  const std::string_view kind = text.substr(0, slash);
  const std::string name(text.substr(slash + 1));
  if (kind == "lock") return Stream::lock(name);
  if (kind == "tick") return Stream::tick(name);
  if (kind == "project") return Stream::project(name);
  const auto id = parse_uuid(name);
  if (id && kind == "run") return Stream::run(*id);
  if (id && kind == "card") return Stream::card(*id);
  return std::nullopt;
}

std::vector<FieldDifference> differences(const std::optional<json::object>& before,
                                         const std::optional<json::object>& after) {
  Comparison comparison;
  const json::object none;
  comparison.compare(before ? *before : none, after ? *after : none, "");
  return std::move(comparison.found);
}

std::vector<FieldDifference> differences_at_end(const std::optional<json::object>& before,
                                                const json::object& after, const Event* end) {
  std::optional<json::object> common;
  if (before) {
    common.emplace();
    for (const auto& each : after) {
      if (const json::value* was = before->if_contains(each.key())) (*common)[each.key()] = *was;
    }
  }
  std::vector<FieldDifference> found = differences(common, after);
  if (end == nullptr) return found;
  const auto add = [&found](const char* field, const std::string& value) {
    if (!value.empty()) found.push_back({field, {}, value});
  };
  if (const auto* failed = event_as<RunFailed>(*end)) {
    const std::string code = failed->code;
    const std::string message = failed->message;
    add("station", failed->station);
    add("error_class", boost::describe::enum_to_string(failed->error_class, "?"));
    add("error", message.empty() ? code : code + ": " + message);
  } else if (const auto* canceled = event_as<RunCanceled>(*end)) {
    add("reason", canceled->reason);
  }
  return found;
}

std::vector<FieldDifference> differences_of(const Stream& stream,
                                            const std::optional<json::object>& before,
                                            const std::optional<json::object>& after,
                                            const Event* end) {
  if (is_ended_run(stream, after)) return differences_at_end(before, *after, end);
  return differences(before, after);
}

json::array describe_differences(const std::vector<FieldDifference>& fields) {
  json::array shown;
  for (const FieldDifference& field : fields) {
    json::object each{{"field", field.field}};
    if (!field.before.empty()) each["from"] = field.before;
    if (!field.after.empty()) each["to"] = field.after;
    shown.push_back(std::move(each));
  }
  return shown;
}

const char* change_between(const std::optional<json::object>& before,
                           const std::optional<json::object>& after) {
  if (!before) return "appears";
  return after ? "changes" : "is gone";
}

bool is_ended_run(const Stream& stream, const std::optional<json::object>& state) {
  return stream.kind == StreamKind::run && state && state->contains("ended_at");
}

}  // namespace signalbox
