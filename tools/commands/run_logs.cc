// `signalbox run logs`: what the job of an attempt printed, from its beginning, also while it runs.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <re2/re2.h>
#include <unistd.h>

#include "domain/try.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/typed_command.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Time between two looks at an output that is followed.
constexpr std::chrono::milliseconds log_poll{500};
constexpr std::uint32_t log_page_bytes = 256 * 1024;

struct LogsOptions {
  std::string run_id;
  std::optional<std::string> station;
  std::optional<std::uint32_t> attempt;
  std::optional<std::string> pattern;
  bool is_stderr = false;
  bool follow = false;
};

// A longer line is searched in pieces of this size.
constexpr std::size_t searched_line_bytes_max = 1024 * 1024;

// Prints whole lines that match the pattern, or everything without one.
//
// The pattern is the user's, and the text that of an agent: RE2 takes time in proportion to the
// text and a bounded amount of memory, whatever both are. <regex> recurses with the line's length.
class LogPrinter {
 public:
  explicit LogPrinter(std::unique_ptr<const RE2> pattern) : pattern_(std::move(pattern)) {}

  void print(const std::string& text) {
    if (!pattern_) return write_out(text);
    rest_ += text;
    std::size_t begin = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos;
         end = rest_.find('\n', begin)) {
      print_line(std::string_view(rest_).substr(begin, end - begin));
      begin = end + 1;
    }
    rest_.erase(0, begin);
    if (rest_.size() >= searched_line_bytes_max) finish();
  }
  void finish() {
    if (!rest_.empty()) print_line(rest_);
    rest_.clear();
  }

 private:
  // `line` is without its line end.
  void print_line(std::string_view line) const {
    if (RE2::PartialMatch({line.data(), line.size()}, *pattern_)) {
      write_out(std::string(line) + "\n");
    }
  }

  const std::unique_ptr<const RE2> pattern_;  // nullptr: everything is printed
  std::string rest_;                          // the beginning of a line
};

// Returns nullptr without a pattern.
Called<std::unique_ptr<const RE2>> pattern_of(const LogsOptions& options) {
  if (!options.pattern) return nullptr;
  RE2::Options quiet;
  quiet.set_log_errors(false);
  auto pattern = std::make_unique<const RE2>(*options.pattern, quiet);
  if (!pattern->ok()) return tl::unexpected(usage_error("--grep: " + pattern->error()));
  return pattern;
}

json::object log_params(const LogsOptions& options) {
  json::object params{{"run_id", options.run_id},
                      {"bytes", log_page_bytes},
                      {"stream", options.is_stderr ? "stderr" : "stdout"}};
  set_param(params, "station", options.station);
  set_param(params, "attempt", options.attempt);
  return params;
}

// Says that the stream was empty, and how to see the other one if that has something. `params` are
// those of the stream that was asked for, with whole ids.
void note_empty_stream(const Invocation& invocation, bool is_stderr, json::object params) {
  params["stream"] = is_stderr ? "stdout" : "stderr";
  params["offset"] = 0;
  const auto other = call_server(invocation, "run.log", params);
  if (!other) return;
  const std::uint64_t bytes = number_at(*other, "end");
  if (bytes == 0) {
    return write_message(true_at(*other, "running") ? "the job has printed nothing yet\n"
                                                    : "the job has printed nothing\n");
  }
  const std::string attempt = printable(text_at(params, "run_id")) + " --station " +
                              printable(text_at(*other, "station")) + " --attempt " +
                              std::to_string(number_at(*other, "attempt"));
  write_message("nothing on standard " + std::string(is_stderr ? "error" : "output") + "; " +
                std::to_string(bytes) + " bytes on standard " + (is_stderr ? "output" : "error") +
                "\n  try: " +
                with_connection("signalbox run logs " + attempt + (is_stderr ? "" : " --stderr"),
                                invocation.connection()) +
                "\n");
}

// Prints the output up to its end or, with --follow, up to the end of its job.
ExitCode print_logs(const Invocation& invocation, const LogsOptions& options) {
  const View view = [](const json::object&, const Terminal&) { return std::string(); };
  auto pattern = pattern_of(options);
  if (!pattern) return answer(invocation, tl::unexpected(pattern.error()), view);
  LogPrinter printer(std::move(*pattern));
  json::object params = log_params(options);
  if (auto whole = complete_ids(invocation, params); !whole) {
    return answer(invocation, tl::unexpected(std::move(whole.error())), view);
  }
  std::uint64_t next = 0;
  bool is_stale = false;
  for (;;) {
    const std::uint64_t asked = next;
    params["offset"] = asked;
    const auto part = call_server(invocation, "run.log", params);
    if (!part) return answer(invocation, part, view);
    // A retry in between would be another output: go on with the attempt that was found.
    params["station"] = part->at("station");
    params["attempt"] = part->at("attempt");
    const std::uint64_t begin = number_at(*part, "offset");
    if (begin > asked) {
      printer.finish();  // what follows isn't of the same line
      write_message("… " + std::to_string(begin - asked) + " bytes aren't kept …\n");
    }
    const std::string text = text_at(*part, "text");
    printer.print(terminal_of(STDOUT_FILENO).columns ? printable_lines(text) : text);
    next = number_at(*part, "next_offset");
    if (!is_stale && !true_at(*part, "is_newest")) {
      write_message("… its runner doesn't answer now: it may have printed more …\n");
    }
    is_stale = !true_at(*part, "is_newest");
    // A part without text may only skip bytes that were overwritten while they were read.
    if (next > asked && next < number_at(*part, "end")) continue;
    if (!options.follow || !true_at(*part, "running")) break;
    std::this_thread::sleep_for(log_poll);
  }
  printer.finish();
  if (next == 0) note_empty_stream(invocation, options.is_stderr, std::move(params));
  return ExitCode::ok;
}

// Reads up to the end that the output has at first, so that a job that goes on printing ends no
// reader. Returns the first part with all of the text.
Called<json::object> read_whole_log(const Invocation& invocation, const LogsOptions& options) {
  json::object params = log_params(options);
  TRY(complete_ids(invocation, params));
  std::uint64_t next = 0;
  std::uint64_t bytes = 0;
  bool is_newest = true;
  std::string text;
  json::array not_kept;
  json::object whole;
  do {
    params["offset"] = next;
    json::object part = TRY(call_server(invocation, "run.log", params));
    // A retry in between would be another output.
    params["station"] = part.at("station");
    params["attempt"] = part.at("attempt");
    const std::uint64_t begin = number_at(part, "offset");
    if (begin > next) not_kept.push_back({{"offset", next}, {"bytes", begin - next}});
    text += text_at(part, "text");
    bytes += number_at(part, "bytes");
    is_newest = is_newest && true_at(part, "is_newest");
    const bool goes_on = number_at(part, "next_offset") > next;
    next = number_at(part, "next_offset");
    if (whole.empty()) whole = std::move(part);
    if (!goes_on) break;
  } while (next < number_at(whole, "end"));
  whole["offset"] = 0;
  whole["bytes"] = bytes;
  whole["next_offset"] = next;
  whole["is_newest"] = is_newest;
  whole["text"] = std::move(text);
  whole["not_kept"] = std::move(not_kept);
  return whole;
}

ExitCode logs(const Invocation& invocation, const LogsOptions& options) {
  if (!invocation.json) return print_logs(invocation, options);
  const View view = [](const json::object&, const Terminal&) { return std::string(); };
  if (options.follow || options.pattern) {
    return answer(
        invocation,
        tl::unexpected(usage_error("--follow and --grep go without --json, which prints one object",
                                   {typed_command(invocation, {}, {{"--json", false}})})),
        view);
  }
  return answer(invocation, read_whole_log(invocation, options), view);
}

}  // namespace

void add_run_logs_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("logs", "What the job of an attempt printed, from its beginning");
  const auto options = std::make_shared<LogsOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.add_option("--station", options->station, "Of this station; default: the latest job's");
  command.add_option("--attempt", options->attempt, "Of this attempt; default: the latest");
  command.add_flag("--stderr", options->is_stderr, "Standard error instead of standard output");
  command.add_flag("--follow", options->follow, "Go on until the job has ended");
  command.add_option("--grep", options->pattern,
                     "Only lines that match this regular expression (RE2)");
  command.footer(
      "Of a stream longer than 1 MiB the first 512 KiB and the newest 448 KiB are\n"
      "shown. With --json all that is kept is one object, and `not_kept` says what\n"
      "isn't; --follow and --grep go without it.\n\n"
      "Examples:\n"
      "  signalbox run logs \"$run\" --follow\n"
      "  signalbox run logs \"$run\" --stderr --grep 'error|warning'\n"
      "  signalbox run logs \"$run\" --json | jq -r .result.text");
  command.action([options, &invocation] { return logs(invocation, *options); });
}

}  // namespace signalbox
