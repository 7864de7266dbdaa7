#include "tools/deep_work/deep_result.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "domain/limits.h"
#include "server/text/json_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns the strings of an array, without its other elements.
json::array texts_of(const json::value* value) {
  json::array texts;
  if (value == nullptr || !value->is_array()) return texts;
  for (const json::value& each : value->get_array()) {
    if (each.is_string()) texts.push_back(each);
  }
  return texts;
}

void add_summary(const std::string& text, json::object& params) {
  if (!text.empty()) params["summary"] = shortened(text, limits::summary_bytes_max);
}

json::object step(const char* id, const std::string& description, const char* type,
                  json::array dependencies) {
  return {{"id", id},
          {"description", shortened(description, limits::reason_bytes_max)},
          {"type", type},
          {"dependencies", std::move(dependencies)},
          {"effort", "medium"}};
}

json::value field_or_null(const json::object& from, std::string_view field) {
  const json::value* const value = from.if_contains(field);
  return value != nullptr ? *value : json::value(nullptr);
}

// Bounds the braces of a text from which an object is looked for.
constexpr int object_candidates_max = 256;

// Returns the length of the braces, with what is between them, at the beginning of `text`; 0 if
// they aren't closed. A brace in a string counts for nothing.
std::size_t braces_bytes(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char next = text[at];
    if (in_string) {
      if (next == '\\') ++at;
      if (next == '"') in_string = false;
    } else if (next == '"') {
      in_string = true;
    } else if (next == '{') {
      ++depth;
    } else if (next == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return 0;
}

// Returns the object that an agent has written: the whole output, or the last object with one of
// these fields in it. Agents put JSON between fences, and tell what they think before it.
Decided<json::object> object_in(const std::string& output,
                                std::initializer_list<std::string_view> fields) {
  const std::string readable = with_replacements(output);
  const std::string_view text = trimmed(readable);
  const auto whole = parse_json(readable_json(text));
  if (whole && whole->is_object()) return whole->get_object();
  std::optional<json::object> last;
  std::size_t at = text.find('{');
  for (int candidate = 0; at != std::string_view::npos && candidate < object_candidates_max;
       ++candidate) {
    const std::size_t bytes = braces_bytes(text.substr(at));
    const auto value = parse_json(readable_json(text.substr(at, bytes)));
    const bool is_object = bytes > 0 && value && value->is_object();
    if (is_object) {
      const json::object& object = value->get_object();
      if (std::any_of(fields.begin(), fields.end(),
                      [&object](std::string_view field) { return object.contains(field); })) {
        last = object;
      }
    }
    at = text.find('{', is_object ? at + bytes : at + 1);
  }
  if (last) return std::move(*last);
  if (!whole) return tl::unexpected(whole.error());
  return reject(ErrorCode::PARSE_ERROR, "an object is expected");
}

}  // namespace

json::object exploration_from_output(const std::string& output, const std::string& tail) {
  json::object params;
  auto value = object_in(tail, {"summary", "files", "findings"});
  if (!value) value = object_in(output, {"summary", "files", "findings"});
  if (!value) {
    add_summary(std::string(trimmed(with_replacements(output))), params);
    return params;
  }
  const json::object& fields_given = *value;
  if (const json::value* summary = fields_given.if_contains("summary");
      summary && summary->is_string()) {
    add_summary(std::string(summary->get_string()), params);
  }
  params["files"] = texts_of(fields_given.if_contains("files"));
  params["findings"] = texts_of(fields_given.if_contains("findings"));
  return params;
}

Decided<json::object> plan_from_output(const std::string& output) {
  const auto value = object_in(output, {"steps"});
  const json::value* steps = value ? value->if_contains("steps") : nullptr;
  if (steps == nullptr || !steps->is_array()) {
    return reject(ErrorCode::PLAN_INVALID,
                  value ? "the plan command's output is not an object with an array \"steps\""
                        : "the plan command's output is not JSON: " + value.error().message,
                  {{"problem", std::string("not_a_plan")}});
  }
  static constexpr std::array<std::string_view, 5> fields = {"id", "description", "type",
                                                             "dependencies", "effort"};
  json::array known;
  for (const json::value& each : steps->get_array()) {
    if (!each.is_object()) {
      known.push_back(each);  // the service rejects it
      continue;
    }
    json::object known_fields;
    for (const std::string_view field : fields) {
      if (const json::value* part = each.get_object().if_contains(field))
        known_fields[field] = *part;
    }
    known.emplace_back(std::move(known_fields));
  }
  return json::object{{"steps", std::move(known)}};
}

json::object default_plan(const std::string& goal) {
  return {{"steps",
           {step("explore", "Find out what has to be changed: " + goal, "explore", {}),
            step("implement", "Make the change: " + goal, "implement", {"explore"}),
            step("test", "Show that it works: " + goal, "test", {"implement"})}}};
}

json::object deep_work_result(const json::object& plan, const std::optional<Failure>& failure,
                              std::int64_t duration_ms) {
  json::object result;
  result["schema_version"] = "deep_work_result.v1";
  result["success"] = !failure.has_value();
  result["exploration"] = field_or_null(plan, "exploration");
  result["plan"] = {{"steps", field_or_null(plan, "steps")}, {"cut", field_or_null(plan, "cut")}};
  result["todo_status"] = field_or_null(plan, "todo_status");
  result["duration_ms"] = duration_ms;
  if (failure) result["error"] = {{"code", failure->code}, {"message", failure->message}};
  return result;
}

}  // namespace signalbox
