// The commands of the command line, their options, and which command was given. It hides the
// library that does it (CLI11): its header costs seven seconds of each source that includes it, so
// that only command_line.cc does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/call_error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace signalbox {

// What a command does once the whole command line has been read.
using CommandAction = std::function<ExitCode()>;

// An option or an operand of a command: a handle, valid as long as its CommandLine.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  const CommandOption& required(bool is_required = true) const;
  // Names the value in --help.
  const CommandOption& type_name(const std::string& name) const;
  const CommandOption& one_of(const std::vector<std::string>& values) const;
  template <class T>  // int, std::uint64_t or double
  const CommandOption& range(T min, T max) const;
  const CommandOption& existing_file() const;
  // May be given again for more values.
  const CommandOption& repeatable() const;
  // Shows the variable's present value in --help as the default.
  const CommandOption& shows_default() const;
  // Is read from this variable of the environment where it isn't given.
  const CommandOption& environment(const std::string& variable) const;

 private:
  CLI::Option* option_;
};

// A command, or a group of commands: a handle, valid as long as its CommandLine.
class ToolCommand {
 public:
  ToolCommand(CLI::App* app, CommandAction* given) : app_(app), given_(given) {}

  [[nodiscard]] ToolCommand add_subcommand(const std::string& name,
                                           const std::string& description) const;
  // A command that only consists of others.
  [[nodiscard]] ToolCommand add_group(const std::string& name,
                                      const std::string& description) const;

  // `name` is "--long", "-s,--long", or a word without dashes for an operand. The value is read
  // into `target`, which outlives the CommandLine; of the types that command_line.cc lists.
  template <class T>
  CommandOption add_option(const std::string& name, T& target,
                           const std::string& description) const;
  void add_flag(const std::string& name, bool& target, const std::string& description) const;
  // Refuses `option` beside any of `others`.
  void excludes(const std::string& option, const std::vector<std::string>& others) const;
  // Refuses `option` without `other`.
  void needs(const std::string& option, const std::string& other) const;
  // Stands below the options in --help.
  void footer(const std::string& text) const;
  void action(CommandAction does) const;

  struct OptionWords {
    std::vector<std::string> words;  // "--limit"
    bool takes_value = false;
    std::vector<std::string> values;  // where they are a fixed set
  };
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<OptionWords> options() const;
  [[nodiscard]] std::vector<ToolCommand> subcommands() const;

 private:
  CLI::App* app_;
  CommandAction* given_;
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name, const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  [[nodiscard]] ToolCommand root();

  // Reads the words into the options' targets. Returns the action of the command that was given, or
  // what is wrong. Prints what --help and --version ask for; the action does nothing then.
  Called<CommandAction> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  CommandAction given_;
};

}  // namespace signalbox
