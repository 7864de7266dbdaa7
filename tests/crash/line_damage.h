// Random damage to the line of a request: other values and params, and other bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace signalbox::test {

class LineDamage {
 public:
  explicit LineDamage(std::uint64_t seed) : random_(seed) {}

  // Returns the valid request `line` with random damage, some of it from `other`, as one line.
  std::string of(std::string line, const std::string& other) {
    if (pick(3) == 0) exchange_param(line);
    for (std::size_t count = pick(4); count > 0; --count) damage(line, other);
    std::erase(line, '\n');
    return line;
  }

 private:
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  // Gives a param of a valid request another value, of whatever type, or adds a param.
  void exchange_param(std::string& line) {
    static const std::vector<std::string> names = {
        "reason", "limit",  "cursor", "from",  "since",     "until",  "run_id",    "token",
        "kinds",  "types",  "group",  "label", "backwards", "stream", "at",        "bytes",
        "offset", "status", "fields", "by",    "lease_ms",  "actor",  "command_id"};
    static const std::vector<std::string> values = {"null",
                                                    "-1",
                                                    "0",
                                                    "0.5",
                                                    "1e300",
                                                    "[]",
                                                    "{}",
                                                    "true",
                                                    "\"\"",
                                                    "\"last\"",
                                                    "\"1h\"",
                                                    "[[1]]",
                                                    "[null]",
                                                    "\"\\u0000\"",
                                                    "9223372036854775807",
                                                    "18446744073709551615",
                                                    "\"2026-02-30T00:00:00Z\"",
                                                    "\"../..\"",
                                                    "{\"a\":{\"b\":1}}"};
    boost::json::value request = boost::json::parse(line);
    boost::json::object& params = request.at("params").as_object();
    std::string name = names[pick(names.size())];
    if (!params.empty() && pick(2) == 0) {
      name = (params.begin() + static_cast<std::ptrdiff_t>(pick(params.size())))->key();
    }
    params[name] = boost::json::parse(values[pick(values.size())]);
    line = boost::json::serialize(request);
  }
  void damage(std::string& line, const std::string& other) {
    static const std::vector<std::string> words = {"null",
                                                   "-1",
                                                   "1e999",
                                                   "0.1",
                                                   "\"\"",
                                                   "[]",
                                                   "{}",
                                                   "true",
                                                   "99999999999999999999",
                                                   "\\u0000",
                                                   "\\ud800",
                                                   "\xf0\x9f\x92\xa9",
                                                   "\xff",
                                                   ":",
                                                   ",",
                                                   "}",
                                                   "]",
                                                   "\"",
                                                   std::string(1, '\0'),
                                                   "-9223372036854775808",
                                                   "\"9007199254740993\"",
                                                   "cancelled",
                                                   std::string(300, 'x')};
    if (line.empty()) line = "{";
    const std::size_t at = pick(line.size());
    switch (pick(6)) {
      case 0:
        line[at] = static_cast<char>(pick(256));
        return;
      case 1:
        line.erase(at, 1 + pick(8));
        return;
      case 2:
        line.insert(at, words[pick(words.size())]);
        return;
      case 3:
        line.replace(at, std::min<std::size_t>(pick(12), line.size() - at),
                     words[pick(words.size())]);
        return;
      case 4:  // a value in the place of another
        line.replace(at, line.size() - at, other.substr(std::min(at, other.size())));
        return;
      case 5:
        line.insert(at, line.substr(pick(line.size()), 1 + pick(20)));
        return;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace signalbox::test
