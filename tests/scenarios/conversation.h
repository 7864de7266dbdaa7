// A conversation with the real binary over its socket, as the files of transcripts/ have it: their
// format is in transcript_test.cc.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/described_call.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {

inline const std::filesystem::path transcripts =
    std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/scenarios/transcripts";

// Returns the names of the files of transcripts/, sorted.
inline std::vector<std::string> transcript_names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(transcripts)) {
    if (entry.path().extension() == ".txt") found.push_back(entry.path().stem().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Returns the value at a path such as "result.claim.token", or null.
inline boost::json::value at_path(const boost::json::value& value, const std::string& path) {
  boost::json::value here = value;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    if (here.is_array()) {
      const auto& array = here.get_array();
      const std::size_t index = std::stoul(key);
      here = index < array.size() ? array[index] : boost::json::value(nullptr);
    } else {
      const boost::json::value* next =
          here.is_object() ? here.get_object().if_contains(key) : nullptr;
      here = next == nullptr ? boost::json::value(nullptr) : *next;
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

  // Sends {"method", "params"} with its $names replaced. Returns the answer, and expects that the
  // OpenRPC document describes it.
  boost::json::value ask(const std::string& question) {
    boost::json::object request = boost::json::parse(with_values(question)).as_object();
    request["jsonrpc"] = "2.0";
    request["id"] = 1;
    const std::string line = boost::json::serialize(request) + "\n";
    EXPECT_EQ(::send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
    boost::json::object answer = boost::json::parse(next_line()).as_object();
    answer.erase("jsonrpc");
    answer.erase("id");
    openrpc::expect_described(std::string(request.at("method").as_string()), answer);
    return answer;
  }
  // Runs a printed command unchanged, in a shell that finds the binary and the server.
  [[nodiscard]] Output paste(const std::string& command) const { return server_.paste(command); }
  void keep(const std::string& name, const boost::json::value& value) {
    const std::string text =
        value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value);
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
  [[nodiscard]] std::string normalized(const boost::json::value& answer) const {
    std::string text = boost::json::serialize(ordered(answer, ""));
    for (const auto& [name, value] : values_) {
      if (value.size() > 8) text = replaced(text, value, "$" + name);
    }
    static const std::pair<std::regex, std::string> rules[] = {
        {std::regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"},
        {std::regex("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d[.\\d]*Z"), "TIME"},
        {std::regex("\\b[0-9a-f]{64}\\b"), "DIGEST"},
        {std::regex("--from \\d+"), "--from POSITION"},
        {std::regex("--asked \\d+"), "--asked POSITION"},
        {std::regex("--(seen|token) \\d+"), "--$1 POSITION"},
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
  static boost::json::value ordered(const boost::json::value& value, const std::string& key) {
    if (value.is_object()) {
      boost::json::object object;
      for (const auto& each : value.get_object()) {
        object[each.key()] = ordered(each.value(), std::string(each.key()));
      }
      return object;
    }
    if (value.is_array()) {
      boost::json::array array;
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

// Called after each answer to a `>` line. Returns false to end the conversation there.
using Answered =
    std::function<bool(const Conversation& conversation, const boost::json::value& answer)>;

// Plays the conversation. Returns the transcript with the answers of now.
inline std::string play_transcript(const std::string& text, const Answered& answered = {}) {
  const TemporaryDirectory scratch;
  Conversation conversation;
  boost::json::value answer;
  std::ostringstream out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("< ")) continue;
    out << line << '\n';
    if (line.starts_with("> ")) {
      answer = conversation.ask(line.substr(2));
      out << "< " << conversation.normalized(answer) << '\n';
      if (answered && !answered(conversation, answer)) break;
    } else if (line == "! repository") {
      conversation.keep("repository",
                        boost::json::value(make_repository(scratch.path() / "site").string()));
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
        const boost::json::value found = at_path(conversation.ask(line.substr(2, end - 1)), path);
        return (found.is_string() ? std::string(found.get_string())
                                  : boost::json::serialize(found)) == wanted;
      })) << line;
    }
  }
  return out.str();
}

}  // namespace signalbox
