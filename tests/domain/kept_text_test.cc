// Every text of an event is either free, so that it can be erased at any time, or one of those that
// are listed here with the reason why it can't be: later records, jobs or the tree need it.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/event.h"
#include "domain/refusals.h"

namespace signalbox {
namespace {

// Why a text is kept.
enum class Kept {
  name,      // what a client named: the key by which it is found again (require_name, require_line)
  path,      // a path or a git ref that files and jobs were made at
  code,      // a code of ours or of a failure, at most limits::name_bytes_max
  by_us,     // written by the service itself, never taken from a client
  recorded,  // what a proof is made of
};

const std::map<std::string, Kept>& reasons() {
  static const std::map<std::string, Kept> all = {
      {"actor", Kept::recorded},
      {"archive", Kept::path},
      {"base", Kept::path},
      {"by", Kept::name},
      {"cause", Kept::by_us},
      {"code", Kept::code},
      {"commit", Kept::path},
      {"current_owner", Kept::name},
      {"event", Kept::by_us},
      {"evidence", Kept::by_us},
      {"failure.code", Kept::code},
      {"fields", Kept::by_us},
      {"idempotency_key", Kept::name},
      {"items.name", Kept::name},
      {"job_id", Kept::by_us},
      {"key", Kept::name},
      {"loop", Kept::name},
      {"machine", Kept::by_us},
      {"marker_path", Kept::path},
      {"method", Kept::recorded},
      {"name", Kept::name},
      {"origin", Kept::recorded},
      {"owner", Kept::name},
      {"path", Kept::path},
      {"previous", Kept::recorded},
      {"project", Kept::name},
      {"remote", Kept::path},
      {"CellTaken.cell", Kept::name},
      {"CellTaken.server", Kept::name},
      {"ProjectionRebuilt.projection", Kept::by_us},
      {"ProjectionRebuilt.reason", Kept::by_us},
      {"repository", Kept::path},
      {"rescue_ref", Kept::path},
      {"result.artifacts.media_type", Kept::code},
      {"result.artifacts.name", Kept::path},
      {"run_root", Kept::path},
      {"runner", Kept::name},
      {"station", Kept::name},
      {"step", Kept::name},
      {"steps.definition.dependencies", Kept::name},
      {"steps.definition.id", Kept::name},
      {"steps.dependencies", Kept::name},
      {"steps.id", Kept::name},
      {"projection", Kept::by_us},
      {"ProjectionRebuilt.reason", Kept::by_us},
      {"TickSkipped.reason", Kept::by_us},
      {"TickMissed.reason", Kept::by_us},
      {"verifier_key", Kept::recorded},
      {"version", Kept::by_us},
      {"worker", Kept::name},
  };
  return all;
}

// Collects the paths of an event's kept texts.
class KeptTextWalk {
 public:
  template <class T>
  void walk(const T& value, const std::string& path) {
    if constexpr (boost::describe::has_describe_members<T>::value) {
      using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
      boost::mp11::mp_for_each<Members>(
          [&](auto member) { walk(value.*member.pointer, path + "." + member.name); });
    }
  }
  // What a pipeline consists of is executed, and pinned by its digest.
  void walk(const PipelineDefinition&, const std::string&) {}
  template <class T>
  void walk(const std::optional<T>&, const std::string& path) {
    walk(T{}, path);
  }
  template <class T>
  void walk(const std::vector<T>&, const std::string& path) {
    walk(T{}, path);
  }
  template <TextUse use, class T>
  void walk(const Text<use, T>&, const std::string& path) {
    if (use == TextUse::kept) kept.insert(path);
  }
  void walk(const std::string&, const std::string& path) { plain.insert(path); }

  std::set<std::string> kept;
  std::set<std::string> plain;  // texts without a declared use; the library doesn't compile them
};

KeptTextWalk walk_all_events() {
  KeptTextWalk texts;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, EventNouns>>(
      [&texts](auto noun) {
        using Events = typename decltype(noun)::type::Alternatives;
        boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, Events>>(
            [&texts](auto event) {
              using One = typename decltype(event)::type;
              texts.walk(One{}, std::string(One::tag.name));
            });
      });
  return texts;
}

TEST(KeptText, EachHasAReasonAndEveryOtherTextCanBeErased) {  // G17
  const KeptTextWalk texts = walk_all_events();
  EXPECT_TRUE(texts.plain.empty()) << *texts.plain.begin();
  EXPECT_GT(texts.kept.size(), 50U);
  for (const std::string& path : texts.kept) {
    const std::string field = path.substr(path.find_first_of('.') + 1);
    EXPECT_TRUE(reasons().contains(field) || reasons().contains(path))
        << path << " is kept without a reason: make it a FreeText, or say here why it must stay";
  }
  for (const auto& row : reasons()) {
    const std::string& name = row.first;
    const bool used = std::any_of(texts.kept.begin(), texts.kept.end(), [&](const auto& path) {
      return path == name || path.substr(path.find_first_of('.') + 1) == name;
    });
    EXPECT_TRUE(used) << name << " is no kept text any more";
  }
}

// A failure's code is kept, so a worker can't put a sentence there.
TEST(KeptText, ACodeIsAToken) {  // G17
  EXPECT_TRUE(require_token("error_code", "EXIT_NONZERO", limits::name_bytes_max));
  EXPECT_TRUE(require_token("error_code", "rate-limit:429/a.b", limits::name_bytes_max));
  for (const char* text : {"the password is x", "caf\xc3\xa9", "a\nb", "key=value"}) {
    const auto refused = require_token("error_code", text, limits::name_bytes_max);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::INVALID_PARAMS) << text;
  }
  const auto longer = require_token("error_code", std::string(limits::name_bytes_max + 1, 'a'),
                                    limits::name_bytes_max);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::LIMIT_EXCEEDED);
}

}  // namespace
}  // namespace signalbox
