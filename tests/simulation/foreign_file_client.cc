#include "tests/simulation/foreign_file_client.h"

#include <array>

#include "server/text/time_text.h"

namespace signalbox::simulation {
namespace {

constexpr std::array lock_roots{"/roots/release", "/roots/nightly"};
constexpr std::array loop_roots{"/roots/merge", "/roots/sweep"};
constexpr std::array rubbish{"{\n", "", "\xff\xfe\x00", "[]", "{\"owner\": 7}"};
constexpr std::int64_t stale_age_ns = 6 * 60 * ns_per_s;

}  // namespace

void ForeignFileClient::act() {
  if (calm()) return;
  put_lock();
  if (path_.empty()) put_marker();
  if (path_.empty()) return later(between(20, 400), &ForeignFileClient::act);
  until_ns_ = environment_.schedule.monotonic_ns() + between(200, 6000) * ns_per_ms;
  later(100, &ForeignFileClient::remove_foreign_file);
}

void ForeignFileClient::put_lock() {
  const std::string path =
      std::string(environment_.random.any_of(lock_roots)) + "/" + run_root_path::lock;
  ForeignFile file;
  file.is_lock = true;
  if (environment_.faults.strikes(Fault::foreign_lock)) {
    file.expires_at_ns = wall_ns() + between(1, 5000) * ns_per_ms;
    file.content = R"({"owner": "outsider", "expires_at": ")" + format_time(file.expires_at_ns) +
                   R"(", "reason": "by hand"})";
  } else if (environment_.faults.strikes(Fault::rubbish_lock)) {
    file.content = environment_.random.any_of(rubbish);
    file.is_readable = !one_in(5);
  } else {
    return;
  }
  if (context_.files.put(path, std::move(file))) path_ = path;
}

void ForeignFileClient::put_marker() {
  const std::string path =
      std::string(environment_.random.any_of(loop_roots)) + "/" + run_root_path::tick_marker;
  ForeignFile file;
  if (environment_.faults.strikes(Fault::foreign_marker)) {
    const std::int64_t ts_ns = wall_ns() - (one_in(2) ? stale_age_ns : between(0, 5) * ns_per_s);
    file.content = R"({"schema_version": "tick_in_progress.v1", "ts": ")" + format_time(ts_ns) +
                   R"(", "stage": "by hand", "reason": "cron"})";
  } else if (environment_.faults.strikes(Fault::rubbish_marker)) {
    file.content = environment_.random.any_of(rubbish);
    file.is_readable = !one_in(5);
  } else {
    return;
  }
  if (context_.files.put(path, std::move(file))) path_ = path;
}

void ForeignFileClient::remove_foreign_file() {
  if (!calm() && environment_.schedule.monotonic_ns() < until_ns_) {
    return later(100, &ForeignFileClient::remove_foreign_file);
  }
  context_.files.remove_foreign_file(path_);
  path_.clear();
  later(between(100, 3000), &ForeignFileClient::act);
}

}  // namespace signalbox::simulation
