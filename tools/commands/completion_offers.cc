#include "tools/commands/completion_offers.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <sys/time.h>
#include <unistd.h>

#include "domain/try.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/short_id.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using OptionWords = ToolCommand::OptionWords;

// A person who has pressed the tab key waits for it.
constexpr std::chrono::milliseconds completion_ms_max{500};
constexpr std::int64_t offered_rows_max = 50;
constexpr std::size_t description_columns_max = 60;

struct Offer {
  std::string word;
  std::string description;
};
using Offers = std::vector<Offer>;

constexpr const char* files_mark = ":files";
Offers file_names() { return {{files_mark, ""}}; }

// The words before the one that is completed, understood as the command line would.
struct TypedWords {
  explicit TypedWords(const ToolCommand& app) : command(app) {}

  ToolCommand command;
  std::string path;                   // "run list"
  std::optional<OptionWords> option;  // whose value comes next
  std::size_t operands = 0;
  bool is_other_command = false;  // after "--": words of a command that isn't ours
};

std::optional<OptionWords> find_option(const ToolCommand& app, const ToolCommand& command,
                                       std::string_view word) {
  for (const ToolCommand& holder : {command, app}) {
    for (const OptionWords& each : holder.options()) {
      if (std::find(each.words.begin(), each.words.end(), word) != each.words.end()) return each;
    }
  }
  return std::nullopt;
}

// Sets the options that say which server to ask.
void note_address(Invocation& invocation, const OptionWords& option, const std::string& value) {
  const std::string& name = option.words.front();
  if (name == "--data") invocation.data = value;
  if (name == "--socket") invocation.socket = value;
  if (name == "--server") invocation.server = value;
  if (name == "--token-file") invocation.token_file = value;
}

TypedWords understood(const ToolCommand& app, const std::vector<std::string>& words,
                      Invocation& invocation) {
  TypedWords typed(app);
  for (const std::string& word : words) {
    if (word == "=") continue;  // bash takes "--status=failed" apart
    if (typed.option) {
      note_address(invocation, *typed.option, word);
      typed.option.reset();
    } else if (word == "--") {
      typed.is_other_command = true;
      return typed;
    } else if (word.starts_with("--")) {
      typed.option = find_option(app, typed.command, word);
      if (typed.option && !typed.option->takes_value) typed.option.reset();
    } else if (typed.path.empty() && word == "help") {
      continue;  // its operands are the words of a command
    } else {
      bool is_command = false;
      for (const ToolCommand& each : typed.command.subcommands()) {
        if (each.name() != word) continue;
        is_command = true;
        typed.path += (typed.path.empty() ? "" : " ") + word;
        typed.command = each;
        break;
      }
      if (!is_command) ++typed.operands;
    }
  }
  return typed;
}

// Returns rows of a list of the server; none after any error.
json::array rows_of(const Invocation& invocation, const char* method, json::object params,
                    const char* field) {
  const auto read = [&]() -> Called<json::object> {
    const auto server = TRY(invocation.server_address());
    auto client = TRY(Client::connect(server, completion_ms_max));
    return client.call(method, std::move(params));
  };
  const auto result = read();
  return result ? array_at(*result, field) : json::array();
}

// Offers the ends of the ids, or whole ids if `current` is the beginning of one.
Offers ids_of(const json::array& rows, const char* id_field, const char* text_field,
              const std::string& current) {
  if (rows.empty()) return {};
  std::vector<std::string> ids;
  for (const json::value& each : rows) ids.push_back(text_at(each.as_object(), id_field));
  const std::vector<std::string> tails = unique_tails(ids);
  const bool is_tail = std::any_of(tails.begin(), tails.end(), [&](const std::string& each) {
    return each.starts_with(current);
  });
  Offers offers = {{"last", "the newest"}};
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const json::object& fields = rows[row].as_object();
    offers.push_back({is_tail ? tails[row] : ids[row],
                      text_at(fields, "status") + ": " + text_at(fields, text_field)});
  }
  return offers;
}

Offers names_of(const json::array& rows, const char* name_field, const char* text_field) {
  Offers offers;
  for (const json::value& each : rows) {
    offers.push_back(
        {text_at(each.as_object(), name_field), text_at(each.as_object(), text_field)});
  }
  return offers;
}

// Returns the values of an option or an operand of this name.
Offers values_of(const Invocation& invocation, const std::string& path, const OptionWords& option,
                 const std::string& current) {
  Offers offers;
  for (const std::string& each : option.values) offers.push_back({each, ""});
  if (!offers.empty()) return offers;
  const std::string name = option.words.empty() ? option.operand : option.words.front();
  const json::object page{{"limit", offered_rows_max}};
  if (name == "RUN" || name == "--run") {
    return ids_of(rows_of(invocation, "run.list", page, "runs"), "run_id", "goal", current);
  }
  if (name == "CARD") {
    return ids_of(rows_of(invocation, "card.list", page, "cards"), "card_id", "title", current);
  }
  if (name == "--project" || (name == "NAME" && path.starts_with("project "))) {
    return names_of(rows_of(invocation, "project.list", page, "projects"), "name", "repository");
  }
  if (name == "LOOP" || name == "--loop") {
    // Ticks are those of others' loops as well.
    if (path.starts_with("tick ")) {
      return names_of(rows_of(invocation, "tick.list", page, "open"), "loop", "status");
    }
    return names_of(rows_of(invocation, "loop.list", {}, "loops"), "loop", "schedule");
  }
  if (name == "KEY" && path.starts_with("lock ")) {
    return names_of(rows_of(invocation, "lock.list", page, "locks"), "key", "owner");
  }
  return file_names();
}

Offers options_of(const ToolCommand& app, const ToolCommand& command) {
  Offers offers;
  const auto add = [&offers](const OptionWords& option, bool is_inherited) {
    for (const std::string& word : option.words) {
      if (is_inherited && (word == "--help" || word == "--version")) continue;
      offers.push_back({word, option.description});
    }
  };
  for (const OptionWords& each : command.options()) add(each, false);
  if (command.name() == app.name()) return offers;
  for (const OptionWords& each : app.options()) add(each, true);
  return offers;
}

Offers offers_for(const ToolCommand& app, const Invocation& invocation, const TypedWords& typed,
                  const std::string& current) {
  if (typed.is_other_command) return file_names();
  if (typed.option) return values_of(invocation, typed.path, *typed.option, current);
  if (current.starts_with('-')) return options_of(app, typed.command);
  Offers offers;
  for (const ToolCommand& each : typed.command.subcommands()) {
    offers.push_back({each.name(), each.description()});
  }
  if (!offers.empty()) return offers;
  std::size_t place = 0;
  for (const OptionWords& each : typed.command.options()) {
    if (each.operand.empty()) continue;
    if (place++ == typed.operands) return values_of(invocation, typed.path, each, current);
  }
  return options_of(app, typed.command);
}

// Others name locks and projects: a word that the shell would expand is not offered.
bool is_plain_word(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z') ||
           std::string_view("._:/@+-").find(each) != std::string::npos;
  });
}

void end_silently(int) { _exit(0); }

// Ends the process when the time is over, whatever it waits for.
void bound_time() {
  std::signal(SIGALRM, end_silently);
  itimerval timer{};
  timer.it_value.tv_usec = std::chrono::microseconds(completion_ms_max).count();
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

std::optional<int> run_completion_offers(ToolCommand app, Invocation& invocation, int argc,
                                         char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != "completion-offers") return std::nullopt;
  bound_time();
  const std::vector<std::string> words(argv + 3, argv + argc);  // begins with the program's name
  const std::string_view index_text = argv[2];
  std::size_t index = 0;
  std::from_chars(index_text.data(), index_text.data() + index_text.size(), index);
  if (index == 0 || index > words.size()) return 0;
  std::string current = index < words.size() ? words[index] : std::string();
  if (current == "=") current.clear();
  const std::vector<std::string> before(words.begin() + 1,
                                        words.begin() + static_cast<std::ptrdiff_t>(index));
  const TypedWords typed = understood(app, before, invocation);
  std::string out;
  for (const Offer& each : offers_for(app, invocation, typed, current)) {
    if (each.word == files_mark) {
      out = each.word + "\n";
      break;
    }
    if (!is_plain_word(each.word) || !each.word.starts_with(current)) continue;
    out += each.word + "\t" + cut(printable(each.description), description_columns_max) + "\n";
  }
  write_out(out);
  return 0;
}

}  // namespace signalbox
