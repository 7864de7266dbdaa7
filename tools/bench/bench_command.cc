// `signalbox bench`: how fast this is here, in ratios to what this machine can do at all.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <unistd.h>

#include "tools/bench/bench_parts.h"
#include "tools/cli/commands.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct BenchOptions {
  bool quick = false;
  bool full = false;
  std::optional<double> seconds;
  std::optional<std::uint64_t> events;
  std::vector<std::string> parts;
};

// Removed again at the end.
class ScratchDirectory {
 public:
  static Called<std::unique_ptr<ScratchDirectory>> make(const std::filesystem::path& parent) {
    std::string path = (parent / "signalbox-bench-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return tl::unexpected(io_error(path + ": " + std::strerror(errno)));
    }
    return std::unique_ptr<ScratchDirectory>(new ScratchDirectory(path));
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

std::vector<BenchPart> parts_of(const BenchOptions& options) {
  const auto wanted = [&](const char* name) {
    return options.parts.empty() ||
           std::find(options.parts.begin(), options.parts.end(), name) != options.parts.end();
  };
  std::vector<BenchPart> parts;
  if (wanted("socket")) parts.push_back(bench_socket);
  if (wanted("engine")) parts.push_back(bench_engine);
  if (wanted("board")) parts.push_back(bench_board);
  if (wanted("audit")) parts.push_back(bench_audit);
  const auto at_length = [&](const char* name) {
    return options.parts.empty() ? options.full : wanted(name);
  };
  if (at_length("jobs")) parts.push_back(bench_jobs);
  if (at_length("retention")) parts.push_back(bench_retention);
  if (at_length("scale")) parts.push_back(bench_scale);
  return parts;
}

Called<json::object> bench(const Invocation& invocation, const BenchOptions& options) {
  const std::filesystem::path parent = invocation.data.empty() ? "/var/tmp" : invocation.data;
  const auto scratch = ScratchDirectory::make(parent);
  if (!scratch) return tl::unexpected(scratch.error());
  const double seconds = options.seconds.value_or(options.quick ? 1 : 4);
  BenchPlan plan;
  plan.directory = (*scratch)->path();
  plan.duration = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  plan.events = options.events.value_or(options.quick ? 200'000 : 1'000'000);
  plan.report = [](const std::string& text) {
    if (terminal_of(STDERR_FILENO).columns) write_message(text + "\n");
  };
  std::vector<Measured> all;
  for (const BenchPart part : parts_of(options)) {
    auto some = part(plan);
    if (!some) return tl::unexpected(some.error());
    all.insert(all.end(), some->begin(), some->end());
  }
  return bench_json(all);
}

}  // namespace

void add_bench_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("bench", "Measure: ratios to what this machine can do");
  const auto options = std::make_shared<BenchOptions>();
  command.add_flag("--quick", options->quick, "Short rounds, for a first look");
  command.add_flag("--full", options->full,
                   "Large logs, a year of them, many open runs and many jobs as well; minutes");
  command.add_option("--seconds", options->seconds, "Of one measurement; each has three rounds")
      .range(0.05, 3600.0);
  command.add_option("--events", options->events, "Of the logs that are made to be read");
  command.add_option("--part", options->parts, "Only this part; again for more")
      .one_of({"socket", "engine", "board", "audit", "jobs", "retention", "scale"})
      .repeatable();
  command.footer(
      "Makes a directory of its own under --data (else /var/tmp), which says which disk is\n"
      "measured, starts a server of its own there, and removes it at the end. A missed target is\n"
      "shown, and is no error.\n\n"
      "Examples:\n"
      "  signalbox bench --quick\n"
      "  signalbox bench --data /mnt/fast --full --json");
  command.action([options, &invocation] {
    return answer(invocation, bench(invocation, *options), view_bench);
  });
}

}  // namespace signalbox
