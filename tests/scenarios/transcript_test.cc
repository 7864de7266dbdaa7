// The protocol as a person would type it: each file of transcripts/ is a conversation with the real
// binary over its socket, with the server's answers written beside the requests.
//
//   # a comment
//   > {"method":"run.start","params":{…}}   a request, sent as JSON-RPC
//   < {…}                                   the answer: its result, or the error
//   = run result.run_id                     keeps the value at a path of the latest answer; later
//                                           lines name it as $run
//   ? {"method":…} path value               asked again until the answer has this value at the path
//   ! repository                            a new git repository, which later lines name as
//                                           $repository
//
// What differs each time is normalized: ids, times, digests, and kept values.
// SIGNALBOX_REWRITE_TRANSCRIPTS=1 writes the answers anew; read the difference before you keep it.
#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

const std::filesystem::path transcripts =
    std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/scenarios/transcripts";

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(transcripts)) {
    if (entry.path().extension() == ".txt") found.push_back(entry.path().stem().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Returns the value at a path such as "result.claim.token", or null.
json::value at_path(const json::value& value, const std::string& path) {
  json::value here = value;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    if (here.is_array()) {
      const auto& array = here.get_array();
      const std::size_t index = std::stoul(key);
      here = index < array.size() ? array[index] : json::value(nullptr);
    } else {
      const json::value* next = here.is_object() ? here.get_object().if_contains(key) : nullptr;
      here = next == nullptr ? json::value(nullptr) : *next;
    }
  }
  return here;
}

class Conversation {
 public:
  Conversation() {
    // No loop becomes due, so a transcript has only what was asked for.
    std::filesystem::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml")
        << "watchdog_interval = \"1h\"\n"
           "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n";
    server_.start();
    descriptor_ = server_.connect();
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() { ::close(descriptor_); }

  // Sends {"method", "params"} with its $names replaced. Returns the answer.
  json::value ask(const std::string& question) {
    json::object request = json::parse(with_values(question)).as_object();
    request["jsonrpc"] = "2.0";
    request["id"] = 1;
    const std::string line = json::serialize(request) + "\n";
    EXPECT_EQ(::send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
    json::object answer = json::parse(next_line()).as_object();
    answer.erase("jsonrpc");
    answer.erase("id");
    return answer;
  }
  void keep(const std::string& name, const json::value& value) {
    const std::string text =
        value.is_string() ? std::string(value.get_string()) : json::serialize(value);
    EXPECT_FALSE(value.is_null()) << "nothing to keep as " << name;
    values_[name] = text;
  }

  [[nodiscard]] std::string with_values(std::string line) const {
    for (const auto& [name, value] : values_) {
      line = std::regex_replace(line, std::regex("\\$" + name + "\\b"), value);
    }
    return line;
  }
  // Returns the answer as one line, with what varies replaced by fixed words.
  [[nodiscard]] std::string normalized(const json::value& answer) const {
    std::string text = json::serialize(ordered(answer, ""));
    for (const auto& [name, value] : values_) {
      if (value.size() > 8) text = replaced(text, value, "$" + name);
    }
    static const std::pair<std::regex, std::string> rules[] = {
        {std::regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"},
        {std::regex("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d[.\\d]*Z"), "TIME"},
        {std::regex("\\b[0-9a-f]{64}\\b"), "DIGEST"},
        {std::regex("--from \\d+"), "--from POSITION"},
        {std::regex("--asked \\d+"), "--asked POSITION"},
        {std::regex("of position \\d+"), "of position POSITION"},
        {std::regex("no end after \\d+ ms"), "no end after SPAN ms"}};
    for (const auto& [pattern, word] : rules) text = std::regex_replace(text, pattern, word);
    text = replaced(text, server_.data().string(), "DATA");
    return std::regex_replace(text, std::regex("uid:\\d+"), "uid:N");
  }

 private:
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
      at += to.size();
    }
    return text;
  }

  // Replaces positions, tokens and durations, which are recognized by the name of their field.
  static json::value ordered(const json::value& value, const std::string& key) {
    if (value.is_object()) {
      json::object object;
      for (const auto& each : value.get_object()) {
        object[each.key()] = ordered(each.value(), std::string(each.key()));
      }
      return object;
    }
    if (value.is_array()) {
      json::array array;
      for (const auto& each : value.get_array()) array.push_back(ordered(each, key));
      return array;
    }
    const bool is_number = value.is_int64() || value.is_uint64() || value.is_double();
    if (!is_number) return value;
    static const std::regex position("(.*_)?(position|token|from|cursor)|cause|(decided_)?asked");
    static const std::regex span("elapsed_s|duration_ms|marker_age_ms|stalled_ms");
    if (std::regex_match(key, position)) return value.to_number<double>() == 0 ? value : "POSITION";
    if (std::regex_match(key, span)) return "SPAN";
    return value;
  }

  std::string next_line() {
    for (;;) {
      const std::size_t end = received_.find('\n');
      if (end != std::string::npos) {
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      char buffer[4096];
      const ssize_t size = ::recv(descriptor_, buffer, sizeof buffer, 0);
      if (size <= 0) throw std::runtime_error("the server hung up: " + server_.messages());
      received_.append(buffer, static_cast<std::size_t>(size));
    }
  }

  RealServer server_;
  int descriptor_ = -1;
  std::string received_;
  std::map<std::string, std::string> values_;
};

// Plays the conversation. Returns the transcript with the answers of now.
std::string played(const std::string& text) {
  const TemporaryDirectory scratch;
  Conversation conversation;
  json::value answer;
  std::ostringstream out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("< ")) continue;
    out << line << '\n';
    if (line.starts_with("> ")) {
      answer = conversation.ask(line.substr(2));
      out << "< " << conversation.normalized(answer) << '\n';
    } else if (line == "! repository") {
      conversation.keep("repository",
                        json::value(make_repository(scratch.path() / "site").string()));
    } else if (line.starts_with("= ")) {
      std::istringstream words(line.substr(2));
      std::string name, path;
      words >> name >> path;
      conversation.keep(name, at_path(answer, path));
    } else if (line.starts_with("? ")) {
      const std::size_t end = line.rfind('}');
      std::istringstream words(line.substr(end + 1));
      std::string path, wanted;
      words >> path >> wanted;
      EXPECT_TRUE(eventually([&] {
        const json::value found = at_path(conversation.ask(line.substr(2, end - 1)), path);
        return (found.is_string() ? std::string(found.get_string()) : json::serialize(found)) ==
               wanted;
      })) << line;
    }
  }
  return out.str();
}

class Transcript : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Files, Transcript, testing::ValuesIn(names()),
                         [](const auto& each) { return each.param; });

TEST_P(Transcript, IsWhatTheServiceAnswers) {
  const auto file = transcripts / (GetParam() + ".txt");
  const std::string written = content_of(file);
  const std::string now = played(written);
  if (std::getenv("SIGNALBOX_REWRITE_TRANSCRIPTS") != nullptr) std::ofstream(file) << now;
  EXPECT_EQ(now, content_of(file));
}

}  // namespace
}  // namespace signalbox
