#include "tests/store/sample_events.h"

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

namespace signalbox::test {
namespace {

class Filler {
 public:
  template <class T>
  requires std::is_integral_v<T>
  void fill(T& value) { value = static_cast<T>(++count_); }
  void fill(bool& value) { value = !value; }
  template <class T>
  requires(std::is_enum_v<T> && !std::is_same_v<T, WaitReason> &&
           !std::is_same_v<T, Role>) void fill(T& value) {
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
        [&](auto enumerator) { value = enumerator.value; });  // ends with the last enumerator
  }
  // The last enumerator when the golden rows were written: enumerations grow, those bytes stay.
  void fill(WaitReason& value) { value = WaitReason::deferred; }
  void fill(Role& value) { value = Role::admin; }
  template <class T>
  requires std::is_same_v<T, Uuid> || std::is_same_v<T, Digest>
  void fill(T& value) {
    for (auto& byte : value.bytes) byte = static_cast<std::uint8_t>(++count_);
  }
  void fill(std::string& value) { value = "text " + std::to_string(++count_); }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(2);
    for (T& value : values) fill(value);
  }
  template <class T>
  void fill(std::map<std::string, T>& values) {
    fill(values["key " + std::to_string(++count_)]);
    fill(values["key " + std::to_string(++count_)]);
  }
  template <class T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
  template <class T>
  requires boost::describe::has_describe_members<T>::value && std::is_class_v<T>
  void fill(T& value) {
    using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
    boost::mp11::mp_for_each<Members>([&](auto member) { fill(value.*member.pointer); });
  }

 private:
  int count_ = 0;
};

template <class Noun, class Type>
Event filled() {
  Type event;
  Filler().fill(event);
  return Noun(std::move(event));
}

template <class Noun, class... Types>
void add_noun(std::type_identity<std::variant<Types...>> /*events*/, std::vector<Event>& events) {
  (events.push_back(filled<Noun, Types>()), ...);
}

template <class... Nouns>
void add_all(std::type_identity<std::variant<Nouns...>> /*all*/, std::vector<Event>& events) {
  (add_noun<Nouns>(std::type_identity<typename Nouns::Alternatives>{}, events), ...);
}

}  // namespace

std::vector<Event> sample_events() {
  std::vector<Event> events;
  add_all(std::type_identity<EventNouns>{}, events);
  return events;
}

Record sample_record(Position position, Event event) {
  Record record;
  record.position = position;
  RunId run_id;
  for (auto& byte : run_id.bytes) byte = static_cast<std::uint8_t>(position * 7 + 1);
  record.stream = Stream::run(run_id);
  record.recorded_at_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(position);
  record.actor = "uid:1000";
  record.command_id = "command " + std::to_string(position);
  record.request_digest.bytes.fill(static_cast<std::uint8_t>(position + 3));
  record.cause = position / 2 + 1;
  record.span_id.bytes.fill(static_cast<std::uint8_t>(position + 5));
  record.event = std::move(event);
  return record;
}

Commit sample_commit(Position first, std::size_t count) {
  // Without PayloadRedacted: it refers to another record, which would have to match it.
  static const std::vector<Event> events = [] {
    std::vector<Event> all = sample_events();
    std::erase_if(all,
                  [](const Event& each) { return event_as<PayloadRedacted>(each) != nullptr; });
    return all;
  }();
  Commit commit;
  for (Position position = first; position < first + count; ++position) {
    commit.push_back(sample_record(position, events[position % events.size()]));
  }
  return commit;
}

}  // namespace signalbox::test
