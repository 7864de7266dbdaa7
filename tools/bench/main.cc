// `signalbox-bench`: measures performance in ratios to the speed of this machine. It is a separate
// program because few need it and it takes a minute to compile; `signalbox bench` runs it.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <unistd.h>

#include "domain/try.h"
#include "server/platform/program_version.h"
#include "tools/bench/bare_server.h"
#include "tools/bench/bench_parts.h"
#include "tools/cli/bench_options.h"
#include "tools/cli/invocation.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// A new directory that is removed with the object.
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
  if (!options.engine.empty()) parts.push_back(bench_cell);
  if (at_length("jobs")) parts.push_back(bench_jobs);
  if (at_length("night")) parts.push_back(bench_night);
  if (at_length("past")) parts.push_back(bench_past);
  if (at_length("retention")) parts.push_back(bench_retention);
  if (at_length("runners")) parts.push_back(bench_runners);
  if (at_length("scale")) parts.push_back(bench_scale);
  if (at_length("what_if")) parts.push_back(bench_what_if);
  return parts;
}

// A database is named if and only if its part is measured.
Called<void> check_engine(const BenchOptions& options) {
  const bool is_named = !options.engine.empty();
  const bool is_asked =
      std::find(options.parts.begin(), options.parts.end(), "cell") != options.parts.end();
  if (is_asked && !is_named) {
    return tl::unexpected(
        usage_error("--part cell needs --engine, the URL of a PostgreSQL database with no cell",
                    {"signalbox bench --part cell --engine postgresql://signalbox@db1,db2/bench"}));
  }
  if (is_named && !is_asked && !options.parts.empty()) {
    return tl::unexpected(usage_error("--engine is for --part cell, which isn't asked for"));
  }
  if (is_named && !options.engine.starts_with("postgresql://") &&
      !options.engine.starts_with("postgres://")) {
    return tl::unexpected(usage_error("--engine is a URL, such as postgresql://me@db1,db2/bench"));
  }
  return {};
}

Called<json::object> bench(const Invocation& invocation, const BenchOptions& options) {
  TRY(check_engine(options));
  const std::filesystem::path parent = invocation.data.empty() ? "/var/tmp" : invocation.data;
  const auto scratch = TRY(ScratchDirectory::make(parent));
  const double seconds = options.seconds.value_or(options.quick ? 1 : 4);
  BenchPlan plan;
  plan.directory = scratch->path();
  plan.duration = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  plan.events = options.events.value_or(options.quick ? 200'000 : 1'000'000);
  plan.long_log_events = options.events.value_or(10'000'000);
  plan.engine = options.engine;
  plan.report = [](const std::string& text) {
    if (terminal_of(STDERR_FILENO).columns) write_message(text + "\n");
  };
  std::vector<Measured> all;
  for (const BenchPart part : parts_of(options)) {
    auto some = TRY(part(plan));
    all.insert(all.end(), some.begin(), some.end());
  }
  return bench_json(all);
}

}  // namespace
}  // namespace signalbox

int main(int argc, char** argv) {
  using namespace signalbox;
  // `signalbox` passes its own arguments, with `bench`; a person who runs this may leave it out.
  std::vector<char*> words(argv, argv + argc);
  std::string name = "bench";
  const auto is_given = [&](const std::string& command) {
    return std::find(words.begin(), words.end(), command) != words.end();
  };
  if (!is_given(name) && !is_given("bare-path")) words.insert(words.begin() + 1, name.data());
  CommandLine line("Measures Signalbox", "signalbox", "signalbox-bench " + program_version());
  Invocation invocation;
  add_shared_options(line.root(), invocation);
  add_bench_command(line.root(), [&invocation](const BenchOptions& options) {
    return answer(invocation, bench(invocation, options), view_bench);
  });
  const ToolCommand bare_path = line.root().add_subcommand(
      "bare-path", "Serve the least that answers the load: what `bench` compares the service with");
  bare_path.action([&invocation] {
    std::filesystem::create_directories(invocation.data_directory());
    const auto served = serve_bare_path(invocation.data_directory(), invocation.socket_path());
    return answer(invocation, tl::unexpected(served.error()), view_bench);
  });
  return run(line, invocation, static_cast<int>(words.size()), words.data());
}
