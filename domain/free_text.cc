#include "domain/free_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/boxed.h"
#include "domain/free_text_fields.h"

namespace signalbox {
namespace {

constexpr std::string_view blanked_json = R"({"redacted":true})";
constexpr std::string_view shortest_text = "-";
constexpr std::string_view shortest_json = "{}";

// What a field can be.
template <class T>
struct Holds {
  static constexpr bool text = std::is_same_v<T, std::string>;
  using Inner = std::conditional_t<boost::describe::has_describe_members<T>::value, T, void>;
};
template <class T>
struct Holds<std::vector<T>> : Holds<T> {};
template <class T>
struct Holds<std::optional<T>> : Holds<T> {};
template <class T>
struct Holds<Boxed<T>> : Holds<T> {};
template <class Key, class T>
struct Holds<std::map<Key, T>> : Holds<T> {};

template <class T>
using MembersOf = boost::describe::describe_members<T, boost::describe::mod_public>;

template <class T, class Member>
using FieldOf = std::remove_cvref_t<decltype(std::declval<T&>().*std::declval<Member>().pointer)>;

constexpr std::size_t count_word(std::string_view words, std::string_view word) {
  std::size_t count = 0;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    count += words.substr(0, end) == word ? 1 : 0;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return count;
}

constexpr std::size_t words_in(std::string_view words) {
  if (words.empty()) return 0;
  return 1 + static_cast<std::size_t>(std::count(words.begin(), words.end(), ' '));
}

// Whether each field of T that holds text, and of what is in it, is listed once, and nothing else.
template <class T>
constexpr bool all_listed() {
  constexpr TextFields fields = text_fields<T>;
  bool listed = true;
  std::size_t texts = 0;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    using Field = Holds<FieldOf<T, decltype(member)>>;
    if constexpr (Field::text) {
      ++texts;
      listed = listed && count_word(fields.free, member.name) +
                                 count_word(fields.json, member.name) +
                                 count_word(fields.kept, member.name) ==
                             1;
    } else if constexpr (!std::is_void_v<typename Field::Inner>) {
      listed = listed && all_listed<typename Field::Inner>();
    }
  });
  return listed && texts == words_in(fields.free) + words_in(fields.json) + words_in(fields.kept);
}

template <class Type>
constexpr bool event_is_listed() {
  static_assert(all_listed<Type>(), "each field of an event that holds text is free or kept");
  return true;
}
template <class... Types>
constexpr bool noun_is_listed(std::type_identity<std::variant<Types...>> /*events*/) {
  return (event_is_listed<Types>() && ...);
}
template <class... Nouns>
constexpr bool all_are_listed(std::type_identity<std::variant<Nouns...>> /*all*/) {
  return (noun_is_listed(std::type_identity<typename Nouns::Alternatives>{}) && ...);
}
static_assert(all_are_listed(std::type_identity<EventNouns>{}));

// Visits free texts: visit(field, text, whether it is JSON).
template <class Visit>
class FreeTextWalk {
 public:
  explicit FreeTextWalk(Visit visit) : visit_(std::move(visit)) {}

  template <class T>
  void fields_of(T& value, const std::string& path) {
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      using Field = Holds<FieldOf<T, decltype(member)>>;
      const bool json = count_word(text_fields<T>.json, member.name) == 1;
      if constexpr (Field::text) {
        if (json || count_word(text_fields<T>.free, member.name) == 1) {
          texts_of(value.*member.pointer, path + member.name, json);
        }
      } else if constexpr (!std::is_void_v<typename Field::Inner>) {
        structs_of(value.*member.pointer, path + member.name + ".");
      }
    });
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

  template <class T>
  void structs_of(T& value, const std::string& path) {
    if constexpr (boost::describe::has_describe_members<T>::value) {
      fields_of(value, path);
    } else if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) structs_of(*value, path);
    } else {
      for (auto& each : value) structs_of(each, path);
    }
  }

  Visit visit_;
};

template <class Visit>
void visit_free_texts(Event& event, Visit visit) {
  FreeTextWalk<Visit> walk(std::move(visit));
  apply([&walk](auto& each) { walk.fields_of(each, ""); }, event);
}

}  // namespace

std::vector<FreeText> free_texts(const Event& event) {
  std::vector<FreeText> texts;
  Event copy = event;
  visit_free_texts(copy, [&texts](const std::string& field, const std::string& text, bool) {
    texts.push_back({field, text});
  });
  return texts;
}

std::vector<std::string> free_text_fields(const Event& event) {
  std::vector<std::string> fields;
  for (FreeText& each : free_texts(event)) {
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
