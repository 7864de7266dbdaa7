#include "tools/cli/command_line.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "server/text/separated_text.h"
#include "tools/cli/nearest_word.h"
#include "tools/cli/usage_text.h"

namespace signalbox {
namespace {

// Returns the option's long name, "--limit"; empty for an operand.
std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? std::string() : "--" + option.get_lnames().front();
}

ValueName value_name_of(const CLI::Option& option) {
  return value_name(long_name(option), option.get_type_name());
}

// Says in --help what a value is, where CLI11 would name its own types ("UINT:INT in [1 - 500]").
class HelpText final : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string type = " " + option->get_type_name();
    if (option->get_type_size() == 0 || type.size() == 1 || !text.starts_with(type)) return text;
    const ValueName value = value_name_of(*option);
    const std::string set = comma_separated(value.values);
    std::string shown = value.name.empty() ? std::string() : " " + value.name;
    if (!set.empty()) shown = " {" + set + "}";
    if (!value.range.empty()) shown += " (" + value.range + ")";
    return shown + text.substr(type.size());
  }
};

const auto any_command = [](const CLI::App*) { return true; };

std::vector<std::string> subcommand_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands(any_command)) {
    names.push_back(each->get_name());
  }
  return names;
}

// Returns the full name of a command, "signalbox run list".
std::string full_name(const CLI::App& command) {
  std::string name = command.get_name();
  for (const CLI::App* up = command.get_parent(); up != nullptr; up = up->get_parent()) {
    name = up->get_name() + " " + name;
  }
  return name;
}

// Adds the commands below `command`.
void add_all_below(const CLI::App& command, std::vector<const CLI::App*>& all) {
  for (const CLI::App* each : command.get_subcommands(any_command)) {
    all.push_back(each);
    add_all_below(*each, all);
  }
}

// Returns the commands of the name that is nearest to that word somewhere else: `logs`, or `log`,
// is `run logs`. None if there are many.
std::vector<std::string> namesakes(const CLI::App& command, const std::string& word) {
  constexpr std::size_t namesakes_max = 3;
  const CLI::App* root = &command;
  while (root->get_parent() != nullptr) root = root->get_parent();
  std::vector<const CLI::App*> all;
  add_all_below(*root, all);
  std::vector<std::string> names;
  for (const CLI::App* each : all) names.push_back(each->get_name());
  std::vector<std::string> found;
  const auto meant = nearest_word(word, names);
  if (!meant) return found;
  for (const CLI::App* each : all) {
    if (each->get_name() == *meant) found.push_back(full_name(*each));
  }
  if (found.size() > namesakes_max) found.clear();
  return found;
}

CallError unknown_command(const CLI::App& command, const std::string& word) {
  const std::string name = full_name(command);
  const std::vector<std::string> known = subcommand_names(command);
  if (word == "help") return usage_error("it is `" + name + " --help`", {name + " --help"});
  if (const auto meant = nearest_word(word, known)) {
    return usage_error(
        "there is no `" + name + " " + word + "`; did you mean `" + name + " " + *meant + "`?",
        {name + " " + *meant + " --help"});
  }
  if (std::vector<std::string> others = namesakes(command, word); !others.empty()) {
    std::string text = "there is no `" + name + " " + word + "`; did you mean ";
    std::vector<std::string> helps;
    for (const std::string& other : others) {
      text += (helps.empty() ? "`" : " or `") + other + "`";
      helps.push_back(other + " --help");
    }
    return usage_error(text + "?", std::move(helps));
  }
  return usage_error("there is no `" + name + " " + word + "`; there are " + comma_separated(known),
                     {name + " --help"});
}

// `word` begins with a dash, and may end with "=value".
CallError unknown_option(const CLI::App& command, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::App* each = &command; each != nullptr; each = each->get_parent()) {
    for (const CLI::Option* own : each->get_options()) {
      for (const std::string& name : own->get_lnames()) known.push_back("--" + name);
    }
  }
  if (std::ranges::find(known, option) != known.end()) {
    return usage_error("after `--`, " + option + " is a word like any other, and `" +
                           full_name(command) + "` takes no more words; options come before `--`",
                       {full_name(command) + " --help"});
  }
  const auto meant = nearest_word(option, known);
  return usage_error("`" + full_name(command) + "` has no option " + option +
                         (meant ? "; did you mean " + *meant + "?" : std::string()),
                     {full_name(command) + " --help"});
}

// `text` is what CLI11 says of a value, for example "--status: faild not in {queued,failed}".
CallError refused_value(const CLI::App& command, const std::string& text) {
  constexpr std::string_view colon = ": ";
  constexpr std::string_view not_in = " not in {";
  const std::vector<std::string> next{full_name(command) + " --help"};
  const std::size_t word = text.find(colon);
  const std::size_t set = text.find(not_in);
  if (word == std::string::npos || set == std::string::npos || set < word + colon.size()) {
    return usage_error(plain_value_text(text), next);
  }
  const std::string given = text.substr(word + colon.size(), set - word - colon.size());
  return unknown_value(text.substr(0, word), given, value_name({}, text.substr(set)).values, next);
}

// `text` is what CLI11 says of a value that is none of its option's type, "Could not convert:
// --limit = -1". Returns it as it is if that isn't so.
std::string convertible_text(const CLI::App& command, const std::string& text) {
  constexpr std::string_view beginning = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (!text.starts_with(beginning) || equals == std::string::npos) return text;
  const std::string name = text.substr(beginning.size(), equals - beginning.size());
  const CLI::Option* const option = command.get_option_no_throw(name);
  if (option == nullptr) return text;
  return name + " takes " + wrong_number_text(option->get_type_name(), text.substr(equals + 3));
}

CallError usage_error_from(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::string name = full_name(*command);
  const std::vector<std::string> known = subcommand_names(*command);
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  // CLI11 says that a command or an option is required, even if one was given that doesn't exist.
  const bool needs_command = !known.empty() && error.get_name() == "RequiredError";
  const auto word = std::find_if(unknown.begin(), unknown.end(),
                                 [](const std::string& each) { return !each.starts_with('-'); });
  if (needs_command && word != unknown.end()) return unknown_command(*command, *word);
  const auto option = std::find_if(unknown.begin(), unknown.end(), [](const std::string& each) {
    return each.starts_with('-') && each != "--";
  });
  if (option != unknown.end()) return unknown_option(*command, *option);
  // The name of such an error is that of the command, unlike other errors' names.
  const bool has_too_many = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (word != unknown.end() && has_too_many) {
    return usage_error("`" + name + "` takes no further word: `" + *word + "`", {name + " --help"});
  }
  if (!needs_command) return refused_value(*command, convertible_text(*command, error.what()));
  return usage_error("`" + name + "` needs a command: " + comma_separated(known),
                     {name + " --help"});
}

}  // namespace

CallError unknown_value(const std::string& option, const std::string& given,
                        const std::vector<std::string>& known,
                        std::vector<std::string> next_commands) {
  const auto meant = nearest_word(given, known);
  return usage_error(
      option + " takes no `" + given + "`; " +
          (meant ? "did you mean " + *meant + "?" : "it takes " + comma_separated(known)),
      std::move(next_commands));
}

const CommandOption& CommandOption::required(bool is_required) const {
  option_->required(is_required);
  return *this;
}

const CommandOption& CommandOption::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

const CommandOption& CommandOption::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

template <class T>
const CommandOption& CommandOption::range(T min, T max) const {
  option_->check(CLI::Range(min, max));
  return *this;
}

template const CommandOption& CommandOption::range(int, int) const;
template const CommandOption& CommandOption::range(std::uint64_t, std::uint64_t) const;
template const CommandOption& CommandOption::range(double, double) const;

const CommandOption& CommandOption::existing_file() const {
  option_->check(CLI::ExistingFile);
  return *this;
}

const CommandOption& CommandOption::not_empty() const {
  option_->check([](const std::string& value) {
    return value.empty() ? std::string("its value is empty") : std::string();
  });
  return *this;
}

const CommandOption& CommandOption::repeatable() const {
  option_->expected(1)->take_all();
  return *this;
}

const CommandOption& CommandOption::several() const {
  option_->expected(1, -1);
  return *this;
}

const CommandOption& CommandOption::list() const {
  option_->delimiter(',');
  return repeatable();
}

const CommandOption& CommandOption::shows_default() const {
  option_->capture_default_str();
  return *this;
}

const CommandOption& CommandOption::environment(const std::string& variable) const {
  option_->envname(variable);
  return *this;
}

ToolCommand ToolCommand::add_subcommand(const std::string& name,
                                        const std::string& description) const {
  return {app_->add_subcommand(name, description), action_};
}

ToolCommand ToolCommand::add_group(const std::string& name, const std::string& description) const {
  CLI::App* const group = app_->add_subcommand(name, description);
  group->require_subcommand(1);
  return {group, action_};
}

template <class T>
CommandOption ToolCommand::add_option(const std::string& name, T& target,
                                      const std::string& description) const {
  return CommandOption(app_->add_option(name, target, description));
}

#define SIGNALBOX_OPTION_OF(...)                                                               \
  template CommandOption ToolCommand::add_option(const std::string& name, __VA_ARGS__& target, \
                                                 const std::string& description) const
SIGNALBOX_OPTION_OF(int);
SIGNALBOX_OPTION_OF(unsigned);
SIGNALBOX_OPTION_OF(std::int64_t);
SIGNALBOX_OPTION_OF(std::uint64_t);
SIGNALBOX_OPTION_OF(std::string);
SIGNALBOX_OPTION_OF(std::vector<std::string>);
SIGNALBOX_OPTION_OF(std::optional<int>);
SIGNALBOX_OPTION_OF(std::optional<double>);
SIGNALBOX_OPTION_OF(std::optional<std::int64_t>);
SIGNALBOX_OPTION_OF(std::optional<std::uint32_t>);
SIGNALBOX_OPTION_OF(std::optional<std::uint64_t>);
SIGNALBOX_OPTION_OF(std::optional<std::string>);
SIGNALBOX_OPTION_OF(std::optional<std::filesystem::path>);
#undef SIGNALBOX_OPTION_OF

void ToolCommand::add_flag(const std::string& name, bool& target,
                           const std::string& description) const {
  app_->add_flag(name, target, description);
}

void ToolCommand::excludes(const std::string& option,
                           const std::vector<std::string>& others) const {
  for (const std::string& other : others) {
    app_->get_option(option)->excludes(app_->get_option(other));
  }
}

void ToolCommand::needs(const std::string& option, const std::string& other) const {
  app_->get_option(option)->needs(app_->get_option(other));
}

void ToolCommand::footer(const std::string& text) const { app_->footer(text); }

void ToolCommand::action(CommandAction does) const {
  app_->callback([app = app_, given = action_, does = std::move(does)] {
    // With one of its subcommands it is that one that was given.
    if (app->get_subcommands().empty()) *given = does;
  });
}

std::string ToolCommand::name() const { return app_->get_name(); }

std::string ToolCommand::description() const { return app_->get_description(); }

std::string ToolCommand::footer_text() const { return app_->get_footer(); }

std::vector<ToolCommand::OptionWords> ToolCommand::options() const {
  std::vector<OptionWords> all;
  for (const CLI::Option* option : app_->get_options()) {
    OptionWords& each = all.emplace_back();
    for (const std::string& name : option->get_lnames()) each.words.push_back("--" + name);
    if (each.words.empty()) each.operand = option->get_name(/*positional=*/true);
    each.description = option->get_description();
    each.takes_value = option->get_items_expected_max() != 0;
    ValueName value = value_name_of(*option);
    each.value_name = std::move(value.name);
    each.values = std::move(value.values);
  }
  return all;
}

std::vector<ToolCommand> ToolCommand::subcommands() const {
  std::vector<ToolCommand> all;
  for (CLI::App* each : app_->get_subcommands([](CLI::App*) { return true; }))
    all.emplace_back(each, action_);
  return all;
}

CommandLine::CommandLine(const std::string& description, const std::string& name,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)), version_(version) {
  app_->formatter(std::make_shared<HelpText>());
  app_->require_subcommand(1);
  app_->fallthrough();
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

ToolCommand CommandLine::root() { return {app_.get(), &action_}; }

Called<std::string> CommandLine::help(const std::vector<std::string>& words) const {
  const CLI::App* command = app_.get();
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> known = command->get_subcommands(any_command);
    const auto found = std::find_if(known.begin(), known.end(), [&word](const CLI::App* each) {
      return each->get_name() == word;
    });
    if (found == known.end()) return tl::unexpected(unknown_command(*command, word));
    command = *found;
  }
  return wrapped_help(command->get_formatter()->make_help(command, full_name(*command),
                                                          CLI::AppFormatMode::Normal));
}

Called<CommandAction> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      if (add_rest_) std::exchange(add_rest_, nullptr)();
      return tl::unexpected(usage_error_from(*app_, error));
    }
    std::ostringstream asked_for;
    app_->exit(error, asked_for, asked_for);
    std::cout << wrapped_help(asked_for.str());
    return CommandAction([] { return ExitCode::ok; });
  }
  return action_;
}

std::string CommandLine::given() const {
  std::string words;
  for (auto found = app_->get_subcommands(); !found.empty();
       found = found.front()->get_subcommands()) {
    words += (words.empty() ? "" : " ") + found.front()->get_name();
  }
  return words;
}

}  // namespace signalbox
