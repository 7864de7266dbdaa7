#include "tools/cli/typed_command.h"

#include <algorithm>

#include "domain/refusals.h"

namespace signalbox {

std::string pasted_words(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    // Options need no quotes because they begin with dashes.
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    const std::string rest = word.substr(dashes);
    const bool is_plain = !rest.empty() && shell_word(rest) == rest;
    command += (command.empty() ? "" : " ") + (is_plain ? word : shell_word(word));
  }
  return command;
}

std::string typed_command(const Invocation& invocation, const std::vector<std::string>& more,
                          const std::vector<LeftOutOption>& left_out) {
  std::vector<std::string> words{"signalbox"};
  for (char** word = invocation.words; word != nullptr && *word != nullptr; ++word) {
    if (word == invocation.words) continue;
    const std::string typed(*word);
    const auto option =
        std::find_if(left_out.begin(), left_out.end(), [&typed](const LeftOutOption& each) {
          return typed == each.name || typed.starts_with(each.name + "=");
        });
    if (option == left_out.end()) {
      words.push_back(typed);
    } else if (typed == option->name && option->has_value && *(word + 1) != nullptr) {
      ++word;
    }
  }
  words.insert(words.end(), more.begin(), more.end());
  return pasted_words(words);
}

}  // namespace signalbox
