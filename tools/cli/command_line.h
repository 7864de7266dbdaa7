// Declares commands and options, and parses the command line. It hides the library (CLI11), whose
// header adds seven seconds of compile time to each source that includes it: only command_line.cc
// does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/call_error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace signalbox {

// Runs a command, after the whole command line has been parsed.
using CommandAction = std::function<ExitCode()>;

// An option or an operand of a command: a handle, valid as long as its CommandLine.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  const CommandOption& required(bool is_required = true) const;
  // Sets the name of the value in --help.
  const CommandOption& type_name(const std::string& name) const;
  const CommandOption& one_of(const std::vector<std::string>& values) const;
  template <class T>  // int, std::uint64_t or double
  const CommandOption& range(T min, T max) const;
  const CommandOption& existing_file() const;
  // Refuses an empty value, such as that of a shell variable that isn't set.
  const CommandOption& not_empty() const;
  // Lets the option be given several times; each adds a value.
  const CommandOption& repeatable() const;
  // Lets an operand be several words.
  const CommandOption& several() const;
  // As repeatable(), and each may be several values with commas between them.
  const CommandOption& list() const;
  // Shows the target's current value in --help as the default.
  const CommandOption& shows_default() const;
  // Reads the value from this environment variable if the option isn't given.
  const CommandOption& environment(const std::string& variable) const;

 private:
  CLI::Option* option_;
};

// A command, or a group of commands: a handle, valid as long as its CommandLine.
class ToolCommand {
 public:
  ToolCommand(CLI::App* app, CommandAction* given) : app_(app), action_(given) {}

  [[nodiscard]] ToolCommand add_subcommand(const std::string& name,
                                           const std::string& description) const;
  // Adds a command that does nothing by itself: one of its subcommands must be given.
  [[nodiscard]] ToolCommand add_group(const std::string& name,
                                      const std::string& description) const;

  // Adds an option. `name` is "--long", "-s,--long", or a word without dashes for an operand. The
  // value is parsed into `target`, which outlives the CommandLine. T is one of the types listed in
  // command_line.cc.
  template <class T>
  CommandOption add_option(const std::string& name, T& target,
                           const std::string& description) const;
  void add_flag(const std::string& name, bool& target, const std::string& description) const;
  // Refuses `option` together with any of `others`.
  void excludes(const std::string& option, const std::vector<std::string>& others) const;
  // Refuses `option` without `other`.
  void needs(const std::string& option, const std::string& other) const;
  // Sets the text below the options in --help.
  void footer(const std::string& text) const;
  void action(CommandAction does) const;

  struct OptionWords {
    std::vector<std::string> words;  // "--limit"; none for an operand
    std::string operand;             // "RUN"; empty for an option
    bool takes_value = false;
    std::string value_name;           // "DIR"; may be empty
    std::vector<std::string> values;  // empty unless they are a fixed set
    std::string description;
  };
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string description() const;
  [[nodiscard]] std::string footer_text() const;
  [[nodiscard]] std::vector<OptionWords> options() const;
  [[nodiscard]] std::vector<ToolCommand> subcommands() const;

 private:
  CLI::App* app_;
  CommandAction* action_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name, const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  [[nodiscard]] ToolCommand root();

  // Returns the help of the command that the words name ("run", "list"), none: of the program. A
  // usage error if there is no such command.
  [[nodiscard]] Called<std::string> help(const std::vector<std::string>& words) const;
  // Returns "signalbox 1.2.3".
  [[nodiscard]] const std::string& version() const { return version_; }

  // Sets what adds the commands that were left out. It is called before a word is refused, which
  // may be the name of one of them.
  void add_rest_with(std::function<void()> add_rest) { add_rest_ = std::move(add_rest); }

  // Parses the words into the options' targets. Returns the action of the command that was given,
  // or a usage error. For --help and --version, prints the text and returns an action that does
  // nothing.
  Called<CommandAction> parse(int argc, char** argv);
  // Returns the words of the command that parse() found, such as "run list".
  [[nodiscard]] std::string given() const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::string version_;
  CommandAction action_;
  std::function<void()> add_rest_;
};

// Returns the usage error about a value that an option doesn't take, with the one of `known` that
// was probably meant, or all of them.
CallError unknown_value(const std::string& option, const std::string& given,
                        const std::vector<std::string>& known,
                        std::vector<std::string> next_commands);

}  // namespace signalbox
