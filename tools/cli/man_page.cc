#include "tools/cli/man_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

namespace signalbox {
namespace {

using OptionWords = ToolCommand::OptionWords;

// Returns text as it is to be shown: roff would take a backslash as an escape, a dash as a hyphen,
// and a dot or a quote at the beginning of a line as a request.
std::string roff_text(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char each : text) {
    if (each == '\\') {
      out += "\\e";
    } else if (each == '-') {
      out += "\\-";
    } else {
      out += each;
    }
  }
  return out;
}

std::string roff_bold(std::string_view text) { return "\\fB" + roff_text(text) + "\\fR"; }

// ".SS" and ".SH" take the rest of the line if it is in quotes.
std::string roff_heading(const char* request, std::string_view text) {
  return std::string(request) + " \"" + roff_text(text) + "\"\n";
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char each) { return static_cast<char>(std::toupper(each)); });
  return text;
}

void append_option(const OptionWords& option, std::string& out) {
  out += ".TP\n";
  std::string words =
      option.operand.empty() ? std::string() : "\\fI" + roff_text(option.operand) + "\\fR";
  for (const std::string& each : option.words)
    words += (words.empty() ? "" : ", ") + roff_bold(each);
  if (option.takes_value && option.operand.empty()) {
    words += " \\fI" + roff_text(option.value_name.empty() ? "VALUE" : option.value_name) + "\\fR";
  }
  out += words + "\n" + roff_text(option.description);
  for (std::size_t place = 0; place < option.values.size(); ++place) {
    out += (place == 0 ? "; one of " : ", ") + roff_text(option.values[place]);
  }
  out += "\n";
}

void append_options(const ToolCommand& command, std::string& out) {
  for (const OptionWords& each : command.options()) {
    const bool is_shown = !each.operand.empty() || !each.words.empty();
    const bool is_help = !each.words.empty() && each.words.front() == "--help";
    if (is_shown && !is_help) append_option(each, out);
  }
}

// Appends text whose lines are kept, as those of examples must be.
void append_lines(const std::string& text, std::string& out) {
  out += ".PP\n.nf\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    out += (line.empty() ? std::string() : roff_text(line)) + "\n";
  }
  out += ".fi\n";
}

std::string synopsis(const ToolCommand& command, const std::string& path) {
  std::string text = path;
  for (const OptionWords& each : command.options()) {
    if (!each.operand.empty()) text += " " + each.operand;
  }
  return text;
}

void append_commands(const ToolCommand& command, const std::string& path, std::string& out) {
  for (const ToolCommand& each : command.subcommands()) {
    const std::string name = path + " " + each.name();
    if (!each.subcommands().empty()) {
      append_commands(each, name, out);
      continue;
    }
    out += roff_heading(".SS", synopsis(each, name));
    out += roff_text(each.description()) + ".\n";
    append_options(each, out);
    if (const std::string footer = each.footer_text(); !footer.empty()) append_lines(footer, out);
  }
}

}  // namespace

std::string man_page(const ToolCommand& app, const std::string& version) {
  const std::string name = app.name();
  std::string out = ".TH " + upper_case(name) + " 1 \"\" \"" + roff_text(version) +
                    "\" \"User Commands\"\n.SH NAME\n" + roff_text(name) + " \\- " +
                    roff_text(app.description()) + "\n.SH SYNOPSIS\n" + roff_bold(name) +
                    " [\\fIOPTIONS\\fR] \\fICOMMAND\\fR …\n.SH OPTIONS\n";
  append_options(app, out);
  out += ".SH COMMANDS\n";
  append_commands(app, name, out);
  out += ".SH NOTES\n";
  append_lines(app.footer_text(), out);
  return out;
}

}  // namespace signalbox
