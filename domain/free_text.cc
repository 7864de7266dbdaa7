#include "domain/free_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

namespace signalbox {
namespace {

constexpr std::string_view blanked_json = R"({"redacted":true})";
constexpr std::string_view shortest_text = "-";
constexpr std::string_view shortest_json = "{}";

// Whether no value of this type has a free text. A pipeline is pinned by its digest, and jobs are
// made from it: all its texts are kept.
template <class T>
constexpr bool has_no_free_text =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Uuid> ||
    std::is_same_v<T, Digest> || std::is_same_v<T, KeptText> || std::is_same_v<T, KeptTexts> ||
    std::is_same_v<T, PipelineDefinition>;

// Calls visit(field, text, json) for each free text. A member of an event must have one of the
// types that are handled here, else it doesn't compile; so no text is skipped.
class FreeTextWalk {
 public:
  // No template parameter: the walk through every event is compiled once for all visitors.
  using Visit = std::function<void(const std::string& field, std::string& text, bool json)>;

  explicit FreeTextWalk(Visit visit) : visit_(std::move(visit)) {}

  template <class T>
  void walk(T& value, const std::string& field) {
    static_assert(!std::is_same_v<T, std::string>,
                  "a text of an event is a FreeText, a FreeJson or a KeptText");
    if constexpr (has_no_free_text<T>) {
      return;
    } else {
      using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
      boost::mp11::mp_for_each<Members>([&](auto member) {
        auto& part = value.*member.pointer;
        if constexpr (!has_no_free_text<std::remove_cvref_t<decltype(part)>>) {
          walk(part, field.empty() ? member.name : field + "." + member.name);
        }
      });
    }
  }
  template <class T>
  void walk(std::optional<T>& value, const std::string& field) {
    if (value) walk(*value, field);
  }
  template <class T>
  void walk(std::vector<T>& values, const std::string& field) {
    for (T& value : values) walk(value, field);
  }
  template <TextUse use, class T>
  void walk(Text<use, T>& text, const std::string& field) {
    if constexpr (use != TextUse::kept) texts_of(text, field, use == TextUse::json);
  }

 private:
  void texts_of(std::string& text, const std::string& field, bool json) {
    if (!text.empty()) visit_(field, text, json);
  }
  void texts_of(std::vector<std::string>& texts, const std::string& field, bool json) {
    for (std::string& text : texts) texts_of(text, field, json);
  }
  void texts_of(std::map<std::string, std::string>& texts, const std::string& field, bool json) {
    for (auto& [key, text] : texts) texts_of(text, field, json);
  }

  Visit visit_;
};

void visit_free_texts(Event& event, FreeTextWalk::Visit visit) {
  FreeTextWalk texts(std::move(visit));
  apply([&texts](auto& each) { texts.walk(each, ""); }, event);
}

}  // namespace

std::vector<FoundText> free_texts(const Event& event) {
  std::vector<FoundText> texts;
  Event copy = event;
  visit_free_texts(copy, [&texts](const std::string& field, const std::string& text, bool) {
    texts.push_back({field, text});
  });
  return texts;
}

std::vector<std::string> free_text_fields(const Event& event) {
  std::vector<std::string> fields;
  for (FoundText& each : free_texts(event)) {
    if (std::find(fields.begin(), fields.end(), each.field) == fields.end()) {
      fields.push_back(std::move(each.field));
    }
  }
  return fields;
}

bool is_blank(std::string_view text) {
  return text == blanked_text || text == blanked_json || text == shortest_text ||
         text == shortest_json;
}

Event without_free_texts(Event event, std::span<const std::string> fields, Blank blank) {
  const bool telling = blank == Blank::telling;
  visit_free_texts(event, [&](const std::string& field, std::string& text, bool json) {
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) return;
    if (is_blank(text)) return;
    text =
        json ? (telling ? blanked_json : shortest_json) : (telling ? blanked_text : shortest_text);
  });
  return event;
}

}  // namespace signalbox
